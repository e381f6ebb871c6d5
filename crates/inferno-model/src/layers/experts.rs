//! A mixture of experts: a router, the blocks that it chooses from, and one that every token uses.

use inferno_backend::{Backend, ExpertInput, ExpertParams, Function, LinearInput, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::mlp::Mlp;
use super::norm::{NormWeights, input_rows};
use super::residual::Residual;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::feed_forward::{
    ActivationSpec, ExpertNormsSpec, ExpertProjectionsSpec, ExpertsSpec, SharedExpertSpec,
};
use crate::workspace::{ExpertBuffers, Workspace};

/// The router and the stacked experts.
pub(super) struct MixtureOfExperts<B: Backend> {
    params: ExpertParams,
    activation: ActivationSpec,
    router: Linear<B>,
    weighs_inputs: bool,
    selection_bias: Option<B::Buffer>,
    up: Linear<B>,
    down: Linear<B>,
    projections: Option<ExpertProjections<B>>,
    shared: Option<SharedExpert<B>>,
    beside_dense: Option<ExpertNorms<B>>,
}

/// Norms of experts next to a dense block.
struct ExpertNorms<B: Backend> {
    router: NormWeights<B>,
    input: NormWeights<B>,
    output: NormWeights<B>,
    dense_output: NormWeights<B>,
}

impl<B: Backend> ExpertNorms<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &ExpertNormsSpec) -> Result<Self, ModelError> {
        let hidden_size = spec.router.weight.cols();
        let scale = (1.0 / (hidden_size as f64).sqrt()) as f32;
        Ok(Self {
            router: NormWeights::load_scaled(loader, &spec.router, scale)?,
            input: NormWeights::load(loader, &spec.input)?,
            output: NormWeights::load(loader, &spec.output)?,
            dense_output: NormWeights::load(loader, &spec.dense_output)?,
        })
    }
}

/// Projections to the width that experts read and write, and back.
struct ExpertProjections<B: Backend> {
    down: Linear<B>,
    up: Linear<B>,
}

struct SharedExpert<B: Backend> {
    mlp: Mlp<B>,
    gate: Option<Linear<B>>,
}

impl<B: Backend> SharedExpert<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &SharedExpertSpec) -> Result<Self, ModelError> {
        let gate = spec.gate.as_ref().map(|gate| Linear::load(loader, gate)).transpose()?;
        Ok(Self { mlp: Mlp::load(loader, &spec.mlp)?, gate })
    }
}

impl<B: Backend> MixtureOfExperts<B> {
    pub(super) fn load(loader: &mut Loader<'_, B>, spec: &ExpertsSpec) -> Result<Self, ModelError> {
        let shared = spec.shared.as_ref();
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
            shared: shared.map(|shared| SharedExpert::load(loader, shared)).transpose()?,
            beside_dense: match &spec.beside_dense {
                Some(norms) => Some(ExpertNorms::load(loader, norms)?),
                None => None,
            },
        })
    }

    /// Computes the outputs of the experts, and the input of the shared expert's down projection.
    pub(super) fn expand(
        &self,
        context: &mut ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { x, normed, hidden, gates, experts, .. } = workspace;
        let experts = experts.as_mut().expect("the workspace was created for this model");
        let (routing, logits) = (&mut experts.routing, &mut experts.router_logits);
        let beside_dense = self.beside_dense.as_ref();
        if let Some(ExpertNorms { router, .. }) = beside_dense {
            let input = LinearInput::Normed { x: &*x, norm: router.norm() };
            self.router.multiply(context, input, logits)?;
        }
        let input = match beside_dense.map_or(norm, |norms| Some(&norms.input)) {
            Some(norm) => {
                context.pass.norm(rows, x, norm.norm(), normed);
                &*normed
            }
            None => &*x,
        };
        if beside_dense.is_none() {
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
        self.multiply(context, input, experts)?;
        if let Some(shared) = &self.shared {
            let mlp_input = match beside_dense {
                Some(_) => input_rows(norm, x),
                None => input.into(),
            };
            shared.mlp.expand(context, mlp_input, [hidden, gates])?;
            if let (Some(gate), Some(gates)) = (&shared.gate, &mut experts.shared_gates) {
                gate.multiply(context, input, gates)?;
            }
        }
        Ok(())
    }

    /// Computes the outputs of the chosen experts for the rows of `input`.
    fn multiply(
        &self,
        context: &mut ForwardContext<'_, B>,
        input: &B::Buffer,
        experts: &mut ExpertBuffers<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let ExpertBuffers { routing, projected, hidden, out, .. } = experts;
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

    /// Adds the outputs of the experts to the residual stream.
    pub(super) fn project(
        &self,
        context: &mut ForwardContext<'_, B>,
        residual: &Residual<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { x, normed, branch, hidden, experts, .. } = workspace;
        let experts = experts.as_mut().expect("the workspace was created for this model");
        let shared = self.shared.as_ref();
        let is_gated = shared.is_some_and(|shared| shared.gate.is_some());
        if residual.is_direct() && !is_gated {
            self.combine(context, experts, true, x)?;
            if let Some(SharedExpert { mlp, .. }) = shared {
                let (hidden, down) = (hidden.get(mlp.intermediate_size()), mlp.down());
                down.multiply_add(context, hidden, x)?;
            }
            return Ok(());
        }
        let branch = branch.as_mut().expect("the workspace was created for this model");
        if let Some(SharedExpert { mlp, .. }) = shared {
            let (hidden, down) = (hidden.get(mlp.intermediate_size()), mlp.down());
            down.multiply(context, &*hidden, branch)?;
            if let Some(gates) = experts.shared_gates.as_ref().filter(|_| is_gated) {
                context.pass.gate(rows, Function::Sigmoid, gates, branch);
            }
        }
        if let (Some(norms), Some(sum)) = (&self.beside_dense, &mut experts.sum) {
            context.pass.norm(rows, branch, norms.dense_output.norm(), sum);
            context.pass.combine_experts(rows, &experts.routing, &experts.out, false, branch);
            context.pass.norm(rows, branch, norms.output.norm(), normed);
            context.pass.add_scaled(rows, normed, 1.0, sum);
            residual.add(context, sum, x, normed);
            return Ok(());
        }
        self.combine(context, experts, shared.is_some(), branch)?;
        residual.add(context, branch, x, normed);
        Ok(())
    }

    /// Computes the weighted sum of the experts' outputs, and adds it to `out` or replaces `out`.
    fn combine(
        &self,
        context: &mut ForwardContext<'_, B>,
        experts: &mut ExpertBuffers<B>,
        accumulate: bool,
        out: &mut B::Buffer,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let ExpertBuffers { routing, out: outputs, projected, .. } = experts;
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
