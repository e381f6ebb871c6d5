//! Memory traffic and arithmetic per token, to compare measured speeds with.

use inferno_backend::{Backend, KvDType};
use inferno_gguf::Gguf;

use crate::config::FeedForwardConfig;
use crate::packing::packed_tensors;
use crate::{Config, ModelError, Requantize};

/// What the forward pass of one token reads and computes. Of a mixture of experts, only the experts
/// that the token uses count.
///
/// Norms, rotary embedding, activation functions and the row of the embedding table are neglected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Maximum number of positions that a token attends to, including its own; `None` means all.
    pub window: Option<usize>,
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
    /// Computes the cost on `backend` from the file's header.
    ///
    /// **Errors**: a tensor in an unsupported format; a cache format that does not support the
    /// model's head size.
    pub fn estimate<B: Backend>(
        checkpoint: &Gguf,
        config: &Config,
        backend: &B,
        requantize: Option<Requantize>,
        kv_dtype: KvDType,
    ) -> Result<Self, ModelError> {
        let num_experts_used = match config.feed_forward {
            FeedForwardConfig::Dense { .. } => 1,
            FeedForwardConfig::Experts { params, .. } => params.num_experts_used,
        };
        let (mut layers, mut head) = (ProductCost::default(), ProductCost::default());
        for tensor in packed_tensors(checkpoint, requantize) {
            let tensor = tensor?;
            let experts = tensor.experts.min(num_experts_used);
            let cost = if tensor.is_head { &mut head } else { &mut layers };
            cost.weight_bytes =
                cost.weight_bytes.saturating_add(tensor.num_bytes(backend, experts));
            if tensor.is_matrix {
                let ops = match tensor.dtype.is_float() {
                    true => &mut cost.f32_ops,
                    false => &mut cost.int8_ops,
                };
                let dims = [experts, tensor.rows, tensor.cols];
                let products = dims.into_iter().map(|dim| dim as u64).fold(2, u64::saturating_mul);
                *ops = ops.saturating_add(products);
            }
        }
        let layout = config.kv_layout(0, kv_dtype);
        // Each component of a query is multiplied with one of a key and one of a value.
        let dims = [config.num_layers, config.qkv.num_heads, config.qkv.head_dim];
        Ok(Self {
            layers,
            head,
            position_bytes: layout.block_bytes()? / layout.block_tokens,
            position_ops: dims.into_iter().map(|dim| dim as u64).fold(4, u64::saturating_mul),
            window: config.sliding_window,
        })
    }
}
