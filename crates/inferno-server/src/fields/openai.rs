//! Unimplemented fields of OpenAI's endpoints, with those that vLLM, SGLang and llama.cpp add.

use super::NoOp::{ArrayOf, Bool, Empty, Number, Text};
use super::{FieldTable, anything, hint, hint_unless, only, rejected};

const CACHED: &str = "prompts are always cached, and evicted by recency";
const IDENTIFIER: &str = "an identifier of the caller, which is not used";
const REASONING: &str =
    "reasoning is always returned as reasoning_content; disable it with reasoning_effort";
const STRUCTURED: &str = "use structured_outputs";

/// Fields of every generating endpoint, in addition to those of [`SAMPLERS`](super::llama_server::SAMPLERS).
pub(crate) const SAMPLING: FieldTable = &[
    only("use_beam_search", &[Bool(false)], "only sampling is available"),
    only("length_penalty", &[Number(1.0)], "it only applies to beam search"),
    only("early_stopping", &[Bool(false)], "it only applies to beam search"),
    only("bad_words", &[Empty], "use logit_bias"),
    only("allowed_token_ids", &[Empty], "use logit_bias or structured_outputs"),
    rejected("guided_json", STRUCTURED),
    rejected("guided_regex", STRUCTURED),
    only("guided_choice", &[Empty], STRUCTURED),
    rejected("guided_grammar", STRUCTURED),
    anything("guided_decoding_backend", "there is one backend"),
    only("logits_processors", &[Empty], "custom logits processors are not available"),
    only(
        "truncate_prompt_tokens",
        &[Number(-1.0)],
        "prompts are never truncated; shorten the prompt",
    ),
    only("return_token_ids", &[Bool(false)], "use /tokenize"),
    only("return_tokens_as_token_ids", &[Bool(false)], "use /tokenize"),
    only("return_hidden_states", &[Bool(false)], "hidden states are not returned"),
    only(
        "spaces_between_special_tokens",
        &[Bool(true)],
        "spaces are part of the tokens; remove it",
    ),
    only("detokenize", &[Bool(true)], "answers are text"),
    anything("request_id", "send the header x-request-id"),
    anything("rid", "send the header x-request-id"),
    anything("safety_identifier", IDENTIFIER),
    anything("client_metadata", IDENTIFIER),
    anything("prompt_cache_key", CACHED),
    anything("prompt_cache_options", CACHED),
    anything("prompt_cache_retention", CACHED),
    anything("cache_salt", CACHED),
    anything("cache_control", CACHED),
    anything("keep_alive", "the model stays loaded"),
    anything("kv_transfer_params", "the KV cache is not transferred"),
    only("vllm_xargs", &[Empty], "extensions of vLLM are not available"),
    only("moderation", &[Empty], "answers are not moderated"),
    anything("stream_options.include_obfuscation", "chunks are not padded"),
    hint("repeat_last_n", "penalties apply to the whole sequence"),
];

/// Fields of `/v1/chat/completions` in addition to [`SAMPLING`].
pub(crate) const CHAT: FieldTable = &[
    rejected("audio", "answers are text"),
    only("modalities", &[ArrayOf(&["text"])], "answers are text"),
    only("functions", &[Empty], "use tools"),
    only("function_call", &[Text("none"), Text("auto")], "use tool_choice"),
    hint("prediction", "predicted outputs only affect speed; use --speculate"),
    rejected("web_search_options", "web search is not available"),
    only("echo", &[Bool(false)], "use continue_final_message"),
    only("best_of", &[Number(1.0)], "use n, and choose on the client"),
    only("prompt_logprobs", &[Bool(false)], "use /v1/completions"),
    only("add_special_tokens", &[Bool(false)], "chat templates write special tokens themselves"),
    rejected("chat_template", "start the server with --chat-template"),
    only("mm_processor_kwargs", &[Empty], "messages must be text"),
    hint_unless("store", &[Bool(false)], "chat completions are not stored; use /v1/responses"),
    only("include_reasoning", &[Bool(true)], REASONING),
    only("separate_reasoning", &[Bool(true)], REASONING),
    only("stream_reasoning", &[Bool(true)], REASONING),
    only("reasoning_format", &[Text("auto"), Text("deepseek")], REASONING),
    anything("metadata", IDENTIFIER),
    anything("service_tier", "all requests are processed alike; use priority"),
    hint("verbosity", "ask for the length in a message"),
];

/// Fields of `/v1/completions` in addition to [`SAMPLING`].
pub(crate) const COMPLETIONS: FieldTable = &[
    rejected("response_format", STRUCTURED),
    rejected("prompt_embeds", "prompts must be text or tokens"),
    anything("metadata", IDENTIFIER),
];

/// Fields of `/v1/responses` in addition to [`SAMPLING`].
pub(crate) const RESPONSES: FieldTable = &[
    only("background", &[Bool(false)], "background responses are not available"),
    only(
        "conversation",
        &[Empty],
        "use previous_response_id, or send the whole conversation as input",
    ),
    rejected("prompt", "stored prompt templates are not available; send the text"),
    only("top_logprobs", &[Number(0.0)], "use /v1/chat/completions"),
    only("prompt_logprobs", &[Bool(false)], "use /v1/completions"),
    anything("max_tool_calls", "it limits tools that the server runs, and there are none"),
    anything("service_tier", "all requests are processed alike; use priority"),
    anything("reasoning.summary", "reasoning is returned in full"),
    anything("reasoning.generate_summary", "reasoning is returned in full"),
    hint("reasoning.context", "all reasoning in the input is rendered by the chat template"),
    hint("text.verbosity", "ask for the length in a message"),
    anything("truncation", "a conversation that exceeds the context is an error"),
    hint("context_management", "conversations are never compacted"),
    only(
        "include",
        &[ArrayOf(&[
            "reasoning.encrypted_content",
            "code_interpreter_call.outputs",
            "computer_call_output.output.image_url",
            "file_search_call.results",
            "message.input_image.image_url",
            "web_search_call.action.sources",
            "web_search_call.results",
        ])],
        "log-probabilities are only available in /v1/chat/completions",
    ),
];

/// Fields of `/v1/embeddings`.
pub(crate) const EMBEDDINGS: FieldTable = &[
    rejected("messages", "input must be strings or tokens"),
    rejected("pooling", "start the server with --pooling"),
    only("embed_dtype", &[Text("float32")], "embeddings are 32-bit floats"),
    only("endianness", &[Text("native"), Text("little")], "embeddings are little-endian"),
    anything("user", IDENTIFIER),
    anything("request_id", "send the header x-request-id"),
];

/// Fields of `/v1/rerank` and `/v1/score`.
pub(crate) const RERANK: FieldTable = &[
    only(
        "max_chunks_per_doc",
        &[Number(1.0)],
        "documents are not divided; use truncate_prompt_tokens",
    ),
    rejected("rank_fields", "documents must be texts"),
    only("mm_processor_kwargs", &[Empty], "documents must be texts"),
    anything("user", IDENTIFIER),
    anything("request_id", "send the header x-request-id"),
];
