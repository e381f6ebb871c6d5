//! Tokenizers rebuilt from GGUF metadata: byte-level BPE, SentencePiece, Unigram, WordPiece.
//!
//! [`Tokenizer`] is built from a file's metadata; it encodes text to ids and decodes them.
//! [`Detokenizer`] decodes ids incrementally, as a model generates them. Ids are identical to
//! llama.cpp's, including overlapping special tokens.
//!
//! ```no_run
//! use inferno_gguf::Gguf;
//! use inferno_tokenizer::{EncodeOptions, Tokenizer};
//!
//! let gguf = Gguf::open("model.gguf")?;
//! let tokenizer = Tokenizer::from_metadata(gguf.metadata())?;
//! let options = EncodeOptions { add_special: true, parse_special: false };
//! let ids = tokenizer.encode("Once upon a time", options);
//! println!("{ids:?}: {:?}", tokenizer.decode(&ids, true)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: any `&str` can be encoded, in O(n log n) time; no file makes loading, encoding or
//! decoding panic.

#![forbid(unsafe_code)]

mod byte_alphabet;
mod constraint;
mod detokenizer;
mod difference;
mod error;
mod metadata;
mod model;
mod partition;
mod pre_tokenizer;
mod special_tokens;
mod tokenizer;
mod unicode;
mod utf8_decoder;
mod vocabulary;

pub use byte_alphabet::byte_level_text;
pub use constraint::{ConstraintError, ConstraintState, TokenConstraint, TokenMask};
pub use detokenizer::Detokenizer;
pub use difference::VocabularyDifference;
pub use error::TokenizerError;
pub use metadata::special_token_texts;
pub use pre_tokenizer::{PreTokenizerDescription, pre_tokenizers};
pub use special_tokens::SpecialTokens;
pub use tokenizer::{EncodeOptions, PairLimits, TokenPair, Tokenizer};
pub use utf8_decoder::Utf8Decoder;
