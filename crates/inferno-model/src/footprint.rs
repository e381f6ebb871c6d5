//! Estimates the memory that a model needs, without loading it.

use inferno_backend::{Backend, KvLayout};
use inferno_gguf::Gguf;

use crate::packing::packed_tensors;
use crate::tensor_names::EMBEDDINGS;
use crate::workspace::{BatchLimits, Workspace};
use crate::{Config, ModelError, Requantize};

/// A memory estimate, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Packed weights.
    pub weight_bytes: usize,
    /// The KV cache, once every block has been written.
    pub kv_cache_bytes: usize,
    /// Activations, logits included.
    pub workspace_bytes: usize,
    /// Parts of the file that are read in place: the embedding table of a mapped file, whose pages
    /// the system can evict, or the whole of a file in memory, which is never released.
    pub mapped_bytes: usize,
}

impl Footprint {
    /// Estimates the memory of [`Model::load`](crate::Model::load), a cache and a workspace.
    ///
    /// **Errors**: a tensor in an unsupported format; a cache format that does not support the
    /// model's head size.
    pub fn estimate<B: Backend>(
        checkpoint: &Gguf,
        config: &Config,
        backend: &B,
        requantize: Option<Requantize>,
        kv_layout: &KvLayout,
        limits: BatchLimits,
    ) -> Result<Self, ModelError> {
        let mut weight_bytes = 0usize;
        for tensor in packed_tensors(checkpoint, requantize) {
            let tensor = tensor?;
            weight_bytes = weight_bytes.saturating_add(tensor.num_bytes(backend, tensor.experts));
        }
        let mapped_bytes = match checkpoint.is_in_memory() {
            // The size of a file in memory fits `usize`.
            true => checkpoint.file_bytes() as usize,
            false => checkpoint.tensor(EMBEDDINGS).map_or(0, |table| table.num_bytes()),
        };
        Ok(Self {
            weight_bytes,
            kv_cache_bytes: kv_layout.total_bytes()?,
            workspace_bytes: Workspace::<B>::num_floats(config, limits)
                .saturating_mul(size_of::<f32>()),
            mapped_bytes,
        })
    }

    /// The sum of all parts.
    pub fn total_bytes(&self) -> usize {
        [self.weight_bytes, self.kv_cache_bytes, self.workspace_bytes, self.mapped_bytes]
            .into_iter()
            .fold(0, usize::saturating_add)
    }
}
