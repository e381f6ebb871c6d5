//! OpenAI's API, with vLLM's additional fields.

pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod embeddings;
mod format;
pub(crate) mod logprobs;
pub(crate) mod messages;
pub(crate) mod models;
pub(crate) mod render;
pub(crate) mod responses;
pub(crate) mod sampling;
pub(crate) mod timings;
mod token_limit;
pub(crate) mod tools;
pub(crate) mod usage;
