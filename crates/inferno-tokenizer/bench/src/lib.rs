//! Package of `benches/encode.rs`: encoding speed compared with Hugging Face's `tokenizers`.
//!
//! ```text
//! cargo bench --manifest-path crates/inferno-tokenizer/bench/Cargo.toml
//! ```
//!
//! `INFERNO_VOCABULARY` is a GGUF file with a Qwen 2 vocabulary, `INFERNO_TEXT` a text file; by
//! default, the small vocabulary of the tests and the text that it was trained on.
