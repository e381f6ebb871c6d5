//! What a model remembers of its sequences.

use inferno_backend::{Backend, BackendError, KvLayout};

/// The memory of sequences on a device: keys and values of attention layers.
pub struct ModelCache<B: Backend> {
    /// The paged keys and values.
    pub kv: B::KvCache,
}

impl<B: Backend> ModelCache<B> {
    /// Allocates a cache.
    ///
    /// **Errors**: a format that does not support the model's head size; out of memory.
    pub fn new(backend: &B, kv_layout: &KvLayout) -> Result<Self, BackendError> {
        Ok(Self { kv: backend.alloc_kv_cache(kv_layout)? })
    }
}
