//! Additional buffers of mixtures of experts.

use std::sync::Arc;

use inferno_backend::{Backend, ExpertParams};

use super::{BatchLimits, BufferShape};
use crate::layers::{ExpertExecutor, ExpertLayers};
use crate::spec::feed_forward::ExpertsSpec;
use crate::spec::layer::LayerSpec;
use crate::{ModelError, ModelSpec};

/// Additional buffers of a mixture of experts.
pub(crate) struct ExpertBuffers<B: Backend> {
    /// For the experts that tokens choose from, if some are on the device.
    pub(crate) routed: Option<RoutedBuffers<B>>,
    /// For those on another device.
    pub(crate) separate: Option<SeparateBuffers<B>>,
    /// Gates of the shared expert.
    pub(crate) shared_gates: Option<B::Buffer>,
    /// The sum of a dense block and of experts next to it.
    pub(crate) sum: Option<B::Buffer>,
}

/// Buffers of the experts that tokens choose from.
pub(crate) struct RoutedBuffers<B: Backend> {
    pub(crate) router_logits: B::Buffer,
    pub(crate) routing: B::Routing,
    /// Inputs of the experts' down projections.
    pub(crate) hidden: B::Buffer,
    pub(crate) out: B::Buffer,
    /// Rows of the width that experts read and write, if it is not that of the residual stream.
    pub(crate) projected: Option<B::Buffer>,
}

/// What the exchange with experts on another device needs.
pub(crate) struct SeparateBuffers<B: Backend> {
    pub(crate) executor: Box<dyn ExpertExecutor>,
    /// Memory for rows that the host cannot read on the device.
    pub(crate) staging: Vec<f32>,
    /// The weighted sums of the experts' outputs.
    pub(crate) combined: B::Buffer,
    /// Number of values of a row.
    pub(crate) row_len: usize,
}

pub(super) struct ExpertBufferShapes {
    routed: Option<RoutedBufferShapes>,
    /// Of the rows that are exchanged with another device.
    separate: Option<BufferShape>,
    shared_gates: Option<BufferShape>,
    sum: Option<BufferShape>,
}

struct RoutedBufferShapes {
    params: ExpertParams,
    router_logits: BufferShape,
    hidden: BufferShape,
    out: BufferShape,
    projected: Option<BufferShape>,
}

impl ExpertBufferShapes {
    pub(super) fn new(spec: &ModelSpec, limits: BatchLimits) -> Option<Self> {
        let mixtures = || spec.layers.iter().filter_map(LayerSpec::experts);
        // All mixtures of a model have the same shape.
        let experts = mixtures().next()?;
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let is_separate = |experts: &ExpertsSpec| experts.separate_layer.is_some();
        Some(Self {
            routed: (!mixtures().all(is_separate))
                .then(|| RoutedBufferShapes::new(experts, spec.hidden_size, limits)),
            separate: mixtures().any(is_separate).then(|| tokens(spec.hidden_size)),
            shared_gates: spec.layers.iter().any(LayerSpec::has_shared_gate).then(|| tokens(1)),
            sum: experts.beside_dense.as_ref().map(|_| tokens(spec.hidden_size)),
        })
    }

    /// All buffers on the device.
    pub(super) fn all(&self) -> impl Iterator<Item = BufferShape> {
        let routed = self.routed.iter().flat_map(|shapes| {
            let RoutedBufferShapes { router_logits, hidden, out, projected, .. } = *shapes;
            [router_logits, hidden, out].into_iter().chain(projected)
        });
        routed.chain(self.separate).chain(self.shared_gates).chain(self.sum)
    }

    /// **Errors**: out of memory.
    pub(super) fn alloc<B: Backend>(
        &self,
        backend: &B,
        limits: BatchLimits,
        separate_experts: Option<&Arc<dyn ExpertLayers>>,
    ) -> Result<ExpertBuffers<B>, ModelError> {
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        let separate = match (self.separate, separate_experts) {
            (Some(shape), Some(layers)) => Some(SeparateBuffers {
                executor: Arc::clone(layers).executor(limits)?,
                staging: Vec::new(),
                combined: alloc(shape)?,
                row_len: shape.cols,
            }),
            _ => None,
        };
        Ok(ExpertBuffers {
            routed: self.routed.as_ref().map(|shapes| shapes.alloc(backend, limits)).transpose()?,
            separate,
            shared_gates: self.shared_gates.map(alloc).transpose()?,
            sum: self.sum.map(alloc).transpose()?,
        })
    }
}

impl RoutedBufferShapes {
    fn new(experts: &ExpertsSpec, hidden_size: usize, limits: BatchLimits) -> Self {
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let slots = limits.max_num_tokens.saturating_mul(experts.params.num_experts_used);
        let width = experts.projections.as_ref().map(|projections| projections.width());
        Self {
            params: experts.params,
            router_logits: tokens(experts.params.num_experts),
            hidden: BufferShape { rows: slots, cols: experts.intermediate_size },
            out: BufferShape { rows: slots, cols: width.unwrap_or(hidden_size) },
            projected: width.map(tokens),
        }
    }

    fn alloc<B: Backend>(
        &self,
        backend: &B,
        limits: BatchLimits,
    ) -> Result<RoutedBuffers<B>, ModelError> {
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        Ok(RoutedBuffers {
            router_logits: alloc(self.router_logits)?,
            routing: backend.alloc_routing(limits.max_num_tokens, &self.params)?,
            hidden: alloc(self.hidden)?,
            out: alloc(self.out)?,
            projected: self.projected.map(alloc).transpose()?,
        })
    }
}
