//! Tokenization, in vLLM's format.

pub(crate) mod detokenize;
pub(crate) mod info;
pub(crate) mod tokenize;
