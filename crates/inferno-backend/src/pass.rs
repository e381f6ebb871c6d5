//! The operations of a forward pass.

use crate::{
    AttentionParams, BackendError, CandidateShape, ColumnBlocks, ConvParams, ConvWeights, CopySize,
    DeviceMemory, EmbeddingIndex, ExpertInput, ExpertParams, Function, Gate, GatedNorm,
    LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, QkNorm,
    QkvLayout, Rope, Rotation, SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights,
};

/// A pass: operations on the memory `M` of a device, in order.
///
/// Every activation is a matrix of `f32` in a [`Buffer`](DeviceMemory::Buffer) with one row per token.
/// Operations accept the number of rows in use and leave the others unchanged. Outputs are allocated
/// by the caller. Operations that may allocate return an error if they cannot; their output is then
/// unspecified.
///
/// A row of any result depends only on its own inputs, never on other rows of the batch.
///
/// Shapes are validated when weights are loaded. Operations **panic** if a caller violates them,
/// which is an error in the program, not in its input.
pub trait Pass<M: DeviceMemory> {
    /// Completes the pass. A device that records operations starts them now; those of a pass that is dropped instead may
    /// never run. [`download`](DeviceMemory::download) then waits for their results.
    ///
    /// **Errors**: [`BackendError::Device`].
    fn submit(self) -> Result<(), BackendError>;

    /// Starts the operations so far, so that [`download`](DeviceMemory::download) waits for their results, and continues
    /// the pass. Backends that complete operations when they are issued have nothing to do.
    ///
    /// **Errors**: [`BackendError::Device`].
    fn flush(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    // Rows in and out.

    /// `out[t]` is the row of `table` that `index` selects for token `t`.
    fn embed(
        &mut self,
        batch: &M::DeviceBatch,
        index: EmbeddingIndex,
        table: &M::Table,
        out: &mut M::Buffer,
    );

    /// `out[i] = x[logit_rows[i]]`.
    fn gather_logit_rows(&mut self, batch: &M::DeviceBatch, x: &M::Buffer, out: &mut M::Buffer);

    /// Selects the largest logits of each row, and writes [`CandidateRows`](crate::CandidateRows) to `out`, which it
    /// allocates if it is empty or too small. A backend without this operation leaves `out` as it is.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn select_candidates(
        &mut self,
        _rows: usize,
        _shape: CandidateShape,
        _logits: &M::Buffer,
        _out: &mut Option<M::Buffer>,
    ) -> Result<(), BackendError> {
        Ok(())
    }

    // Single values and rows.

    /// `x = function(x)`, value by value.
    fn apply(&mut self, rows: usize, function: Function, x: &mut M::Buffer);

    /// `out += factor * x`.
    fn add_scaled(&mut self, rows: usize, x: &M::Buffer, factor: f32, out: &mut M::Buffer);

    /// `out *= function(gate)`, where a row of `gate` has one value per column of `out`, or a single one
    /// for all columns. A `gate` of one row applies to all rows.
    fn gate(&mut self, rows: usize, function: Function, gate: &M::Buffer, out: &mut M::Buffer);

    /// Adds combinations of blocks of `width` columns: block `i` of a row of `out` grows by the sum over `j`, in
    /// ascending order, of `factors[i * m + j]` times block `j` of the row of `x`, which has `m` blocks. `factors` has
    /// a row for each row of `out`, or one for all of them.
    fn add_combinations(
        &mut self,
        rows: usize,
        width: usize,
        factors: &M::Buffer,
        x: &M::Buffer,
        out: &mut M::Buffer,
    );

    /// Scales each block of the width of `x` in the rows of `out` so that the mean of its squares becomes that of the
    /// row of `x`. Its own mean counts as `minimum` if it is smaller.
    fn match_magnitude(&mut self, rows: usize, x: &M::Buffer, minimum: f32, out: &mut M::Buffer);

    /// Subtracts the mean of each row plus `num_deviations` of its standard deviations (of the population), and sets
    /// what is then negative to zero.
    ///
    /// **Source**: You et al., Spark Transformer: Reactivating Sparsity in FFN and Attention.
    fn sparsify(&mut self, rows: usize, num_deviations: f32, x: &mut M::Buffer);

