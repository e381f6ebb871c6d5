//! Memory traffic and arithmetic per token, to compare measured speeds with.

use inferno_backend::{Backend, BackendError, KvDType};
use inferno_tensor::DType;

use crate::{ModelError, ModelSpec, Requantize};

/// What the forward pass of one token reads and computes. Of a mixture of experts, only the experts
/// that the token uses count; [`step_weight_bytes`](TokenCost::step_weight_bytes) counts those of several tokens.
///
/// Layers that are computed several times count as often.
///
/// Norms, rotary embedding, activation functions and the row of the embedding table are neglected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCost {
    /// Matrix products of the decoder layers.
    pub layers: ProductCost,
    /// Matrix product of the output head, which only runs for logit rows.
    pub head: ProductCost,
    /// The matrices of experts, which [`layers`](Self::layers) includes as far as a token uses them.
    pub experts: Vec<ExpertCost>,
    /// Attention of each layer that has some.
    pub attention: Vec<AttentionCost>,
    /// Recurrent state that a token reads and writes, over all layers, in bytes.
    pub state_bytes: usize,
    /// Floating-point multiplications and additions with the recurrent state, over all layers.
    pub state_ops: u64,
}

/// The weights of mixtures of experts of one size, over all layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertCost {
    /// Number of experts of a layer.
    pub num_experts: usize,
    /// Number of them that a token uses.
    pub num_experts_used: usize,
    /// Packed weights of one expert of each layer, in bytes.
    pub expert_bytes: usize,
}

impl ExpertCost {
    /// The number of experts of a layer that `num_tokens` tokens use on average, if each token uses every expert with
    /// the same probability.
    pub fn expected_num_used(&self, num_tokens: usize) -> f64 {
        let (num_experts, used) = (self.num_experts as f64, self.num_experts_used as f64);
        let unused = (1.0 - used / num_experts).powf(num_tokens as f64);
        num_experts * (1.0 - unused)
    }
}

/// What the attention of one layer reads and computes for each position that a token attends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionCost {
    /// Keys and values, in bytes.
    pub position_bytes: usize,
    /// Floating-point multiplications and additions.
    pub position_ops: u64,
    /// Maximum number of positions, including that of the token; `None` means all.
    pub window: Option<usize>,
}

impl AttentionCost {
    /// Number of positions that a token at `position` attends to.
    fn attended(&self, position: usize) -> usize {
        let seen = position.saturating_add(1);
        self.window.unwrap_or(seen).min(seen)
    }
}

/// What matrix products read and compute for one token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProductCost {
    /// Packed weights, in bytes.
    pub weight_bytes: usize,
    /// Integer multiplications and additions, with quantized weights.
    pub int8_ops: u64,
    /// Floating-point multiplications and additions, with weights of F16 and BF16.
    pub f16_ops: u64,
    /// Floating-point multiplications and additions, with other float weights.
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
        let mut experts = Vec::new();
        for vector in spec.vectors() {
            let bytes = vector.num_bytes(vector.rows);
            layers.weight_bytes = layers.weight_bytes.saturating_add(bytes);
        }
        for usage in spec.matrices() {
            let cost = if usage.is_head { &mut head } else { &mut layers };
            let (matrix, num_experts) = (usage.matrix, usage.num_experts_used);
            let bias_bytes = usage.bias.map_or(0, |bias| bias.num_bytes(num_experts));
            let bytes = matrix.num_bytes(backend, num_experts, requantize) + bias_bytes;
            cost.weight_bytes = cost.weight_bytes.saturating_add(bytes);
            if num_experts < matrix.num_experts {
                add_experts(&mut experts, matrix.num_experts, num_experts, bytes / num_experts);
            }
            for (dtype, rows) in matrix.formats(requantize) {
                let ops = match dtype {
                    DType::F16 | DType::BF16 => &mut cost.f16_ops,
                    _ if dtype.is_float() => &mut cost.f32_ops,
                    _ => &mut cost.int8_ops,
                };
                let dims = [num_experts, rows, matrix.cols];
                let products = dims.into_iter().map(|dim| dim as u64).fold(2, u64::saturating_mul);
                *ops = ops.saturating_add(products);
            }
        }
        let layout = spec.kv_layout(0, kv_dtype);
        let loops = spec.loops.count;
        layers.weight_bytes = layers.weight_bytes.saturating_mul(loops);
        for ops in [&mut layers.int8_ops, &mut layers.f16_ops, &mut layers.f32_ops] {
            *ops = ops.saturating_mul(loops as u64);
        }
        for experts in &mut experts {
            experts.expert_bytes = experts.expert_bytes.saturating_mul(loops);
        }
        let attention = spec.attentions().map(|attention| {
            let heads = attention.heads;
            // Each component of a query is multiplied with one of a key, and each weight with a value.
            let head_ops = 2 * (heads.head_dim + heads.value_dim()) as u64;
            Ok(AttentionCost {
                position_bytes: heads.kv_layer().position_bytes(layout.dtype)?,
                position_ops: heads.num_heads as u64 * head_ops,
                window: attention.mask.max_len(),
            })
        });
        Ok(Self {
            layers,
            head,
            experts,
            attention: attention.collect::<Result<Vec<_>, BackendError>>()?.repeat(loops),
            state_bytes: spec.state_layout(2).map_or(0, |layout| layout.total_bytes()),
            state_ops: spec.state_ops(),
        })
    }

    /// Weights that a step of `num_tokens` sequences reads, in bytes: each matrix once, and the
    /// [expected number](ExpertCost::expected_num_used) of experts.
    pub fn step_weight_bytes(&self, num_tokens: usize) -> u64 {
        let of_one = self.layers.weight_bytes.saturating_add(self.head.weight_bytes) as u64;
        let more = self.experts.iter().map(|experts| {
            let num_more = experts.expected_num_used(num_tokens) - experts.num_experts_used as f64;
            (num_more.max(0.0) * experts.expert_bytes as f64) as u64
        });
        more.fold(of_one, u64::saturating_add)
    }

    /// Keys and values that a token at `position` reads, over all layers, in bytes.
    pub fn kv_bytes(&self, position: usize) -> u64 {
        let layers = self.attention.iter();
        let bytes = layers.map(|it| it.position_bytes.saturating_mul(it.attended(position)) as u64);
        bytes.fold(0, u64::saturating_add)
    }

    /// Floating-point multiplications and additions of a token at `position` with keys and values, over all layers.
    pub fn attention_ops(&self, position: usize) -> u64 {
        let layers = self.attention.iter();
        let ops = layers.map(|it| it.position_ops.saturating_mul(it.attended(position) as u64));
        ops.fold(0, u64::saturating_add)
    }
}

/// Adds the weights of an expert of one layer to those of mixtures of the same size.
fn add_experts(
    experts: &mut Vec<ExpertCost>,
    num_experts: usize,
    num_experts_used: usize,
    bytes: usize,
) {
    let size = (num_experts, num_experts_used);
    let is_equal = |it: &&mut ExpertCost| (it.num_experts, it.num_experts_used) == size;
    match experts.iter_mut().find(is_equal) {
        Some(cost) => cost.expert_bytes = cost.expert_bytes.saturating_add(bytes),
        None => experts.push(ExpertCost { num_experts, num_experts_used, expert_bytes: bytes }),
    }
}
