//! Nothing but the home of `benches/encode.rs`: encoding speed beside Hugging Face's `tokenizers`.
//!
//! ```text
//! cargo bench --manifest-path crates/inferno-tokenizer/bench/Cargo.toml
//! ```
//!
//! `INFERNO_VOCABULARY` names a GGUF file with a Qwen 2 vocabulary, `INFERNO_TEXT` a text; by
//! default it is the small vocabulary of the tests and the text that it was trained on.
