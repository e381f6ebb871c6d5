//! Feed-forward blocks as data.

use inferno_backend::{ExpertParams, Function, Gate};

use super::layer::NormSpec;
use super::tensors::{LinearSpec, VectorSpec};

/// The feed-forward block.
#[derive(Debug, Clone)]
pub(crate) enum FeedForwardSpec {
    Dense(Box<MlpSpec>),
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
    pub(crate) sparse_gate: Option<Box<SparseGateSpec>>,
    /// The norm of the input of the down projection.
    pub(crate) down_norm: Option<NormSpec>,
    pub(crate) down: LinearSpec,
}

/// A gate projection of which only the values that are large for their row are used; the others become 0.
#[derive(Debug, Clone)]
pub(crate) struct SparseGateSpec {
    pub(crate) linear: LinearSpec,
    /// Smallest value that is used, in standard deviations above the mean of the row.
    pub(crate) num_deviations: f32,
    /// The function of the used values.
    pub(crate) function: Function,
}

/// What a feed-forward block computes between its projections.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ActivationSpec {
    /// A function of both halves of the first projection.
    Gated(Gate),
    /// A function of the first projection.
    Plain(Function),
}

/// A mixture of experts.
#[derive(Debug, Clone)]
pub(crate) struct ExpertsSpec {
    pub(crate) params: ExpertParams,
    pub(crate) activation: ActivationSpec,
    /// Width between the projections of one expert.
    pub(crate) intermediate_size: usize,
    pub(crate) router: LinearSpec,
    /// Whether the weights of experts are factors on their inputs instead of their outputs.
    pub(crate) weighs_inputs: bool,
    /// Added to the probabilities for the choice of experts.
    pub(crate) selection_bias: Option<VectorSpec>,
    /// Gate and up projection, or only the latter.
    pub(crate) up: LinearSpec,
    pub(crate) down: LinearSpec,
    pub(crate) projections: Option<ExpertProjectionsSpec>,
    pub(crate) shared: Option<SharedExpertSpec>,
    pub(crate) layer_input: LayerInput,
    /// Norms around experts that are added to a dense block, which has the norms of the layer.
    pub(crate) beside_dense: Option<ExpertNormsSpec>,
    /// The number of this layer in the [separate experts](super::ModelSpec::separate_experts), if they include its router
    /// and the experts that tokens choose from.
    pub(crate) separate_layer: Option<usize>,
}

/// What reads the residual stream before the mixers of the layer, instead of the input of the feed-forward block.
#[derive(Debug, Clone)]
pub(crate) enum LayerInput {
    Nothing,
    /// The router, without a norm.
    Router,
    /// The router and the experts, after a norm.
    Experts(NormSpec),
}

impl ExpertsSpec {
    /// Every product but those of the shared expert's own block.
    pub(super) fn linears(&self) -> impl Iterator<Item = &LinearSpec> {
        let routed = [&self.router, &self.up, &self.down].into_iter();
        let routed = routed.chain(self.projections.iter().flat_map(ExpertProjectionsSpec::linears));
        let shared_gate = self.shared.iter().filter_map(|shared| shared.gate.as_ref());
        routed.filter(|_| self.separate_layer.is_none()).chain(shared_gate)
    }

    /// Every vector but the biases of products.
    pub(super) fn vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        let norms = self.beside_dense.iter();
        let routed = self.selection_bias.iter();
        let routed = routed.chain(norms.clone().flat_map(ExpertNormsSpec::input_vectors));
        let own_norm = match &self.layer_input {
            LayerInput::Nothing | LayerInput::Router => None,
            LayerInput::Experts(norm) => Some(norm),
        };
        let routed = routed.chain(own_norm.into_iter().flat_map(NormSpec::vectors));
        let routed = routed.filter(|_| self.separate_layer.is_none());
        routed.chain(norms.flat_map(ExpertNormsSpec::output_vectors))
    }
}

/// Projections around all experts, which read and write rows of another width than the residual stream's.
#[derive(Debug, Clone)]
pub(crate) struct ExpertProjectionsSpec {
    pub(crate) down: LinearSpec,
    pub(crate) up: LinearSpec,
}

impl ExpertProjectionsSpec {
    /// Number of values that an expert reads and writes.
    pub(crate) fn width(&self) -> usize {
        self.up.weight.cols
    }

    fn linears(&self) -> [&LinearSpec; 2] {
        [&self.down, &self.up]
    }
}

/// Norms of experts next to a dense block.
#[derive(Debug, Clone)]
pub(crate) struct ExpertNormsSpec {
    /// The norm of the router's input: its weight is multiplied by `1 / sqrt(hidden size)`.
    pub(crate) router: NormSpec,
    /// The norm of the experts' input.
    pub(crate) input: NormSpec,
    /// The norm of the experts' sum.
    pub(crate) output: NormSpec,
    /// The norm of the dense block's output.
    pub(crate) dense_output: NormSpec,
}

/// An expert that every token uses.
#[derive(Debug, Clone)]
pub(crate) struct SharedExpertSpec {
    pub(crate) mlp: MlpSpec,
    /// A product with one output, whose sigmoid the expert's output is multiplied by.
    pub(crate) gate: Option<LinearSpec>,
}

impl MlpSpec {
    pub(super) fn linears(&self) -> impl Iterator<Item = &LinearSpec> {
        let sparse_gate = self.sparse_gate.as_ref().map(|gate| &gate.linear);
        [&self.up, &self.down].into_iter().chain(sparse_gate)
    }
}

impl ExpertNormsSpec {
    fn input_vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        [&self.router, &self.input].into_iter().flat_map(NormSpec::vectors)
    }

    fn output_vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        [&self.output, &self.dense_output].into_iter().flat_map(NormSpec::vectors)
    }
}
