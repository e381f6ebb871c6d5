//! What can go wrong between a model and a device, all of it before the first kernel runs.

use inferno_tensor::TensorError;

/// Why a backend refused a weight, a cache or a batch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The payload does not have the size that its shape and format call for.
    #[error(
        "weight {name:?}: {found} bytes, but {experts} x {rows} x {cols} of {dtype} takes {expected}"
    )]
    WeightSize {
        /// Tensor name as the file gives it.
        name: String,
        /// Format of the payload.
        dtype: &'static str,
        /// Number of stacked matrices (1 for a plain weight).
        experts: usize,
        /// Output features.
        rows: usize,
        /// Input features.
        cols: usize,
        /// Bytes that the shape calls for.
        expected: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// Parts that are to be stacked differ in width or in their number of experts.
    #[error(
        "weights {first:?} and {second:?} cannot be stacked: {first_experts} x _ x {first_cols} beside {second_experts} x _ x {second_cols}"
    )]
    MismatchedParts {
        /// The part that set the shape.
        first: String,
        /// Experts of the first part.
        first_experts: usize,
        /// Input features of the first part.
        first_cols: usize,
        /// The part that does not fit.
        second: String,
        /// Experts of the second part.
        second_experts: usize,
        /// Input features of the second part.
        second_cols: usize,
    },
    /// A weight was asked for without naming a single part.
    #[error("a weight needs at least one part")]
    NoParts,
    /// The shape does not fit the weight's format.
    #[error("weight {name:?}: {source}")]
    WeightShape {
        /// Tensor name as the file gives it.
        name: String,
        /// What the format says about it.
        source: TensorError,
    },
    /// A cache format stores whole blocks of values, and a head does not divide into them.
    #[error(
        "a {dtype} KV cache needs head_dim to be a multiple of {multiple}, but it is {head_dim}; choose f16 or f32"
    )]
    KvHeadDim {
        /// The cache format.
        dtype: &'static str,
        /// The model's head width.
        head_dim: usize,
        /// What the width must divide by.
        multiple: usize,
    },
    /// A cache format's sums have room for so many products only.
    #[error(
        "a {dtype} KV cache takes a head_dim of {most} at most, but it is {head_dim}; choose f16 or f32"
    )]
    KvHeadTooWide {
        /// The cache format.
        dtype: &'static str,
        /// The model's head width.
        head_dim: usize,
        /// The widest that fits.
        most: usize,
    },
    /// There is no KV cache format of that name.
    #[error("unknown KV cache format {found:?}; choose {}", known.join(", "))]
    UnknownKvDType {
        /// What was asked for.
        found: String,
        /// Every format.
        known: [&'static str; 4],
    },
    /// The device has no room for an allocation.
    #[error(
        "not enough memory for {what}: {bytes} bytes were asked for; take a smaller context or model"
    )]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// Bytes asked for.
        bytes: usize,
    },
    /// A chunk of a sequence brought no tokens.
    #[error("a batch cannot hold an empty chunk")]
    EmptyChunk,
    /// A chunk's positions run past its block table.
    #[error("positions up to {end} need {needed} KV blocks, but the block table holds {found}")]
    BlockTableTooShort {
        /// One past the last position of the chunk.
        end: usize,
        /// Blocks those positions need.
        needed: usize,
        /// Blocks in the table.
        found: usize,
    },
    /// The bytes of a saved KV block are not the size of a block of this cache.
    #[error("a saved KV block holds {found} bytes, but this cache's blocks hold {expected}")]
    KvBlockSize {
        /// Bytes of one block of the cache.
        expected: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// The device failed while it computed.
    #[error("the device failed: {reason}")]
    Device {
        /// What its driver said.
        reason: String,
    },
    /// The backend, or a level of it, is not available on this machine.
    #[error("{what} is not available on this machine: {reason}")]
    Unavailable {
        /// What was asked for.
        what: String,
        /// Why it is missing, and what there is instead.
        reason: String,
    },
}
