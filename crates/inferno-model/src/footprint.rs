//! Estimates the memory that a model needs, without loading it.

use inferno_backend::{Backend, PassShape, ProductShape, StateLayout};
use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::quant::Int8Row;

use crate::workspace::{BatchLimits, Workspace};
use crate::{CacheLayout, ModelError, ModelSpec, Requantize};

/// A memory estimate, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Packed weights.
    pub weight_bytes: usize,
    /// The KV cache, once every block has been written.
    pub kv_cache_bytes: usize,
    /// The state of recurrent layers, once every slot has been written: that of each sequence, those before drafts, and
    /// checkpoints.
    pub state_bytes: usize,
    /// Activations, logits and the backend's scratch memory.
    pub workspace_bytes: usize,
    /// Parts of the file that are read in place: the embedding tables of a mapped file, whose pages
    /// the system can evict, or the whole of a file in memory, which is never released.
    pub mapped_bytes: usize,
}

impl Footprint {
    /// Estimates the memory of [`Model::load`](crate::Model::load), a cache and a workspace.
    ///
    /// **Errors**: a cache format that does not support the model's head size.
    pub fn estimate<B: Backend>(
        checkpoint: &Gguf,
        spec: &ModelSpec,
        backend: &B,
        requantize: Option<Requantize>,
        cache: &CacheLayout,
        limits: BatchLimits,
    ) -> Result<Self, ModelError> {
        let biases = spec.matrices().filter_map(|usage| usage.bias);
        let vectors = spec.vectors().chain(biases).map(|vector| vector.num_bytes(vector.rows));
        let mut weight_bytes = vectors.fold(0, usize::saturating_add);
        let mut pass = PassShape {
            max_num_tokens: limits.max_num_tokens,
            attention: spec.attentions().map(|attention| attention.heads).collect(),
            kv_dtype: cache.kv.dtype,
            products: Vec::new(),
            max_num_logit_rows: if spec.has_logits() { limits.max_num_logit_rows } else { 0 },
            vocab_size: spec.vocab_size,
        };
        for usage in spec.matrices() {
            let (matrix, num_experts) = (usage.matrix, usage.matrix.num_experts);
            let bytes = matrix.num_bytes(backend, num_experts, requantize);
            if !(usage.is_head && spec.shares_head()) {
                weight_bytes = weight_bytes.saturating_add(bytes);
            }
            let max_num_rows = match usage.is_head {
                true => limits.max_num_logit_rows,
                false => limits.max_num_tokens.saturating_mul(usage.num_experts_used),
            };
            pass.products.extend(matrix.formats(requantize).map(|(dtype, _)| ProductShape {
                dtype,
                cols: matrix.cols,
                max_num_rows,
                num_experts,
            }));
        }
        let for_tables = requantize.and_then(Requantize::for_tables);
        let (in_place, converted): (Vec<_>, Vec<_>) =
            spec.tables().partition(|(table, cols)| table.is_in_place(for_tables, *cols));
        let mapped_bytes = match checkpoint.is_in_memory() {
            // The size of a file in memory fits `usize`.
            true => checkpoint.file_bytes() as usize,
            false => in_place
                .iter()
                .filter_map(|(table, _)| checkpoint.tensor(&table.name))
                .map(TensorInfo::num_bytes)
                .fold(0, usize::saturating_add),
        };
        let converted = converted.iter().map(|(table, cols)| {
            table.num_rows().saturating_mul(cols.saturating_add(Int8Row::SCALE_BYTES))
        });
        let weight_bytes = converted.fold(weight_bytes, usize::saturating_add);
        Ok(Self {
            weight_bytes,
            kv_cache_bytes: cache.kv.total_bytes()?,
            state_bytes: cache.state.as_ref().map_or(0, StateLayout::total_bytes),
            workspace_bytes: Workspace::<B>::num_floats(spec, limits)
                .saturating_mul(size_of::<f32>())
                .saturating_add(backend.scratch_bytes(&pass)),
            mapped_bytes,
        })
    }

    /// The sum of two estimates.
    pub fn plus(self, other: Self) -> Self {
        Self {
            weight_bytes: self.weight_bytes.saturating_add(other.weight_bytes),
            kv_cache_bytes: self.kv_cache_bytes.saturating_add(other.kv_cache_bytes),
            state_bytes: self.state_bytes.saturating_add(other.state_bytes),
            workspace_bytes: self.workspace_bytes.saturating_add(other.workspace_bytes),
            mapped_bytes: self.mapped_bytes.saturating_add(other.mapped_bytes),
        }
    }

    /// The sum of what is on the device that computes; tables for lookups may stay in main memory.
    pub fn device_bytes(&self) -> usize {
        Self { mapped_bytes: 0, ..*self }.total_bytes()
    }

    /// The sum of all parts.
    pub fn total_bytes(&self) -> usize {
        let Self { weight_bytes, kv_cache_bytes, state_bytes, workspace_bytes, mapped_bytes } =
            *self;
        [weight_bytes, kv_cache_bytes, state_bytes, workspace_bytes, mapped_bytes]
            .into_iter()
            .fold(0, usize::saturating_add)
    }
}
