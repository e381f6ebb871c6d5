//! The tokenizer as its users see it.

mod decode;
mod linear_time;
mod metadata;
mod oracle;
mod properties;
mod reference;
mod vocabularies;
