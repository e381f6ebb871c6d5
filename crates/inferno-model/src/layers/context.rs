//! What every layer of a forward pass shares.

use inferno_backend::{Backend, LinearInput};

use super::norm::NormWeights;
use crate::rope::RotaryFrequencies;

/// The read-only arguments of a layer's forward pass.
pub(crate) struct ForwardContext<'a, B: Backend> {
    pub(crate) backend: &'a B,
    /// The rotary embeddings, in the order of their angles in the workspace.
    pub(crate) rotaries: &'a [RotaryFrequencies],
    /// Number of tokens in the batch.
    pub(crate) rows: usize,
}

impl<B: Backend> ForwardContext<'_, B> {
    /// The rows of `x` after `norm`, or as they are without one.
    pub(super) fn normed<'n>(
        &self,
        norm: Option<&'n NormWeights<B>>,
        x: &'n B::Buffer,
    ) -> LinearInput<'n, B::Buffer> {
        match norm {
            Some(norm) => LinearInput::Normed { x, norm: norm.norm() },
            None => LinearInput::Plain(x),
        }
    }
}
