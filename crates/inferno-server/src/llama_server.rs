//! llama-server's own API. Its OpenAI and Anthropic endpoints are in `openai` and `anthropic`.

pub(crate) mod apply_template;
pub(crate) mod completion;
pub(crate) mod completions;
pub(crate) mod embedding;
pub(crate) mod infill;
pub(crate) mod input_tokens;
pub(crate) mod lora_adapters;
pub(crate) mod props;
pub(crate) mod slots;
