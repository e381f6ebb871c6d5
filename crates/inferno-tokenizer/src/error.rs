//! Everything that can be wrong with a file's tokenizer, or with ids given to it.

use thiserror::Error;

/// Why a tokenizer could not be built, or ids could not be decoded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The file's metadata lacks a key or holds it with another type.
    #[error(transparent)]
    Metadata(#[from] inferno_gguf::GgufError),

    /// `tokenizer.ggml.model` names a kind of tokenizer that is not implemented.
    #[error("unknown tokenizer model {name:?}; known models: {}", known.join(", "))]
    UnknownModel {
        /// The name in the file.
        name: String,
        /// Every name that would have been accepted.
        known: &'static [&'static str],
    },

    /// `tokenizer.ggml.pre` names a pre-tokenizer that is not implemented.
    #[error("unknown pre-tokenizer {name:?}; known pre-tokenizers: {}", known.join(", "))]
    UnknownPreTokenizer {
        /// The name in the file.
        name: String,
        /// Every name that would have been accepted, in alphabetical order.
        known: Vec<&'static str>,
    },

    /// The file lists no tokens.
    #[error("the vocabulary is empty: tokenizer.ggml.tokens holds no token")]
    EmptyVocabulary,

    /// Two ids carry the same text, so encoding would be ambiguous.
    #[error("tokens {first} and {second} have the same text {text:?}")]
    DuplicateToken {
        /// The lower id.
        first: u32,
        /// The higher id.
        second: u32,
        /// The text they share.
        text: String,
    },

    /// An array that runs beside the tokens has another length.
    #[error("{key} has {found} entries, but the vocabulary has {expected} tokens")]
    LengthMismatch {
        /// The metadata key.
        key: String,
        /// The number of tokens.
        expected: usize,
        /// The number of entries found.
        found: usize,
    },

    /// A token's score is not a number.
    #[error("the score of token {id} is not a number")]
    ScoreNotANumber {
        /// The token.
        id: u32,
    },

    /// A special token's id lies outside the vocabulary.
    #[error("{key} is {id}, but the vocabulary has {vocab_size} tokens")]
    IdOutOfRange {
        /// The metadata key.
        key: String,
        /// The id in the file.
        id: i64,
        /// The number of tokens.
        vocab_size: usize,
    },

    /// The file asks for a special token at every start or end, but does not name it.
    #[error("{flag} is set, but the file names no {token} token")]
    MissingSpecialToken {
        /// The metadata key that asks for the token.
        flag: &'static str,
        /// The token it asks for.
        token: &'static str,
    },

    /// An entry of `tokenizer.ggml.merges` is not two pieces with a space between them.
    #[error("merge {index} is {merge:?}, expected two pieces with one space between them")]
    MalformedMerge {
        /// The position in the list.
        index: usize,
        /// The entry.
        merge: String,
    },

    /// The tokenizer needs a token for text that no other token covers, and the file has none.
    #[error(
        "a {model:?} tokenizer needs an unknown token or 256 byte tokens, the file has neither"
    )]
    MissingFallback {
        /// The name of the tokenizer model.
        model: &'static str,
    },

    /// `tokenizer.ggml.precompiled_charsmap` is not a valid character map.
    #[error("the precompiled character map of {bytes} bytes is malformed: {reason}")]
    MalformedCharsmap {
        /// Its size.
        bytes: usize,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// An id to decode lies outside the vocabulary.
    #[error("token id {id} is out of range: the vocabulary has {vocab_size} tokens")]
    UnknownToken {
        /// The id.
        id: u32,
        /// The number of tokens.
        vocab_size: usize,
    },
}
