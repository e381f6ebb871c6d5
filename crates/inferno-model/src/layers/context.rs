//! What every layer of a forward pass shares.

use inferno_backend::Backend;

use crate::rope::RotaryFrequencies;

/// The pass in progress, and what it needs besides weights and buffers.
pub(crate) struct ForwardContext<'a, B: Backend> {
    pub(crate) pass: B::Pass<'a>,
    /// The device that computes.
    pub(crate) backend: &'a B,
    /// The rotary embeddings, in the order of their angles in the workspace.
    pub(crate) rotaries: &'a [RotaryFrequencies],
    /// The number of the layer in the KV cache that the first layer with attention writes.
    pub(crate) first_cache_layer: usize,
    /// Number of tokens in the batch.
    pub(crate) rows: usize,
}
