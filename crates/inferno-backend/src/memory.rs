//! The memory of a device.

use std::ops::Range;

use inferno_tensor::DType;

use crate::{
    BackendError, Batch, BlockId, ExpertParams, KvBlockPart, KvDType, KvLayout, QkvLayout,
    StateLayout, StateSlot, WeightPart,
};

/// The memory of a device: activations, weights, caches and states.
///
/// Everything is allocated by the caller of the operations, see [`Backend`](crate::Backend), and handed to them.
pub trait DeviceMemory: Send + Sync + 'static {
    /// A matrix of activations, or a vector of parameters as a matrix of one row.
    type Buffer: Send + Sync;
    /// The weights of a matrix product, in the layout that the kernels read.
    type Weight: Send + Sync;
    /// A table for row lookups: token embeddings.
    type Table: Send + Sync;
    /// The paged keys and values of all layers.
    type KvCache: Send;
    /// The state of recurrent layers, in slots.
    type RecurrentState: Send;
    /// A batch's index arrays in device memory.
    type DeviceBatch: Send;
    /// The experts of each token and their weights.
    type Routing: Send;

    /// Allocates a zeroed buffer of `rows` x `cols`.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn alloc(&self, rows: usize, cols: usize) -> Result<Self::Buffer, BackendError>;

    /// Allocates a zeroed buffer for `rows` rows of logits, which only [`linear`](crate::Pass::linear),
    /// [`apply`](crate::Pass::apply) and [`select_candidates`](crate::Pass::select_candidates) access. It may be larger
    /// than a kernel can access at once.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn alloc_logits(&self, rows: usize, vocab_size: usize) -> Result<Self::Buffer, BackendError> {
        self.alloc(rows, vocab_size)
    }

    /// Copies whole rows from the host to the start of `buffer`.
    fn upload(&self, values: &[f32], buffer: &mut Self::Buffer);

    /// Returns a range of the values of `buffer`: borrowed if the host can read them in place, otherwise copied to
    /// `staging`. Waits for the passes that were submitted.
    ///
    /// **Errors**: [`BackendError::Device`].
    fn download<'a>(
        &self,
        buffer: &'a Self::Buffer,
        values: Range<usize>,
        staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError>;

    /// Packs `parts`, stacked by rows, for matrix products.
    ///
    /// **Errors**: parts that cannot be stacked, unsupported formats, out of memory.
    fn load_weight(&self, parts: &[WeightPart]) -> Result<Self::Weight, BackendError>;

    /// Memory that [`load_weight`](Self::load_weight) would use for `experts` matrices of
    /// `rows` x `cols` stored as `dtype`, in bytes.
    fn weight_bytes(&self, dtype: DType, experts: usize, rows: usize, cols: usize) -> usize;

    /// Scratch memory that operations allocate for passes of up to `pass` and keep for later passes: an
    /// upper bound, in bytes.
    fn scratch_bytes(&self, pass: &PassShape) -> usize;

    /// Prepares `part` for row lookups. The backend may read the part's bytes in place.
    ///
    /// **Errors**: out of memory.
    fn load_table(&self, part: &WeightPart) -> Result<Self::Table, BackendError>;

    /// Creates an empty batch for the device.
    fn alloc_batch(&self) -> Self::DeviceBatch;

    /// Copies `batch` to `device_batch`, reusing its memory.
    fn upload_batch(&self, batch: &Batch, device_batch: &mut Self::DeviceBatch);

    /// Allocates a KV cache. If the system supports it, memory is committed when blocks are first
    /// written.
    ///
    /// **Errors**: [`BackendError::KvHeadDim`], [`BackendError::KvHeadTooWide`] and [`BackendError::OutOfMemory`].
    fn alloc_kv_cache(&self, layout: &KvLayout) -> Result<Self::KvCache, BackendError>;

    /// Allocates the routing of `rows` tokens.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn alloc_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<Self::Routing, BackendError>;

    /// Replaces the contents of `experts` by the expert of each slot of the tokens that were routed last, in order. Waits
    /// for the passes that were submitted.
    ///
    /// **Errors**: [`BackendError::Device`].
    fn read_routing(
        &self,
        routing: &Self::Routing,
        experts: &mut Vec<u32>,
    ) -> Result<(), BackendError>;

    /// Assigns memory for windowed layers to the blocks that `batch` writes to, which a pass requires.
    ///
    /// **Errors**: [`BackendError::KvWindowFull`].
    fn assign_kv_window(
        &self,
        batch: &Batch,
        cache: &mut Self::KvCache,
    ) -> Result<(), BackendError>;

    /// Releases the memory of `block` for windowed layers, whose keys and values are lost.
    fn release_kv_window(&self, cache: &mut Self::KvCache, block: BlockId);

    /// Moves the memory of block `from` for windowed layers, with its contents, to block `to`.
    fn move_kv_window(&self, cache: &mut Self::KvCache, from: BlockId, to: BlockId);

    /// Appends one block, or a part of it, to `bytes`: for each layer (those without a window first) keys then
    /// values, for each head, for each position, one row in the cache's format; [`KvBlockPart::num_bytes`] in
    /// total.
    ///
    /// **Errors**: [`BackendError::Device`].
    fn read_kv_block(
        &self,
        cache: &Self::KvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError>;

    /// Fills one block, or a part of it, with the output of [`read_kv_block`](Self::read_kv_block).
    ///
    /// **Errors**: [`BackendError::KvBlockSize`], [`BackendError::KvWindowFull`].
    fn write_kv_block(
        &self,
        cache: &mut Self::KvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), BackendError>;

    /// Allocates slots for the state of recurrent layers. If the system supports it, memory is committed when
    /// slots are first written.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn alloc_state(&self, layout: &StateLayout) -> Result<Self::RecurrentState, BackendError>;

    /// Copies the contents of slot `from` to slot `to`.
    fn copy_state(&self, state: &mut Self::RecurrentState, from: StateSlot, to: StateSlot);

    /// Appends the contents of a slot to `bytes`: for each layer the stored inputs of the convolution, the oldest
    /// first, each with one value per channel, then each of the [`StateMatrices`](crate::StateMatrices) row by row,
    /// all as little-endian `f32`; [`StateLayout::slot_bytes`] in total. Backends convert from and to this order, so
    /// that a state saved by one can be loaded by another.
    ///
    /// **Errors**: [`BackendError::Device`].
    fn read_state(
        &self,
        state: &Self::RecurrentState,
        slot: StateSlot,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError>;

    /// Fills a slot with the output of [`read_state`](Self::read_state).
    ///
    /// **Errors**: [`BackendError::StateSize`].
    fn write_state(
        &self,
        state: &mut Self::RecurrentState,
        slot: StateSlot,
        bytes: &[u8],
    ) -> Result<(), BackendError>;
}

/// The largest forward pass of a model, which determines a backend's scratch memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassShape {
    /// Maximum number of tokens in a batch.
    pub max_num_tokens: usize,
    /// The heads of each layer's attention; equal ones may be listed once.
    pub attention: Vec<QkvLayout>,
    /// The format of the KV cache.
    pub kv_dtype: KvDType,
    /// All products with weights.
    pub products: Vec<ProductShape>,
    /// Maximum number of rows of logits in a batch.
    pub max_num_logit_rows: usize,
    /// Number of logits per row.
    pub vocab_size: usize,
}

/// The weight and the number of rows of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductShape {
    /// Format of the weight.
    pub dtype: DType,
    /// Input features.
    pub cols: usize,
    /// Maximum number of rows, over all experts.
    pub max_num_rows: usize,
    /// Number of experts; 1 for a plain weight.
    pub num_experts: usize,
}
