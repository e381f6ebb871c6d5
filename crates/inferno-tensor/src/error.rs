//! What can go wrong with shapes, views and stored rows.

use crate::{DType, Shape};

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

    /// The values are so large that their scale overflows: half precision for blocks.
    #[error(
        "the values from {index} on need a scale larger than {dtype} can hold; \
         keep this row in F32 or BF16"
    )]
    ScaleOverflow {
        /// The format asked for.
        dtype: DType,
        /// The position of the block's first value in the row; zero for [`DType::Int8`].
        index: usize,
    },

    /// A shape has too many axes.
    #[error("a tensor has at most {max} axes")]
    RankTooLarge {
        /// The most axes there may be.
        max: usize,
    },

    /// The sizes of a shape multiply to more than the address space.
    #[error("the shape has more elements than the address space")]
    ShapeTooLarge,

    /// The elements do not fill a shape.
    #[error("shape {shape} takes {} elements, found {found}", shape.num_elements())]
    ElementsMismatch {
        /// The shape asked for.
        shape: Shape,
        /// The elements that were given.
        found: usize,
    },

    /// There are not as many numbers as axes.
    #[error("expected one number for each of {expected} axes, found {found}")]
    RankMismatch {
        /// The axes of the tensor.
        expected: usize,
        /// The numbers that were given.
        found: usize,
    },

    /// An axis does not exist.
    #[error("there is no axis {axis}: expected a number below {rank}")]
    AxisOutOfRange {
        /// The axis asked for.
        axis: usize,
        /// The number of axes.
        rank: usize,
    },

    /// An index is past the end of its axis.
    #[error("index {index} is past the end of axis {axis} of size {size}")]
    IndexOutOfRange {
        /// The axis of the index.
        axis: usize,
        /// The index asked for.
        index: usize,
        /// The size of the axis.
        size: usize,
    },

    /// A range does not lie within its axis.
    #[error("the range {start}..{end} does not lie within axis {axis} of size {size}")]
    RangeOutOfBounds {
        /// The axis of the range.
        axis: usize,
        /// Where the range starts.
        start: usize,
        /// Where the range ends.
        end: usize,
        /// The size of the axis.
        size: usize,
    },

    /// A view would reach past the elements it borrows.
    #[error(
        "a view of shape {shape} from element {offset} on reaches past the {len} elements there are"
    )]
    ViewOutOfBounds {
        /// The shape asked for.
        shape: Shape,
        /// Where the view starts.
        offset: usize,
        /// The elements there are.
        len: usize,
    },

    /// Only an axis of size 1 can be dropped.
    #[error(
        "axis {axis} has size {size}: only an axis of size 1 can be dropped; \
         select an index instead"
    )]
    NotSingle {
        /// The axis to drop.
        axis: usize,
        /// Its size.
        size: usize,
    },

    /// The axes of a permutation do not name every axis once.
    #[error("{axes:?} does not name each axis below {rank} once")]
    NotAPermutation {
        /// The axes as given.
        axes: Vec<usize>,
        /// The number of axes.
        rank: usize,
    },

    /// Broadcasting would have to change an axis that is not of size 1.
    #[error(
        "shape {from:?} cannot be broadcast to {to:?}: aligned at the last axis, \
         sizes must be equal or 1"
    )]
    BroadcastMismatch {
        /// The shape of the view.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },

    /// Reshaping would change the number of elements.
    #[error(
        "shape {from:?} of {} elements cannot become {to:?} of {}",
        from.iter().product::<usize>(),
        to.iter().product::<usize>()
    )]
    ReshapeMismatch {
        /// The shape of the view.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },

    /// The elements do not lie so that strides alone give the new shape.
    #[error(
        "shape {from:?} cannot become {to:?} without a copy, as the view is strided; \
         call to_tensor first"
    )]
    ReshapeNeedsCopy {
        /// The shape of the view.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },

    /// There is no room for the elements of a tensor.
    #[error("there is no memory for a tensor of shape {shape}")]
    OutOfMemory {
        /// The shape of the tensor.
        shape: Shape,
    },
}
