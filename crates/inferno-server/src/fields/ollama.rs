//! Unimplemented fields of Ollama's endpoints.

use super::NoOp::{Bool, Empty, Number};
use super::{FieldTable, anything, hint, hint_unless, only};

const LOADED: &str = "the model stays loaded";
const LOADING: &str = "the options of inferno serve decide how the model is loaded";
const SAMPLER: &str = "this sampler is not implemented";

/// Fields of `/api/chat` and `/api/generate`.
pub(crate) const ANSWER: FieldTable = &[
    anything("keep_alive", LOADED),
    anything("truncate", "prompts are never truncated"),
    anything("shift", "an answer ends when the context is full"),
    only("logprobs", &[Bool(false)], "use /v1/chat/completions"),
    anything("top_logprobs", "logprobs is not implemented"),
    only("options.mirostat", &[Number(0.0)], SAMPLER),
    anything("options.mirostat_tau", "it only applies to mirostat"),
    anything("options.mirostat_eta", "it only applies to mirostat"),
    hint_unless("options.tfs_z", &[Number(1.0)], SAMPLER),
    hint("options.penalize_newline", "penalties apply to every token"),
    hint("options.num_ctx", "the context is set by --context"),
    hint("options.num_keep", "prompts are never truncated"),
    hint("options.num_batch", LOADING),
    hint("options.num_gpu", LOADING),
    hint("options.main_gpu", LOADING),
    hint("options.num_thread", LOADING),
    hint("options.numa", LOADING),
    hint("options.low_vram", LOADING),
    hint("options.f16_kv", LOADING),
    hint("options.logits_all", LOADING),
    hint("options.vocab_only", LOADING),
    hint("options.use_mmap", LOADING),
    hint("options.use_mlock", LOADING),
    hint("options.embedding_only", LOADING),
];

/// Fields of `/api/generate`.
pub(crate) const GENERATE: FieldTable = &[
    only("template", &[Empty], "start the server with --chat-template"),
    only("context", &[Empty], "send the messages to /api/chat"),
    only("images", &[Empty], "this model reads text only"),
];

/// Fields of `/api/embed` and `/api/embeddings`.
pub(crate) const EMBED: FieldTable =
    &[anything("keep_alive", LOADED), anything("options", "nothing is sampled")];

/// Fields of `/api/show` and `/api/pull`.
pub(crate) const MODEL: FieldTable = &[
    anything("verbose", "all details are always returned"),
    anything("insecure", "nothing is downloaded"),
];
