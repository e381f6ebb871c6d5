//! What every layer of a forward pass shares.

use inferno_backend::Backend;

use crate::Config;
use crate::rope::RotaryFrequencies;

/// The read-only arguments of a layer's forward pass.
pub(crate) struct ForwardContext<'a, B: Backend> {
    pub(crate) backend: &'a B,
    pub(crate) config: &'a Config,
    pub(crate) rotary: &'a RotaryFrequencies,
    /// Number of tokens in the batch.
    pub(crate) rows: usize,
}
