//! Tests of the tokenizer's public API.

mod decode;
mod linear_time;
mod metadata;
mod oracle;
mod pairs;
mod properties;
mod reference;
mod vocabularies;
