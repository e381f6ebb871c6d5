//! The experts that a router chooses from.

use inferno_backend::{Backend, ExpertInput, ExpertParams, LinearInput, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::feed_forward::{
    ActivationSpec, ExpertNormsSpec, ExpertProjectionsSpec, ExpertsSpec, LayerInput,
};
use crate::workspace::RoutedBuffers;

/// A router and the stacked experts.
pub(super) struct RoutedExperts<B: Backend> {
    params: ExpertParams,
    activation: ActivationSpec,
    router: Linear<B>,
    weighs_inputs: bool,
    selection_bias: Option<B::Buffer>,
    up: Linear<B>,
    down: Linear<B>,
    projections: Option<ExpertProjections<B>>,
    norms: Option<InputNorms<B>>,
    layer_input: LoadedLayerInput<B>,
}

/// See [`LayerInput`].
enum LoadedLayerInput<B: Backend> {
    Nothing,
    Router,
    Experts(NormWeights<B>),
}

/// Projections to the width that experts read and write, and back.
struct ExpertProjections<B: Backend> {
    down: Linear<B>,
    up: Linear<B>,
}

/// Norms of the inputs of experts next to a dense block, which has the norm of the layer.
struct InputNorms<B: Backend> {
    router: NormWeights<B>,
    experts: NormWeights<B>,
}

impl<B: Backend> InputNorms<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &ExpertNormsSpec) -> Result<Self, ModelError> {
        let hidden_size = spec.router.len;
        let scale = (1.0 / (hidden_size as f64).sqrt()) as f32;
        Ok(Self {
            router: NormWeights::load_scaled(loader, &spec.router, scale)?,
            experts: NormWeights::load(loader, &spec.input)?,
        })
    }
}

impl<B: Backend> RoutedExperts<B> {
    pub(super) fn load(loader: &mut Loader<'_, B>, spec: &ExpertsSpec) -> Result<Self, ModelError> {
        Ok(Self {
            params: spec.params,
            activation: spec.activation,
            router: Linear::load(loader, &spec.router)?,
            weighs_inputs: spec.weighs_inputs,
            selection_bias: loader.optional_vector(spec.selection_bias.as_ref())?,
            up: Linear::load(loader, &spec.up)?,
            down: Linear::load(loader, &spec.down)?,
            projections: match &spec.projections {
                Some(ExpertProjectionsSpec { down, up }) => Some(ExpertProjections {
                    down: Linear::load(loader, down)?,
                    up: Linear::load(loader, up)?,
                }),
                None => None,
            },
            norms: match &spec.beside_dense {
                Some(norms) => Some(InputNorms::load(loader, norms)?),
                None => None,
            },
            layer_input: match &spec.layer_input {
                LayerInput::Nothing => LoadedLayerInput::Nothing,
                LayerInput::Router => LoadedLayerInput::Router,
                LayerInput::Experts(norm) => {
                    LoadedLayerInput::Experts(NormWeights::load(loader, norm)?)
                }
            },
        })
    }

    /// Whether [`begin`](Self::begin) computes the outputs of the experts.
    pub(super) fn precedes_mixers(&self) -> bool {
        matches!(self.layer_input, LoadedLayerInput::Experts(_))
    }

    /// Computes what depends on the residual stream `x` before the mixers of the layer.
    pub(super) fn begin(
        &self,
        context: &mut ForwardContext<'_, B>,
        (x, normed): (&B::Buffer, &mut B::Buffer),
        buffers: &mut RoutedBuffers<B>,
    ) -> Result<(), ModelError> {
        match &self.layer_input {
            LoadedLayerInput::Nothing => Ok(()),
            LoadedLayerInput::Router => {
                self.router.multiply(context, x, &mut buffers.router_logits)
            }
            LoadedLayerInput::Experts(norm) => {
                self.expand(context, Some(norm), (x, normed), buffers).map(|_| ())
            }
        }
    }

    /// Routes the rows of the residual stream `x` and computes the outputs of their experts. Returns the input of the
    /// experts: `x` after `norm`, which is that of the layer, or after their own norm.
    pub(super) fn expand<'x>(
        &self,
        context: &mut ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        (x, normed): (&'x B::Buffer, &'x mut B::Buffer),
        buffers: &mut RoutedBuffers<B>,
    ) -> Result<&'x B::Buffer, ModelError> {
        let rows = context.rows;
        let (routing, logits) = (&mut buffers.routing, &mut buffers.router_logits);
        if let Some(InputNorms { router, .. }) = &self.norms {
            let input = LinearInput::Normed { x, norm: router.norm() };
            self.router.multiply(context, input, logits)?;
        }
        let input = match self.norms.as_ref().map_or(norm, |norms| Some(&norms.experts)) {
            Some(norm) => {
                context.pass.norm(rows, x, norm.norm(), normed);
                &*normed
            }
            None => x,
        };
        if self.norms.is_none() && !matches!(self.layer_input, LoadedLayerInput::Router) {
            // The router and the experts read the same normalized rows.
            self.router.multiply(context, input, logits)?;
        }
        context.pass.route_experts(
            rows,
            logits,
            self.selection_bias.as_ref(),
            &self.params,
            routing,
        );
        self.multiply(context, input, buffers)?;
        Ok(input)
    }

    /// Computes the outputs of the chosen experts for the rows of `input`.
    fn multiply(
        &self,
        context: &mut ForwardContext<'_, B>,
        input: &B::Buffer,
        buffers: &mut RoutedBuffers<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let RoutedBuffers { routing, projected, hidden, out, .. } = buffers;
        let input = match (&self.projections, projected) {
            (Some(ExpertProjections { down, .. }), Some(projected)) => {
                down.multiply(context, input, projected)?;
                &*projected
            }
            _ => input,
        };
        let (weight, bias) = (&self.up.weight, self.up.bias());
        let num_used = self.params.num_experts_used;
        if self.weighs_inputs {
            context.pass.weigh_expert_inputs(rows, input, routing, out);
        } else if matches!(self.activation, ActivationSpec::Plain(_)) {
            context.pass.repeat_rows(rows, num_used, input, out);
        }
        match self.activation {
            ActivationSpec::Gated(gate) => {
                let input = match self.weighs_inputs {
                    true => (&*out, ExpertInput::PerSlot),
                    false => (input, ExpertInput::PerToken),
                };
                context.pass.expert_linear_gated(routing, input, weight, bias, gate, hidden)?;
            }
            ActivationSpec::Plain(function) => {
                context.pass.expert_linear(routing, out, weight, bias, hidden)?;
                context.pass.apply(rows * num_used, function, hidden);
            }
        }
        let (weight, bias) = (&self.down.weight, self.down.bias());
        context.pass.expert_linear(routing, hidden, weight, bias, out)?;
        Ok(())
    }

    /// Computes the weighted sum of the experts' outputs, and adds it to `out` or replaces `out`.
    pub(super) fn combine(
        &self,
        context: &mut ForwardContext<'_, B>,
        buffers: &mut RoutedBuffers<B>,
        accumulate: bool,
        out: &mut B::Buffer,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let RoutedBuffers { routing, out: outputs, projected, .. } = buffers;
        let (Some(ExpertProjections { up, .. }), Some(projected)) = (&self.projections, projected)
        else {
            context.pass.combine_experts(rows, routing, outputs, accumulate, out);
            return Ok(());
        };
        context.pass.combine_experts(rows, routing, outputs, false, projected);
        match accumulate {
            true => up.multiply_add(context, projected, out),
            false => up.multiply(context, &*projected, out),
        }
    }
}
