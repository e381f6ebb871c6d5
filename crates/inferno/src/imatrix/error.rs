//! What is wrong with an importance matrix.

use std::io;

use inferno_gguf::GgufError;

/// A problem with the file of an importance matrix, or with its contents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImatrixError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The path is a directory, a pipe or a device.
    #[error("is not a regular file")]
    NotFile,
    /// The file is not valid GGUF, or cannot be written.
    #[error("{0}")]
    Gguf(#[source] Box<GgufError>),
    /// A GGUF file of another kind.
    #[error(
        "not an importance matrix: a GGUF file of type {found:?}; create one with inferno imatrix"
    )]
    OtherType {
        /// Its `general.type`, or what it is otherwise.
        found: String,
    },
    /// A file that is neither GGUF nor in llama.cpp's former format.
    #[error(
        "neither GGUF nor an importance matrix in llama.cpp's former format ({reason}); create one with inferno imatrix"
    )]
    Unknown {
        /// What the former format does not allow.
        reason: String,
    },
    /// There are no statistics.
    #[error("no statistics of any tensor")]
    Empty,
    /// A tensor has sums without counts, or counts without sums.
    #[error("{tensor}: {missing} is missing")]
    Unpaired {
        /// The tensor.
        tensor: String,
        /// Name of what is missing.
        missing: String,
    },
    /// A tensor of the file does not hold F32 numbers.
    #[error("{name}: expected F32, found {found}")]
    Format {
        /// Name in the file.
        name: String,
        /// Its type.
        found: &'static str,
    },
    /// The sums cannot be divided among the matrices.
    #[error("{tensor}: {num_sums} sums cannot be divided among {num_counts} matrices")]
    Shape {
        /// The tensor.
        tensor: String,
        /// Number of sums.
        num_sums: usize,
        /// Number of counts.
        num_counts: usize,
    },
    /// A sum or a count is negative, infinite or NaN.
    #[error("{tensor}: invalid value {value}; expected finite values that are not negative")]
    Value {
        /// The tensor.
        tensor: String,
        /// The value.
        value: f64,
    },
    /// Statistics of one tensor differ in size.
    #[error(
        "{tensor}: {found} sums, but {expected} in what it is combined with; both must be of the same model"
    )]
    Merge {
        /// The tensor.
        tensor: String,
        /// Number of sums so far.
        expected: usize,
        /// Number of sums to add.
        found: usize,
    },
    /// An input of a product is infinite or NaN.
    #[error(
        "an input of {tensor} is not a finite number: the weights are damaged, or the model overflows"
    )]
    NonFiniteInput {
        /// The tensor.
        tensor: String,
    },
    /// Not one chunk is full.
    #[error("the text has {found} tokens{}, fewer than one chunk of {chunk_size}; use a longer text or a smaller --context", after_skipped(*.skipped))]
    TextTooShort {
        /// Number of tokens.
        found: usize,
        /// Number of tokens that are skipped at the start.
        skipped: usize,
        /// Tokens of a chunk.
        chunk_size: usize,
    },
}

impl From<GgufError> for ImatrixError {
    fn from(error: GgufError) -> Self {
        Self::Gguf(Box::new(error))
    }
}

fn after_skipped(tokens: usize) -> String {
    match tokens {
        0 => String::new(),
        tokens => format!(" after the {tokens} that are skipped"),
    }
}
