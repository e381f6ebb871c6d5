//! How much memory a load would take, without loading.

use inferno_backend::{Backend, KvLayout};
use inferno_gguf::Gguf;

use crate::loader::dtype_of;
use crate::model::{EMBEDDINGS, OUTPUT_HEAD};
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
        let tied = checkpoint.tensor(OUTPUT_HEAD).is_none();
        let (mut weight_bytes, mut mapped_bytes) = (0, 0);
        for info in checkpoint.tensors() {
            if info.name() == EMBEDDINGS {
                mapped_bytes += info.num_bytes();
                if !tied {
                    continue;
                }
            }
            let dims = info.dims();
            let cols = dims.first().copied().unwrap_or(1);
            let rows = dims.get(1).copied().unwrap_or(1);
            let experts = dims.iter().skip(2).product();
            let dtype = dtype_of(info)?;
            let target = requantize.map_or(dtype, |choice| choice.target(dtype, cols));
            let bytes = match dims.len() {
                0 | 1 => cols * size_of::<f32>(),
                _ => backend.weight_bytes(target, experts, rows, cols),
            };
            weight_bytes = bytes.saturating_add(weight_bytes);
        }
        if checkpoint.is_in_memory() {
            // No machine holds a file in memory whose size is beyond its addresses.
            mapped_bytes = checkpoint.file_bytes() as usize;
        }
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
