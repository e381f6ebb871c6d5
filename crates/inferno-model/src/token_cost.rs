//! What one token takes of the machine: the figures that a measured speed is compared with.

use inferno_backend::{Backend, KvDType};
use inferno_gguf::Gguf;

use crate::config::FeedForwardConfig;
use crate::packing::packed_tensors;
use crate::{Config, ModelError, Requantize};

/// What the forward pass of one token reads and computes; of a mixture of experts only those that it goes to.
///
/// Small things are left out: norms, rotary embedding, activation functions, the row of the embedding table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCost {
    /// The decoder layers' products with weights.
    pub layers: ProductCost,
    /// The output head's, which runs only where logits are wanted.
    pub head: ProductCost,
    /// Bytes of keys and values of one position, over all layers.
    pub position_bytes: usize,
    /// Multiplications and additions in floating-point with one position's keys and values, over all layers.
    pub position_ops: u64,
    /// Positions before it that a token attends to at most, itself included; `None` means all.
    pub window: Option<usize>,
}

/// What products with weights read and compute for one token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProductCost {
    /// Bytes of packed weights.
    pub weight_bytes: usize,
    /// Multiplications and additions with quantized weights, in integers.
    pub int8_ops: u64,
    /// Multiplications and additions with floating-point weights.
    pub f32_ops: u64,
}

impl TokenCost {
    /// The cost on `backend`, as far as the header of the file shows it.
    ///
    /// **Errors**: a tensor in a format that cannot be computed; a cache format that does not fit the model's heads.
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
        // A query takes one product with a key and one with a value, for each of its components.
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
