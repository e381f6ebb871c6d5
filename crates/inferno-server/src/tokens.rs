//! Tokenization, in the formats of vLLM and llama-server.

mod content;
pub(crate) mod detokenize;
pub(crate) mod info;
pub(crate) mod tokenize;
