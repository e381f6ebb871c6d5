//! What can go wrong with shapes, views and stored rows.

use crate::DType;

/// An error of this crate: what was expected, what was found, what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// No format has this name.
    #[error("unknown format {name:?}: expected one of {}", DType::names())]
    UnknownDType {
        /// The name as given.
        name: String,
    },

    /// A row is no whole number of blocks.
    #[error(
        "a row of {cols} values cannot be stored as {dtype}: expected a multiple of {block_len}; \
         choose a format whose blocks divide the row"
    )]
    PartialBlock {
        /// The format asked for.
        dtype: DType,
        /// The values in the row.
        cols: usize,
        /// The values in one block of the format.
        block_len: usize,
    },

    /// The size in bytes does not fit the address space.
    #[error("a row of {cols} values of {dtype} is larger than the address space")]
    RowTooLarge {
        /// The format asked for.
        dtype: DType,
        /// The values in the row.
        cols: usize,
    },

    /// A buffer of stored bytes has the wrong length.
    #[error("{cols} values of {dtype} take {expected} bytes, found {found}")]
    BytesMismatch {
        /// The format of the bytes.
        dtype: DType,
        /// The values in the row.
        cols: usize,
        /// The bytes that the values take.
        expected: usize,
        /// The bytes that were given.
        found: usize,
    },

    /// Stored bytes are no whole number of blocks.
    #[error("{found} bytes are no whole number of {dtype} blocks of {block_bytes} bytes")]
    PartialBlockBytes {
        /// The format of the bytes.
        dtype: DType,
        /// The bytes of one block.
        block_bytes: usize,
        /// The bytes that were given.
        found: usize,
    },

    /// A quantized format was asked to store a NaN or an infinity.
    #[error(
        "value {index} is {value}, which {dtype} cannot store; keep this row in F32, F16 or BF16"
    )]
    NonFinite {
        /// The format asked for.
        dtype: DType,
        /// The position of the value in the row.
        index: usize,
        /// The value found there.
        value: f32,
    },

    /// The values of a block need a scale that half precision cannot hold.
    #[error(
        "the values from {index} on need a scale beyond half precision, which {dtype} cannot store; \
         keep this row in F32 or BF16"
    )]
    ScaleOverflow {
        /// The format asked for.
        dtype: DType,
        /// The position of the block's first value in the row.
        index: usize,
    },
}
