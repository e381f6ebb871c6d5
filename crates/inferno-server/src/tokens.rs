//! Tokenization, in vLLM's format.

pub(crate) mod detokenize;
pub(crate) mod tokenize;
