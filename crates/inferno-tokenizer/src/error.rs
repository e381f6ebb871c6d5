//! Errors of building a tokenizer and of decoding ids.

use thiserror::Error;

/// An error of building a tokenizer or of decoding ids.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// A metadata key is missing or of another type.
    #[error(transparent)]
    Metadata(#[from] inferno_gguf::GgufError),

    /// The tokenizer model in `tokenizer.ggml.model` is not implemented.
    #[error("unsupported tokenizer model {name:?}; supported: {}", known.join(", "))]
    UnknownModel {
        /// The name in the file.
        name: String,
        /// Every supported name.
        known: &'static [&'static str],
    },

    /// The pre-tokenizer in `tokenizer.ggml.pre` is not implemented.
    #[error(
        "unsupported pre-tokenizer {name:?} (tokenizer.ggml.pre); `inferno convert --list` prints the supported ones"
    )]
    UnknownPreTokenizer {
        /// The name in the file.
        name: String,
        /// Every supported name, in alphabetical order.
        known: Vec<&'static str>,
    },

    /// The file has no tokens.
    #[error("the vocabulary is empty: tokenizer.ggml.tokens has no entries")]
    EmptyVocabulary,

    /// Two ids have the same text, so encoding would be ambiguous.
    #[error("tokens {first} and {second} have the same text {text:?}")]
    DuplicateToken {
        /// The lower id.
        first: u32,
        /// The higher id.
        second: u32,
        /// Their text.
        text: String,
    },

    /// An array with one entry per token has a different length.
    #[error("{key} has {found} entries; expected {expected}, the number of tokens")]
    LengthMismatch {
        /// The metadata key.
        key: String,
        /// The number of tokens.
        expected: usize,
        /// The number of entries.
        found: usize,
    },

    /// A token's score is not a number.
    #[error("the score of token {id} is not a number")]
    ScoreNotANumber {
        /// The token.
        id: u32,
    },

    /// A special token's id is not in the vocabulary.
    #[error("{key} is {id}, which is out of range for a vocabulary of {vocab_size} tokens")]
    IdOutOfRange {
        /// The metadata key.
        key: String,
        /// The id in the file.
        id: i64,
        /// The number of tokens.
        vocab_size: usize,
    },

    /// The file requires a special token at the start or end of text, but does not define it.
    #[error("{flag} is set, but the file defines no {token} token")]
    MissingSpecialToken {
        /// The metadata key that requires the token.
        flag: &'static str,
        /// The required token.
        token: &'static str,
    },

    /// An entry of `tokenizer.ggml.merges` is not two pieces separated by a space.
    #[error("merge {index} is {merge:?}; expected two pieces separated by a space")]
    MalformedMerge {
        /// The index in the list.
        index: usize,
        /// The entry.
        merge: String,
    },

    /// The file has no token for text that no other token covers.
    #[error(
        "a {model:?} tokenizer requires an unknown token or 256 byte tokens; the file has neither"
    )]
    MissingFallback {
        /// The name of the tokenizer model.
        model: &'static str,
    },

    /// `tokenizer.ggml.precompiled_charsmap` is not a valid character map.
    #[error("invalid precompiled character map of {bytes} bytes: {reason}")]
    MalformedCharsmap {
        /// Its size, in bytes.
        bytes: usize,
        /// The violated constraint.
        reason: &'static str,
    },

    /// An id to decode is not in the vocabulary.
    #[error("token id {id} is out of range for a vocabulary of {vocab_size} tokens")]
    UnknownToken {
        /// The id.
        id: u32,
        /// The number of tokens.
        vocab_size: usize,
    },
}
