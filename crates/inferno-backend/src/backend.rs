//! The operations that a device implements.

use crate::{
    AttentionParams, BackendError, ColumnBlocks, ConvParams, ConvWeights, CopySize, DeviceMemory,
    EmbeddingIndex, ExpertInput, ExpertParams, Function, Gate, GatedNorm, LinearAttentionParams,
    LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, QkNorm, QkvLayout, Rotation,
    SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights,
};

/// A device that can run decoder-only transformers.
///
/// Every activation is a matrix of `f32` in a [`Buffer`](DeviceMemory::Buffer) with one row per token.
/// Operations accept the number of rows in use and leave the others unchanged. Outputs are allocated
/// by the caller. The host reads an activation only through [`download`](DeviceMemory::download).
///
/// [`DeviceMemory`] allocates what operations read and write. A backend keeps its scratch memory, so that a pass
/// allocates nothing unless it is larger than those before it. Operations that may allocate return an error if they
/// cannot; their output is then unspecified.
///
/// A row of any result depends only on its own inputs, never on other rows of the batch.
///
/// Shapes are validated when weights are loaded. Operations **panic** if a caller violates them,
/// which is an error in the program, not in its input.
pub trait Backend: DeviceMemory {
    /// A human-readable description of the device and its settings: `cpu (avx2, 2 threads)`.
    fn describe(&self) -> String;

    // Rows in and out.

    /// `out[t]` is the row of `table` that `index` selects for token `t`.
    fn embed(
        &self,
        batch: &Self::DeviceBatch,
        index: EmbeddingIndex,
        table: &Self::Table,
        out: &mut Self::Buffer,
    );

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
    /// for all columns. A `gate` of one row applies to all rows.
    fn gate(&self, rows: usize, function: Function, gate: &Self::Buffer, out: &mut Self::Buffer);

    /// Adds combinations of blocks of `width` columns: block `i` of a row of `out` grows by the sum over `j`, in
    /// ascending order, of `factors[i * m + j]` times block `j` of the row of `x`, which has `m` blocks. `factors` has
    /// a row for each row of `out`, or one for all of them.
    fn add_combinations(
        &self,
        rows: usize,
        width: usize,
        factors: &Self::Buffer,
        x: &Self::Buffer,
        out: &mut Self::Buffer,
    );

    /// Scales each block of the width of `x` in the rows of `out` so that the mean of its squares becomes that of the
    /// row of `x`. Its own mean counts as `minimum` if it is smaller.
    fn match_magnitude(&self, rows: usize, x: &Self::Buffer, minimum: f32, out: &mut Self::Buffer);

    /// Subtracts the mean of each row plus `num_deviations` of its standard deviations (of the population), and sets
    /// what is then negative to zero.
    ///
    /// **Source**: You et al., Spark Transformer: Reactivating Sparsity in FFN and Attention.
    fn sparsify(&self, rows: usize, num_deviations: f32, x: &mut Self::Buffer);

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

    /// Reads and writes the states of each channel in each sequence's slot, token by token.
    ///
    /// Every sequence of the batch has a state.
    ///
    /// **Shapes**: `out` rows hold one value per channel.
    fn selective_scan(
        &self,
        batch: &Self::DeviceBatch,
        params: &SelectiveScanParams,
        weights: SelectiveScanWeights<'_, Self::Buffer>,
        rows: SelectiveScanRows<'_, Self::Buffer>,
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

    /// Applies the weights of the selected experts to their inputs instead of their outputs: row
    /// `t * num_experts_used + j` of `out` is the weight of token `t`'s `j`-th expert times row `t` of `x`, and that
    /// weight becomes 1.
    fn weigh_expert_inputs(
        &self,
        rows: usize,
        x: &Self::Buffer,
        routing: &mut Self::Routing,
        out: &mut Self::Buffer,
    );

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

    /// [`linear_gated`](Self::linear_gated) of the rows of `x`, one per token or per slot, with the weights of each
    /// token's experts; one row per slot, as in [`expert_linear`](Self::expert_linear).
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    fn expert_linear_gated(
        &self,
        routing: &Self::Routing,
        x: (&Self::Buffer, ExpertInput),
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