    /// Copies blocks of columns: block `b` of row `r` begins at value
    /// `r * row_len + start + b * step` of either buffer.
    fn copy_columns(
        &mut self,
        size: CopySize,
        x: (&M::Buffer, ColumnBlocks),
        out: (&mut M::Buffer, ColumnBlocks),
    );

    /// `out = norm(x)`, row by row.
    fn norm(&mut self, rows: usize, x: &M::Buffer, norm: Norm<'_, M::Buffer>, out: &mut M::Buffer);

    // Products.

    /// `out = x * weight^T (+ bias)`.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn linear<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, M::Buffer>>,
        weight: &M::Weight,
        bias: Option<&M::Buffer>,
        out: &mut M::Buffer,
    ) -> Result<(), BackendError>;

    /// `out += x * weight^T (+ bias)`: a projection back into the residual stream.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn linear_add(
        &mut self,
        rows: usize,
        x: &M::Buffer,
        weight: &M::Weight,
        bias: Option<&M::Buffer>,
        out: &mut M::Buffer,
    ) -> Result<(), BackendError>;

    /// `out = gate(x * gate^T (+ bias), x * up^T (+ bias))`.
    ///
    /// **Shapes**: `gate_up` was loaded from two parts, gate and up, each with one row per column of
    /// `out`; the bias holds that of gate, then that of up.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn linear_gated<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, M::Buffer>>,
        gate_up: &M::Weight,
        bias: Option<&M::Buffer>,
        gate: Gate,
        out: &mut M::Buffer,
    ) -> Result<(), BackendError>;

    // Attention.

    /// Normalizes and rotates the query and key heads, and normalizes the value heads, in place. Components beyond the rotated ones are
    /// not rotated.
    ///
    /// **Source**: Su et al., RoFormer, equation 34.
    fn rope(
        &mut self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, M::Buffer>>,
        rotation: Option<Rotation<'_, M::Buffer>>,
        qkv: &mut M::Buffer,
    );

    /// Writes each row's keys and values to its slot of `layer`.
    fn store_kv(
        &mut self,
        batch: &M::DeviceBatch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &M::Buffer,
        cache: &mut M::KvCache,
    );

    /// [`rope`](Self::rope), then [`store_kv`](Self::store_kv) in layer `target.0` of cache `target.1`. The keys and
    /// values of `qkv` are unspecified afterwards.
    fn rope_and_store_kv(
        &mut self,
        rows: usize,
        batch: &M::DeviceBatch,
        layout: &QkvLayout,
        (norm, rotation): Rope<'_, M::Buffer>,
        qkv: &mut M::Buffer,
        target: (usize, &mut M::KvCache),
    ) {
        self.rope(rows, layout, norm, rotation, qkv);
        self.store_kv(batch, target.0, layout, qkv, target.1);
    }

    /// Computes attention of each row's query heads over the cached positions of its sequence that
    /// [`AttentionParams::mask`] selects: those before it, or those on both sides. Query head `h` reads key/value head
    /// `h / (num_heads / num_kv_heads)`.
    ///
    /// **Shapes**: `out` rows hold [`QkvLayout::out_len`] values.
    ///
    /// **Source**: Vaswani et al., equation 1; Ainslie et al., GQA; Kwon et al., PagedAttention; Xiao et
    /// al., Efficient Streaming Language Models with Attention Sinks.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn paged_attention(
        &mut self,
        batch: &M::DeviceBatch,
        params: &AttentionParams<'_, M::Buffer>,
        layout: &QkvLayout,
        qkv: &M::Buffer,
        cache: &M::KvCache,
        out: &mut M::Buffer,
    ) -> Result<(), BackendError>;

    // Recurrent layers.

    /// Convolves each channel with the inputs of the last tokens, and stores those that later tokens need in
    /// each sequence's slot.
    ///
    /// Every sequence of the batch has a state.
    ///
    /// **Shapes**: `x` rows are those of a projection; `out` rows hold one value per channel.
    fn causal_conv(
        &mut self,
        batch: &M::DeviceBatch,
        params: &ConvParams,
        weights: ConvWeights<'_, M::Buffer>,
        x: &M::Buffer,
        state: &mut M::RecurrentState,
        out: &mut M::Buffer,
    );

    /// Reads and writes the matrices of each sequence's slot, token by token.
    ///
    /// Every sequence of the batch has a state.
    ///
    /// **Shapes**: `out` rows hold `num_heads * value_dim` values.
    fn linear_attention(
        &mut self,
        batch: &M::DeviceBatch,
        params: &LinearAttentionParams,
        weights: LinearAttentionWeights<'_, M::Buffer>,
        rows: LinearAttentionRows<'_, M::Buffer>,
        state: &mut M::RecurrentState,
        out: &mut M::Buffer,
    );

    /// Reads and writes the states of each channel in each sequence's slot, token by token.
    ///
    /// Every sequence of the batch has a state.
    ///
    /// **Shapes**: `out` rows hold one value per channel.
    fn selective_scan(
        &mut self,
        batch: &M::DeviceBatch,
        params: &SelectiveScanParams,
        weights: SelectiveScanWeights<'_, M::Buffer>,
        rows: SelectiveScanRows<'_, M::Buffer>,
        state: &mut M::RecurrentState,
        out: &mut M::Buffer,
    );

    /// Normalizes rows in parts of `extent` values and multiplies them by a function of their gates, in either
    /// order.
    fn gated_norm(&mut self, rows: usize, norm: GatedNorm<'_, M::Buffer>, x: &mut M::Buffer);

    // Mixture of experts.

    /// Selects each row's `num_experts_used` most probable experts. `selection_bias` is added to the
    /// probabilities for the choice alone, not for the weights. Of equally probable experts, the one with
    /// the lower index is selected.
    ///
    /// **Source**: Shazeer et al., Outrageously Large Neural Networks, section 2.1, in Qwen3-MoE's
    /// order: softmax before selection; DeepSeek-AI, DeepSeek-V3 Technical Report, section 2.1.2.
    fn route_experts(
        &mut self,
        rows: usize,
        router_logits: &M::Buffer,
        selection_bias: Option<&M::Buffer>,
        params: &ExpertParams,
        routing: &mut M::Routing,
    );

    /// Row `t * times + j` of `out` is row `t` of `x`, for each `j` below `times`.
    fn repeat_rows(&mut self, rows: usize, times: usize, x: &M::Buffer, out: &mut M::Buffer);

    /// Applies the weights of the selected experts to their inputs instead of their outputs: row
    /// `t * num_experts_used + j` of `out` is the weight of token `t`'s `j`-th expert times row `t` of `x`, and that
    /// weight becomes 1.
    fn weigh_expert_inputs(
        &mut self,
        rows: usize,
        x: &M::Buffer,
        routing: &mut M::Routing,
        out: &mut M::Buffer,
    );

    /// Routes each row to every expert, in order, with weight 1: products with experts are then products with
    /// one matrix per head.
    ///
    /// **Panics** if the routing was not allocated for as many used experts as there are.
    fn route_to_all(&mut self, rows: usize, routing: &mut M::Routing);

    /// Row `t * num_experts_used + j` of `out` is the product of the same row of `x` with the weight of
    /// token `t`'s `j`-th expert: the down projection. The bias has one row per expert.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn expert_linear(
        &mut self,
        routing: &M::Routing,
        x: &M::Buffer,
        weight: &M::Weight,
        bias: Option<&M::Buffer>,
        out: &mut M::Buffer,
    ) -> Result<(), BackendError>;

    /// [`linear_gated`](Self::linear_gated) of the rows of `x`, one per token or per slot, with the weights of each
    /// token's experts; one row per slot, as in [`expert_linear`](Self::expert_linear).
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn expert_linear_gated(
        &mut self,
        routing: &M::Routing,
        x: (&M::Buffer, ExpertInput),
        gate_up: &M::Weight,
        bias: Option<&M::Buffer>,
        gate: Gate,
        out: &mut M::Buffer,
    ) -> Result<(), BackendError>;

    /// `out[t] += sum over j of routing weight (t, j) * y[t * num_experts_used + j]`, in order
    /// of ascending j; without `accumulate`, `out` starts from zero.
    fn combine_experts(
        &mut self,
        rows: usize,
        routing: &M::Routing,
        y: &M::Buffer,
        accumulate: bool,
        out: &mut M::Buffer,
    );
}
