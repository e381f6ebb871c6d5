//! Errors of devices. All but [`BackendError::Kernel`], [`BackendError::Device`] and
//! [`BackendError::DeviceLost`] occur before the first kernel runs.

use inferno_tensor::TensorError;

/// An error of a backend: a rejected weight, cache or batch, or a failure of the device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The size of the data does not match its shape and format.
    #[error(
        "weight {name:?} has {found} bytes; {experts} x {rows} x {cols} values in {dtype} require {expected}"
    )]
    WeightSize {
        /// Name of the tensor.
        name: String,
        /// Format of the data.
        dtype: &'static str,
        /// Number of matrices (1 for a plain weight).
        experts: usize,
        /// Number of output features.
        rows: usize,
        /// Number of input features.
        cols: usize,
        /// Required size, in bytes.
        expected: usize,
        /// Actual size, in bytes.
        found: usize,
    },
    /// Parts to be stacked differ in width or in their number of experts.
    #[error(
        "weights {first:?} and {second:?} cannot be stacked: found {first_experts} x _ x {first_cols} and \
         {second_experts} x _ x {second_cols}; numbers of experts and input features must match"
    )]
    MismatchedParts {
        /// Name of the first part.
        first: String,
        /// Number of experts of the first part.
        first_experts: usize,
        /// Number of input features of the first part.
        first_cols: usize,
        /// Name of the part that does not match.
        second: String,
        /// Number of experts of the second part.
        second_experts: usize,
        /// Number of input features of the second part.
        second_cols: usize,
    },
    /// A weight was requested without any parts.
    #[error("a weight requires at least one part")]
    NoParts,
    /// The shape is not valid for the weight's format.
    #[error("weight {name:?}: {source}")]
    WeightShape {
        /// Name of the tensor.
        name: String,
        /// The violated constraint.
        source: TensorError,
    },
    /// The head size is not a multiple of the cache format's block length.
    #[error(
        "a {dtype} KV cache requires a head_dim that is a multiple of {multiple}, found {head_dim}; use f16 or f32"
    )]
    KvHeadDim {
        /// The cache format.
        dtype: &'static str,
        /// The model's head size.
        head_dim: usize,
        /// The required divisor of the head size.
        multiple: usize,
    },
    /// The head size could overflow the integer sums of a cache format.
    #[error(
        "a {dtype} KV cache supports a head_dim of at most {most}, found {head_dim}; use f16 or f32"
    )]
    KvHeadTooWide {
        /// The cache format.
        dtype: &'static str,
        /// The model's head size.
        head_dim: usize,
        /// The largest supported head size.
        most: usize,
    },
    /// No KV cache format has this name.
    #[error("unknown KV cache format {found:?}; choose one of: {}", known.join(", "))]
    UnknownKvDType {
        /// The requested name.
        found: String,
        /// Every format.
        known: [&'static str; 4],
    },
    /// An allocation on the device failed.
    #[error("not enough memory for {what} ({bytes} bytes); use a smaller context or model")]
    OutOfMemory {
        /// Purpose of the memory.
        what: &'static str,
        /// Requested size, in bytes.
        bytes: usize,
    },
    /// A buffer is larger than a kernel of the device can use, however much memory there is.
    #[error(
        "{what}: found {bytes} bytes, and kernels of this device use at most {max}; use smaller batches, fewer sequences or a smaller cache"
    )]
    BufferTooLarge {
        /// Purpose of the buffer.
        what: &'static str,
        /// Requested size, in bytes.
        bytes: usize,
        /// The largest size, in bytes.
        max: u64,
    },
    /// A chunk of a sequence has no tokens.
    #[error("a chunk of a batch requires at least one token")]
    EmptyChunk,
    /// Logits are requested for more tokens than a chunk has.
    #[error("logits requested for the last {num_rows} tokens of a chunk of {num_tokens} tokens")]
    TailTooLong {
        /// Number of tokens for which logits are requested.
        num_rows: usize,
        /// Number of tokens of the chunk.
        num_tokens: usize,
    },
    /// A chunk's positions extend past its block table.
    #[error("positions up to {end} require {needed} KV blocks; the block table has {found}")]
    BlockTableTooShort {
        /// One past the last position of the chunk.
        end: usize,
        /// Number of blocks required.
        needed: usize,
        /// Number of blocks in the table.
        found: usize,
    },
    /// Every block of the memory for sliding windows is in use.
    #[error(
        "the KV cache for sliding windows is full; run fewer sequences or smaller batches at a time"
    )]
    KvWindowFull,
    /// A saved KV block does not have the size of this cache's blocks.
    #[error("the saved KV block has {found} bytes; blocks of this cache have {expected}")]
    KvBlockSize {
        /// Size of a block of the cache, in bytes.
        expected: usize,
        /// Size of the saved block, in bytes.
        found: usize,
    },
    /// A saved recurrent state does not have the size of this state's slots.
    #[error("the saved recurrent state has {found} bytes; slots of this model have {expected}")]
    StateSize {
        /// Size of a slot, in bytes.
        expected: usize,
        /// Size of the saved state, in bytes.
        found: usize,
    },
    /// A kernel cannot be compiled for the device.
    #[error(
        "failed to compile the kernel {name:?}: {reason}; update the driver or use another device"
    )]
    Kernel {
        /// The kernel and its constants.
        name: String,
        /// The driver's message.
        reason: String,
    },
    /// A device, or its driver, computes other results than specified.
    #[error(
        "{device} computes wrong results ({what}); update its driver, or use another device or the CPU"
    )]
    WrongResults {
        /// The device.
        device: String,
        /// The operation, and how its results differ.
        what: String,
    },
    /// The device failed during a computation.
    #[error("the device failed: {reason}")]
    Device {
        /// The driver's message.
        reason: String,
    },
    /// The device has failed for good: nothing that it computes from now on is valid.
    #[error("the device is lost: {reason}; restart the program")]
    DeviceLost {
        /// The driver's message.
        reason: String,
    },
    /// A variable of the environment has a value that it cannot have.
    #[error("invalid value {value:?} for {name}: expected {expected}")]
    InvalidSetting {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// The possible values.
        expected: &'static str,
    },
    /// A backend or an instruction set is not available on this machine.
    #[error("{what} is not available on this machine: {reason}")]
    Unavailable {
        /// The requested backend or instruction set.
        what: String,
        /// The cause, and the alternatives.
        reason: String,
    },
}
