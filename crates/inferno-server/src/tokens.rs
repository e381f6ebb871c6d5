//! Tokens and texts, in vLLM's shape.

pub(crate) mod detokenize;
pub(crate) mod tokenize;
