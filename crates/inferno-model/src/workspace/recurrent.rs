//! The buffers of recurrent mixers.

use inferno_backend::{Backend, BackendError};

use super::{BatchLimits, BufferShape};
use crate::ModelSpec;
use crate::spec::layer::LayerSpec;
use crate::spec::recurrent::{LinearAttentionSpec, LowRankGatesSpec, ScanSpec, SelectiveScanSpec};

/// Additional buffers of recurrent mixers.
pub(crate) struct RecurrentBuffers<B: Backend> {
    pub(crate) projected: B::Buffer,
    pub(crate) convolved: B::Buffer,
    /// The output of the scan, if the mixers have one.
    pub(crate) scanned: Option<B::Buffer>,
    pub(crate) selection: Option<SelectionBuffers<B>>,
    pub(crate) low_rank_gates: Option<LowRankGateBuffers<B>>,
}

/// Additional buffers of steps and gates that are products of low rank.
pub(crate) struct LowRankGateBuffers<B: Backend> {
    /// Between the two products of either.
    pub(crate) compressed: B::Buffer,
    pub(crate) steps: B::Buffer,
    pub(crate) gates: B::Buffer,
}

/// Additional buffers of selective scans.
pub(crate) struct SelectionBuffers<B: Backend> {
    pub(crate) compressed_steps: B::Buffer,
    pub(crate) steps: B::Buffer,
    /// The factors for writing, then those for reading.
    pub(crate) factors: B::Buffer,
}

/// The shapes of [`RecurrentBuffers`].
pub(super) struct RecurrentBufferShapes {
    projected: BufferShape,
    convolved: BufferShape,
    scanned: Option<BufferShape>,
    /// Those of [`SelectionBuffers`], in order.
    selection: Option<[BufferShape; 3]>,
    /// Those of [`LowRankGateBuffers`], in order.
    low_rank_gates: Option<[BufferShape; 3]>,
}

impl RecurrentBufferShapes {
    pub(super) fn new(spec: &ModelSpec, limits: BatchLimits) -> Option<Self> {
        // All recurrent layers of a model have the same shape.
        let recurrent = spec.layers.iter().find_map(LayerSpec::recurrent)?;
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let scan = recurrent.scan.as_ref();
        Some(Self {
            projected: tokens(recurrent.input_width()),
            convolved: tokens(recurrent.conv.params.channels),
            scanned: scan.map(|scan| tokens(scan.width())),
            selection: match scan {
                Some(ScanSpec::Selective(SelectiveScanSpec { params, step_up, .. })) => {
                    Some([step_up.weight.cols, params.channels, 2 * params.state_size].map(tokens))
                }
                _ => None,
            },
            low_rank_gates: match scan {
                Some(ScanSpec::LinearAttention(LinearAttentionSpec {
                    low_rank_gates: Some(LowRankGatesSpec { steps, gates }),
                    ..
                })) => {
                    let widths = [&steps.up, &gates.up].map(|up| up.weight.num_rows());
                    Some([steps.up.weight.cols, widths[0], widths[1]].map(tokens))
                }
                _ => None,
            },
        })
    }

    pub(super) fn alloc<B: Backend>(
        self,
        backend: &B,
    ) -> Result<RecurrentBuffers<B>, BackendError> {
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        Ok(RecurrentBuffers {
            projected: alloc(self.projected)?,
            convolved: alloc(self.convolved)?,
            scanned: self.scanned.map(alloc).transpose()?,
            selection: match self.selection {
                Some([compressed_steps, steps, factors]) => Some(SelectionBuffers {
                    compressed_steps: alloc(compressed_steps)?,
                    steps: alloc(steps)?,
                    factors: alloc(factors)?,
                }),
                None => None,
            },
            low_rank_gates: match self.low_rank_gates {
                Some([compressed, steps, gates]) => Some(LowRankGateBuffers {
                    compressed: alloc(compressed)?,
                    steps: alloc(steps)?,
                    gates: alloc(gates)?,
                }),
                None => None,
            },
        })
    }

    /// The shape of every buffer.
    pub(super) fn all(&self) -> impl Iterator<Item = BufferShape> {
        let scans = self.selection.into_iter().chain(self.low_rank_gates).flatten();
        [self.projected, self.convolved].into_iter().chain(self.scanned).chain(scans)
    }
}
