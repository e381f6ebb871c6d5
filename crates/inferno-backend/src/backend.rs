//! The operations that a device implements.

use inferno_tensor::DType;

use crate::{
    AttentionParams, BackendError, Batch, BlockId, ColumnBlocks, ConvParams, ConvWeights, CopySize,
    ExpertParams, Function, Gate, GatedNorm, KvBlockPart, KvLayout, LinearAttentionParams,
    LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, PassShape, QkNorm, QkvLayout,
    Rotation, StateLayout, StateSlot, WeightPart,
};

/// A device that can run decoder-only transformers.
///
/// Every activation is a matrix of `f32` in a [`Buffer`](Self::Buffer) with one row per token.
/// Operations accept the number of rows in use and leave the others unchanged. Outputs are allocated
/// by the caller. The host reads an activation only through [`download`](Self::download).
///
/// A backend keeps its scratch memory, so that a pass allocates nothing unless it is larger than those
/// before it. Operations that may allocate return an error if they cannot; their output is then
/// unspecified.
///
/// A row of any result depends only on its own inputs, never on other rows of the batch.
///
/// Shapes are validated when weights are loaded. Operations **panic** if a caller violates them,
/// which is an error in the program, not in its input.
pub trait Backend: Send + Sync + 'static {
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

    /// A human-readable description of the device and its settings: `cpu (avx2, 2 threads)`.
    fn describe(&self) -> String;

    // Memory.

    /// Allocates a zeroed buffer of `rows` x `cols`.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn alloc(&self, rows: usize, cols: usize) -> Result<Self::Buffer, BackendError>;

    /// Copies whole rows from the host to the start of `buffer`.
    fn upload(&self, values: &[f32], buffer: &mut Self::Buffer);

    /// Returns the first `len` values of `buffer`: borrowed if the host can read them in place,
    /// otherwise copied to `staging`.
    ///
    /// **Errors**: [`BackendError::Device`].
    fn download<'a>(
        &self,
        buffer: &'a Self::Buffer,
        len: usize,
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
    /// **Errors**: [`BackendError::KvHeadDim`] and [`BackendError::OutOfMemory`].
    fn alloc_kv_cache(&self, layout: &KvLayout) -> Result<Self::KvCache, BackendError>;

    /// Allocates the routing of `rows` tokens.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn alloc_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<Self::Routing, BackendError>;

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

    /// Appends the contents of a slot to `bytes`: [`StateLayout::slot_bytes`] in total.
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

    // Rows in and out.

    /// `out[t] = table[token_ids[t]]`.
    fn embed(&self, batch: &Self::DeviceBatch, table: &Self::Table, out: &mut Self::Buffer);

    /// `out[i] = x[logit_rows[i]]`.
    fn gather_logit_rows(
        &self,
        batch: &Self::DeviceBatch,
        x: &Self::Buffer,
        out: &mut Self::Buffer,
    );

    // Single values and rows.

    /// `x = function(x)`, value by value.
    fn apply(&self, rows: usize, function: Function, x: &mut Self::Buffer);

    /// `out += factor * x`.
    fn add_scaled(&self, rows: usize, x: &Self::Buffer, factor: f32, out: &mut Self::Buffer);

    /// `out *= function(gate)`, where a row of `gate` has one value per column of `out`, or a single one
    /// for all columns.
    fn gate(&self, rows: usize, function: Function, gate: &Self::Buffer, out: &mut Self::Buffer);

    /// Copies blocks of columns: block `b` of row `r` begins at value
    /// `r * row_len + start + b * step` of either buffer.
    fn copy_columns(
        &self,
        size: CopySize,
        x: (&Self::Buffer, ColumnBlocks),
        out: (&mut Self::Buffer, ColumnBlocks),
    );

    /// `out = norm(x)`, row by row.
    fn norm(
        &self,
        rows: usize,
        x: &Self::Buffer,
        norm: Norm<'_, Self::Buffer>,
        out: &mut Self::Buffer,
    );

    // Products.

    /// `out = x * weight^T (+ bias)`.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn linear<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, Self::Buffer>>,
        weight: &Self::Weight,
        bias: Option<&Self::Buffer>,
        out: &mut Self::Buffer,
    ) -> Result<(), BackendError>;

    /// `out += x * weight^T (+ bias)`: a projection back into the residual stream.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn linear_add(
        &self,
        rows: usize,
        x: &Self::Buffer,
        weight: &Self::Weight,
        bias: Option<&Self::Buffer>,
        out: &mut Self::Buffer,
    ) -> Result<(), BackendError>;

    /// `out = gate(x * gate^T (+ bias), x * up^T (+ bias))`.
    ///
    /// **Shapes**: `gate_up` was loaded from two parts, gate and up, each with one row per column of
    /// `out`; the bias holds that of gate, then that of up.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn linear_gated<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, Self::Buffer>>,
        gate_up: &Self::Weight,
        bias: Option<&Self::Buffer>,
        gate: Gate,
        out: &mut Self::Buffer,
    ) -> Result<(), BackendError>;

    // Attention.

    /// Normalizes and rotates the query and key heads, and normalizes the value heads, in place. Components beyond the rotated ones are
    /// not rotated.
    ///
    /// **Source**: Su et al., RoFormer, equation 34.
    fn rope(
        &self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, Self::Buffer>>,
        rotation: Option<Rotation<'_, Self::Buffer>>,
        qkv: &mut Self::Buffer,
    );

    /// Writes each row's keys and values to its slot of `layer`.
    fn store_kv(
        &self,
        batch: &Self::DeviceBatch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &Self::Buffer,
        cache: &mut Self::KvCache,
    );

    /// Computes causal attention of each row's query heads over its sequence's cached positions. Query
    /// head `h` reads key/value head `h / (num_heads / num_kv_heads)`.
    ///
    /// **Shapes**: `out` rows hold [`QkvLayout::out_len`] values.
    ///
    /// **Source**: Vaswani et al., equation 1; Ainslie et al., GQA; Kwon et al., PagedAttention; Xiao et
    /// al., Efficient Streaming Language Models with Attention Sinks.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn paged_attention(
        &self,
        batch: &Self::DeviceBatch,
        params: &AttentionParams<'_, Self::Buffer>,
        layout: &QkvLayout,
        qkv: &Self::Buffer,
        cache: &Self::KvCache,
        out: &mut Self::Buffer,
    ) -> Result<(), BackendError>;

    // Recurrent layers.

    /// Convolves each channel with the inputs of the last tokens, and stores those that later tokens need in
    /// each sequence's slot.
    ///
    /// Every sequence of the batch has a state.
    ///
    /// **Shapes**: `x` rows are those of a projection; `out` rows hold one value per channel.
    fn causal_conv(
        &self,
        batch: &Self::DeviceBatch,
        params: &ConvParams,
        weights: ConvWeights<'_, Self::Buffer>,
        x: &Self::Buffer,
        state: &mut Self::RecurrentState,
        out: &mut Self::Buffer,
    );

    /// Reads and writes the matrices of each sequence's slot, token by token.
    ///
    /// Every sequence of the batch has a state.
    ///
    /// **Shapes**: `out` rows hold `num_heads * value_dim` values.
    fn linear_attention(
        &self,
        batch: &Self::DeviceBatch,
        params: &LinearAttentionParams,
        weights: LinearAttentionWeights<'_, Self::Buffer>,
        rows: LinearAttentionRows<'_, Self::Buffer>,
        state: &mut Self::RecurrentState,
        out: &mut Self::Buffer,
    );

    /// Normalizes rows in parts of `extent` values and multiplies them by the SiLU of their gates, in either
    /// order.
    fn gated_norm(&self, rows: usize, norm: GatedNorm<'_, Self::Buffer>, x: &mut Self::Buffer);

    // Mixture of experts.

    /// Selects each row's `num_experts_used` most probable experts. `selection_bias` is added to the
    /// probabilities for the choice alone, not for the weights. Of equally probable experts, the one with
    /// the lower index is selected.
    ///
    /// **Source**: Shazeer et al., Outrageously Large Neural Networks, section 2.1, in Qwen3-MoE's
    /// order: softmax before selection; DeepSeek-AI, DeepSeek-V3 Technical Report, section 2.1.2.
    fn route_experts(
        &self,
        rows: usize,
        router_logits: &Self::Buffer,
        selection_bias: Option<&Self::Buffer>,
        params: &ExpertParams,
        routing: &mut Self::Routing,
    );

    /// Row `t * times + j` of `out` is row `t` of `x`, for each `j` below `times`.
    fn repeat_rows(&self, rows: usize, times: usize, x: &Self::Buffer, out: &mut Self::Buffer);

    /// Multiplies the weight of each selected expert by its value in `scales`, a row of one value per expert.
    fn scale_experts(&self, scales: &Self::Buffer, routing: &mut Self::Routing);

    /// Routes each row to every expert, in order, with weight 1: products with experts are then products with
    /// one matrix per head.
    ///
    /// **Panics** if the routing was not allocated for as many used experts as there are.
    fn route_to_all(&self, rows: usize, routing: &mut Self::Routing);

    /// Row `t * num_experts_used + j` of `out` is the product of the same row of `x` with the weight of
    /// token `t`'s `j`-th expert: the down projection. The bias has one row per expert.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn expert_linear(
        &self,
        routing: &Self::Routing,
        x: &Self::Buffer,
        weight: &Self::Weight,
        bias: Option<&Self::Buffer>,
        out: &mut Self::Buffer,
    ) -> Result<(), BackendError>;

    /// [`linear_gated`](Self::linear_gated) of each token's input with the weights of its experts; one
    /// row per slot, as in [`expert_linear`](Self::expert_linear).
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn expert_linear_gated(
        &self,
        routing: &Self::Routing,
        x: &Self::Buffer,
        gate_up: &Self::Weight,
        bias: Option<&Self::Buffer>,
        gate: Gate,
        out: &mut Self::Buffer,
    ) -> Result<(), BackendError>;

    /// `out[t] += sum over j of routing weight (t, j) * y[t * num_experts_used + j]`, in order
    /// of ascending j; without `accumulate`, `out` starts from zero.
    fn combine_experts(
        &self,
        rows: usize,
        routing: &Self::Routing,
        y: &Self::Buffer,
        accumulate: bool,
        out: &mut Self::Buffer,
    );
}
