//! Memory traffic and arithmetic per token, to compare measured speeds with.

use inferno_backend::{Backend, KvDType, QkvLayout};

use crate::{ModelError, ModelSpec, Requantize};

/// What the forward pass of one token reads and computes. Of a mixture of experts, only the experts
/// that the token uses count.
///
/// Norms, rotary embedding, activation functions and the row of the embedding table are neglected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCost {
    /// Matrix products of the decoder layers.
    pub layers: ProductCost,
    /// Matrix product of the output head, which only runs for logit rows.
    pub head: ProductCost,
    /// Keys and values of one position over all layers, in bytes.
    pub position_bytes: usize,
    /// Floating-point multiplications and additions with one position's keys and values, over all
    /// layers.
    pub position_ops: u64,
    /// Recurrent state that a token reads and writes, over all layers, in bytes.
    pub state_bytes: usize,
    /// Floating-point multiplications and additions with the recurrent state, over all layers.
    pub state_ops: u64,
    /// Maximum number of positions that a token attends to in each layer, including its own, in
    /// ascending order; `None` means all.
    pub windows: Vec<Option<usize>>,
}

/// What matrix products read and compute for one token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProductCost {
    /// Packed weights, in bytes.
    pub weight_bytes: usize,
    /// Integer multiplications and additions, with quantized weights.
    pub int8_ops: u64,
    /// Floating-point multiplications and additions, with float weights.
    pub f32_ops: u64,
}

impl TokenCost {
    /// Computes the cost on `backend`.
    ///
    /// **Errors**: a cache format that does not support the model's head size.
    pub fn estimate<B: Backend>(
        spec: &ModelSpec,
        backend: &B,
        requantize: Option<Requantize>,
        kv_dtype: KvDType,
    ) -> Result<Self, ModelError> {
        let (mut layers, mut head) = (ProductCost::default(), ProductCost::default());
        for vector in spec.vectors() {
            let bytes = vector.cols().saturating_mul(size_of::<f32>());
            layers.weight_bytes = layers.weight_bytes.saturating_add(bytes);
        }
        for usage in spec.matrices() {
            let cost = if usage.is_head { &mut head } else { &mut layers };
            let (matrix, num_experts) = (usage.matrix, usage.num_experts_used);
            let bytes = matrix.num_bytes(backend, num_experts, requantize);
            cost.weight_bytes = cost.weight_bytes.saturating_add(bytes);
            for (dtype, rows) in matrix.formats(requantize) {
                let ops = match dtype.is_float() {
                    true => &mut cost.f32_ops,
                    false => &mut cost.int8_ops,
                };
                let dims = [num_experts, rows, matrix.cols];
                let products = dims.into_iter().map(|dim| dim as u64).fold(2, u64::saturating_mul);
                *ops = ops.saturating_add(products);
            }
        }
        let layout = spec.kv_layout(0, kv_dtype);
        let mut windows: Vec<Option<usize>> = spec.windows().collect();
        windows.sort_unstable_by_key(|window| window.unwrap_or(usize::MAX));
        // Each component of a query is multiplied with one of a key, and each weight with a value.
        let head_ops =
            |heads: QkvLayout| 2 * heads.num_heads * (heads.head_dim + heads.value_dim());
        let position_ops = spec.attentions().map(|attention| head_ops(attention.heads) as u64);
        Ok(Self {
            layers,
            head,
            position_bytes: layout.block_bytes()? / layout.block_tokens,
            position_ops: position_ops.fold(0, u64::saturating_add),
            state_bytes: spec.state_layout(2).map_or(0, |layout| layout.total_bytes()),
            state_ops: spec.state_ops(),
            windows,
        })
    }

    /// Number of positions that a token at `position` attends to, averaged over the layers.
    pub fn attended(&self, position: usize) -> usize {
        let seen = position.saturating_add(1);
        let layers = self.windows.iter().map(|window| window.unwrap_or(seen).min(seen));
        layers.fold(0, usize::saturating_add) / self.windows.len().max(1)
    }
}
