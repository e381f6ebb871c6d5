//! The commands, one per file.

pub(crate) mod batch;
pub(crate) mod bench;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod devices;
pub(crate) mod embed;
pub(crate) mod eval;
pub(crate) mod generate;
pub(crate) mod imatrix;
pub(crate) mod inspect;
pub(crate) mod logits;
pub(crate) mod models;
pub(crate) mod perplexity;
pub(crate) mod pull;
pub(crate) mod quantize;
pub(crate) mod serve;
pub(crate) mod template;
pub(crate) mod tokenize;
pub(crate) mod tokenizer_demo;
