//! The layers of a model as data: what each computes, and with which tensors.

use inferno_backend::{ExpertParams, Function, Gate, NormKind, QkvLayout};

use super::tensors::{LinearSpec, MatrixSpec, VectorSpec};

/// One decoder layer: a mixer and a feed-forward block, each added to the residual stream.
#[derive(Debug, Clone)]
pub(crate) struct LayerSpec {
    pub(crate) attention: BlockSpec<AttentionSpec>,
    pub(crate) feed_forward: BlockSpec<FeedForwardSpec>,
    /// Whether both blocks read the residual stream before either is added to it.
    pub(crate) is_parallel: bool,
}

/// A block of a layer, between the norms of its input and of its output.
#[derive(Debug, Clone)]
pub(crate) struct BlockSpec<T> {
    pub(crate) norm: Option<NormSpec>,
    pub(crate) block: T,
    pub(crate) post_norm: Option<NormSpec>,
    /// Factor on the output.
    pub(crate) residual_scale: f32,
}

impl<T> BlockSpec<T> {
    fn has_branch(&self) -> bool {
        self.post_norm.is_some() || self.residual_scale != 1.0
    }
}

/// A norm of the residual stream or of a block's output.
#[derive(Debug, Clone)]
pub(crate) struct NormSpec {
    pub(crate) kind: NormKind,
    pub(crate) eps: f32,
    pub(crate) weight: VectorSpec,
    pub(crate) bias: Option<VectorSpec>,
}

/// Grouped-query attention.
#[derive(Debug, Clone)]
pub(crate) struct AttentionSpec {
    pub(crate) heads: QkvLayout,
    /// Index of the layer in the KV cache.
    pub(crate) cache_layer: usize,
    pub(crate) scale: f32,
    pub(crate) softcap: Option<f32>,
    /// Number of positions that a query attends to, including its own; `None` means all.
    pub(crate) window: Option<usize>,
    /// Index of the rotary embedding in [`ModelSpec::rotaries`](super::ModelSpec::rotaries).
    pub(crate) rotary: Option<usize>,
    pub(crate) qk_norm: Option<QkNormSpec>,
    pub(crate) qkv: LinearSpec,
    pub(crate) output: LinearSpec,
    /// A score for each query head, of a position without a value.
    pub(crate) sinks: Option<VectorSpec>,
    /// A product whose sigmoid the output of the heads is multiplied by.
    pub(crate) gate: Option<LinearSpec>,
}

/// Norms of query and key heads; see [`inferno_backend::QkNorm`].
#[derive(Debug, Clone)]
pub(crate) struct QkNormSpec {
    pub(crate) kind: NormKind,
    pub(crate) eps: f32,
    pub(crate) whole: bool,
    pub(crate) after_rotation: bool,
    pub(crate) q: VectorSpec,
    pub(crate) k: VectorSpec,
}

/// The feed-forward block.
#[derive(Debug, Clone)]
pub(crate) enum FeedForwardSpec {
    Dense(MlpSpec),
    Experts(Box<ExpertsSpec>),
}

/// A dense feed-forward block.
#[derive(Debug, Clone)]
pub(crate) struct MlpSpec {
    pub(crate) activation: ActivationSpec,
    /// Width between the projections.
    pub(crate) intermediate_size: usize,
    /// Gate and up projection, or only the latter.
    pub(crate) up: LinearSpec,
    pub(crate) down: LinearSpec,
}

/// What a feed-forward block computes between its projections.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ActivationSpec {
    /// A function of both halves of the first projection.
    Gated(Gate),
    /// A function of the first projection.
    Plain(Function),
}

/// A mixture of gated experts.
#[derive(Debug, Clone)]
pub(crate) struct ExpertsSpec {
    pub(crate) params: ExpertParams,
    pub(crate) gate: Gate,
    /// Width between the projections of one expert.
    pub(crate) intermediate_size: usize,
    pub(crate) router: LinearSpec,
    /// Added to the probabilities for the choice of experts.
    pub(crate) selection_bias: Option<VectorSpec>,
    pub(crate) gate_up: LinearSpec,
    pub(crate) down: LinearSpec,
    pub(crate) shared: Option<SharedExpertSpec>,
}

/// An expert that every token uses.
#[derive(Debug, Clone)]
pub(crate) struct SharedExpertSpec {
    pub(crate) mlp: MlpSpec,
    /// A product with one output, whose sigmoid the expert's output is multiplied by.
    pub(crate) gate: Option<LinearSpec>,
}

impl LayerSpec {
    /// Every product of the layer.
    pub(crate) fn linears(&self) -> Vec<&LinearSpec> {
        let attention = &self.attention.block;
        let mut linears = vec![&attention.qkv, &attention.output];
        linears.extend(&attention.gate);
        match &self.feed_forward.block {
            FeedForwardSpec::Dense(mlp) => linears.extend([&mlp.up, &mlp.down]),
            FeedForwardSpec::Experts(experts) => {
                linears.extend([&experts.router, &experts.gate_up, &experts.down]);
                if let Some(SharedExpertSpec { mlp, gate }) = &experts.shared {
                    linears.extend([&mlp.up, &mlp.down]);
                    linears.extend(gate);
                }
            }
        }
        linears
    }

    /// Every vector of the layer.
    pub(crate) fn vectors(&self) -> Vec<&VectorSpec> {
        let Self { attention, feed_forward, .. } = self;
        let norms =
            [&attention.norm, &attention.post_norm, &feed_forward.norm, &feed_forward.post_norm];
        let mut vectors: Vec<_> = norms.into_iter().flatten().flat_map(NormSpec::vectors).collect();
        vectors.extend(&attention.block.sinks);
        if let Some(norm) = &attention.block.qk_norm {
            vectors.extend([&norm.q, &norm.k]);
        }
        if let FeedForwardSpec::Experts(experts) = &feed_forward.block {
            vectors.extend(&experts.selection_bias);
        }
        vectors.extend(self.linears().into_iter().filter_map(|linear| linear.bias.as_ref()));
        vectors
    }

    /// The width between the projections of the dense block or the shared expert.
    pub(crate) fn mlp_width(&self) -> Option<usize> {
        match &self.feed_forward.block {
            FeedForwardSpec::Dense(mlp) => Some(mlp.intermediate_size),
            FeedForwardSpec::Experts(experts) => {
                experts.shared.as_ref().map(|shared| shared.mlp.intermediate_size)
            }
        }
    }

    /// Whether the shared expert has a gate.
    pub(crate) fn has_shared_gate(&self) -> bool {
        match &self.feed_forward.block {
            FeedForwardSpec::Dense(_) => false,
            FeedForwardSpec::Experts(experts) => {
                experts.shared.as_ref().is_some_and(|shared| shared.gate.is_some())
            }
        }
    }

    /// Whether the output of a block is not added to the residual stream as it is.
    pub(crate) fn has_branch(&self) -> bool {
        self.attention.has_branch() || self.feed_forward.has_branch() || self.has_shared_gate()
    }

    /// Number of experts that a token uses of a matrix with several.
    pub(crate) fn num_experts_used(&self, matrix: &MatrixSpec) -> usize {
        match &self.feed_forward.block {
            FeedForwardSpec::Experts(experts) if matrix.num_experts > 1 => {
                experts.params.num_experts_used
            }
            _ => 1,
        }
    }
}

impl NormSpec {
    /// The weight, and the bias if there is one.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        std::iter::once(&self.weight).chain(&self.bias)
    }
}
