//! Additional buffers of attention whose heads have one gate each.

use inferno_backend::{Backend, BackendError};

use super::{BatchLimits, BufferShape};
use crate::ModelSpec;
use crate::spec::layer::AttentionSpec;

/// Outputs of heads and their gates, one head per row.
pub(crate) struct HeadGateBuffers<B: Backend> {
    pub(crate) rows: B::Buffer,
    pub(crate) gates: B::Buffer,
}

pub(super) struct HeadGateBufferShapes {
    rows: BufferShape,
    gates: BufferShape,
}

impl HeadGateBufferShapes {
    pub(super) fn new(spec: &ModelSpec, limits: BatchLimits) -> Option<Self> {
        let is_gated = |attention: &&AttentionSpec| {
            attention.gate.as_ref().is_some_and(|gate| gate.is_per_head)
        };
        // All heads of a model with such gates have the same size.
        let heads = || spec.attentions().filter(is_gated).map(|attention| &attention.heads);
        let num_heads = heads().map(|heads| heads.num_heads).max()?;
        let cols = heads().map(|heads| heads.value_dim()).max()?;
        let rows = limits.max_num_tokens.saturating_mul(num_heads);
        Some(Self { rows: BufferShape { rows, cols }, gates: BufferShape { rows, cols: 1 } })
    }

    pub(super) fn all(&self) -> [BufferShape; 2] {
        [self.rows, self.gates]
    }

    /// **Errors**: out of memory.
    pub(super) fn alloc<B: Backend>(self, backend: &B) -> Result<HeadGateBuffers<B>, BackendError> {
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        Ok(HeadGateBuffers { rows: alloc(self.rows)?, gates: alloc(self.gates)? })
    }
}
