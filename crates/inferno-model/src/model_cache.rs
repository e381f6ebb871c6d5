//! What a model remembers of its sequences.

use inferno_backend::{Backend, BackendError, KvLayout, StateLayout};

/// The memory of sequences on a device: keys and values of attention layers, and the state of recurrent ones.
pub struct ModelCache<B: Backend> {
    /// The paged keys and values.
    pub kv: B::KvCache,
    /// The slots of recurrent layers, if the model has any.
    pub state: Option<B::RecurrentState>,
}

impl<B: Backend> ModelCache<B> {
    /// Allocates a cache.
    ///
    /// **Errors**: a format that does not support the model's head size; out of memory.
    pub fn new(
        backend: &B,
        kv_layout: &KvLayout,
        state_layout: Option<&StateLayout>,
    ) -> Result<Self, BackendError> {
        Ok(Self {
            kv: backend.alloc_kv_cache(kv_layout)?,
            state: state_layout.map(|layout| backend.alloc_state(layout)).transpose()?,
        })
    }
}
