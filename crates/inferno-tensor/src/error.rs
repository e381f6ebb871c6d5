//! Errors of shapes, views and stored rows.

use crate::{DType, Shape};

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// A row cannot be divided into whole blocks.
    #[error(
        "a row of {cols} values cannot be stored as {dtype}, which requires a multiple of \
         {block_len}; choose a format with shorter blocks"
    )]
    PartialBlock {
        /// The requested format.
        dtype: DType,
        /// Number of values in the row.
        cols: usize,
        /// Number of values in one block of the format.
        block_len: usize,
    },

    /// The size in bytes exceeds the address space.
    #[error("a row of {cols} {dtype} values exceeds the address space")]
    RowTooLarge {
        /// The requested format.
        dtype: DType,
        /// Number of values in the row.
        cols: usize,
    },

    /// A buffer of stored bytes has the wrong length.
    #[error("a row of {cols} {dtype} values has {expected} bytes, found {found}")]
    BytesMismatch {
        /// The format of the bytes.
        dtype: DType,
        /// Number of values in the row.
        cols: usize,
        /// The size of the row, in bytes.
        expected: usize,
        /// The size of the buffer, in bytes.
        found: usize,
    },

    /// Stored bytes cannot be divided into whole blocks.
    #[error("{found} bytes is not a multiple of the {dtype} block size, {block_bytes} bytes")]
    PartialBlockBytes {
        /// The format of the bytes.
        dtype: DType,
        /// The size of one block, in bytes.
        block_bytes: usize,
        /// The size of the buffer, in bytes.
        found: usize,
    },

    /// A quantized format cannot store NaN or infinity.
    #[error(
        "value {index} of the row is {value}, which {dtype} cannot store; use F32, F16 or BF16 for \
         this tensor"
    )]
    NonFinite {
        /// The requested format.
        dtype: DType,
        /// The index of the value in the row.
        index: usize,
        /// The value.
        value: f32,
    },

    /// A finite value is too large for a float format.
    #[error(
        "value {index} of the row is {value:?}, which is too large for {dtype}; use {} for this tensor",
        if *.dtype == DType::F16 { "BF16 or F32" } else { "F32" }
    )]
    OutOfRange {
        /// The requested format.
        dtype: DType,
        /// The index of the value in the row.
        index: usize,
        /// The value.
        value: f32,
    },

    /// The values are so large that their scale overflows (half precision for most blocks).
    #[error(
        "the values of the row from index {index} require a larger scale than {dtype} can store; \
         use F32 or BF16 for this tensor"
    )]
    ScaleOverflow {
        /// The requested format.
        dtype: DType,
        /// The index of the block's first value in the row; zero for [`DType::Int8`].
        index: usize,
    },

    /// Values cannot be encoded in a format without the importance of their columns.
    #[error(
        "{dtype} needs an importance matrix to be accurate; provide one, or use IQ3_XXS or Q2_K"
    )]
    NeedsImportance {
        /// The requested format.
        dtype: DType,
    },

    /// The importance of columns is not one finite number per column, not negative.
    #[error("{}", importance_message(*.expected, *.found, *.invalid))]
    Importance {
        /// Number of columns.
        expected: usize,
        /// Number of values.
        found: usize,
        /// The first value that is negative, infinite or NaN.
        invalid: Option<f32>,
    },

    /// A shape has too many axes.
    #[error("too many axes for a tensor; the maximum is {max}")]
    RankTooLarge {
        /// Maximum number of axes.
        max: usize,
    },

    /// The number of elements of a shape exceeds the address space.
    #[error("the number of elements of the shape exceeds the address space")]
    ShapeTooLarge,

    /// The number of elements does not match the shape.
    #[error("shape {shape} requires {} elements, found {found}", shape.num_elements())]
    ElementsMismatch {
        /// The requested shape.
        shape: Shape,
        /// Number of elements provided.
        found: usize,
    },

    /// An index or a list of strides does not have one number per axis.
    #[error("expected one number per axis ({expected}), found {found}")]
    RankMismatch {
        /// Number of axes of the tensor.
        expected: usize,
        /// Number of numbers provided.
        found: usize,
    },

    /// An axis does not exist.
    #[error("axis {axis} is out of range for a tensor with {rank} axes")]
    AxisOutOfRange {
        /// The requested axis.
        axis: usize,
        /// Number of axes.
        rank: usize,
    },

    /// An index is past the end of its axis.
    #[error("index {index} is out of range for axis {axis} of size {size}")]
    IndexOutOfRange {
        /// The axis of the index.
        axis: usize,
        /// The requested index.
        index: usize,
        /// The size of the axis.
        size: usize,
    },

    /// A range extends past the end of its axis.
    #[error("range {start}..{end} is out of range for axis {axis} of size {size}")]
    RangeOutOfBounds {
        /// The axis of the range.
        axis: usize,
        /// Start of the range.
        start: usize,
        /// End of the range, exclusive.
        end: usize,
        /// The size of the axis.
        size: usize,
    },

    /// A view would extend past the elements it borrows.
    #[error(
        "a view of shape {shape} at offset {offset} with these strides extends past its {len} \
         elements"
    )]
    ViewOutOfBounds {
        /// The requested shape.
        shape: Shape,
        /// Offset of the first element.
        offset: usize,
        /// Number of elements available.
        len: usize,
    },

    /// Reshaping would change the number of elements.
    #[error(
        "shape {from:?} with {} elements cannot be reshaped to {to:?} with {}",
        from.iter().product::<usize>(),
        to.iter().product::<usize>()
    )]
    ReshapeMismatch {
        /// The shape of the view.
        from: Vec<usize>,
        /// The requested shape.
        to: Vec<usize>,
    },

    /// No strides over the existing elements give the new shape.
    #[error("the strided view of shape {from:?} cannot be reshaped to {to:?} without a copy")]
    ReshapeNeedsCopy {
        /// The shape of the view.
        from: Vec<usize>,
        /// The requested shape.
        to: Vec<usize>,
    },

    /// Allocating the elements of a tensor failed.
    #[error("not enough memory for a tensor of shape {shape}")]
    OutOfMemory {
        /// The shape of the tensor.
        shape: Shape,
    },
}

fn importance_message(expected: usize, found: usize, invalid: Option<f32>) -> String {
    match invalid {
        Some(value) => {
            format!("an importance of {value}; expected finite values that are not negative")
        }
        None => format!("the importance of {found} columns, for rows of {expected}"),
    }
}
