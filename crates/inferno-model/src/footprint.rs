//! How much memory a load would take, without loading.

use inferno_backend::{Backend, KvLayout};
use inferno_gguf::Gguf;

use crate::model::EMBEDDINGS;
use crate::packing::packed_tensors;
use crate::workspace::{BatchLimits, Workspace};
use crate::{Config, ModelError, Requantize};

/// An estimate of memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Packed weights.
    pub weight_bytes: usize,
    /// The KV cache when every block has been written.
    pub kv_cache_bytes: usize,
    /// Activations, logits included.
    pub workspace_bytes: usize,
    /// Rows that are read where they lie in the mapped file, whose pages the system can drop again; the
    /// whole file where that is in memory, since none of it is given back.
    pub mapped_bytes: usize,
}

impl Footprint {
    /// What [`Model::load`](crate::Model::load), a cache and a workspace would take.
    ///
    /// **Errors**: a tensor in a format that cannot be computed; a cache format that does not fit
    /// the model's heads.
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
            // No machine holds a file in memory whose size is beyond its addresses.
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

    /// Everything together.
    pub fn total_bytes(&self) -> usize {
        [self.weight_bytes, self.kv_cache_bytes, self.workspace_bytes, self.mapped_bytes]
            .into_iter()
            .fold(0, usize::saturating_add)
    }
}
