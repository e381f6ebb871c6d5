//! A mixture of experts: a router and the gated blocks that it chooses from.

use inferno_backend::{Backend, ExpertParams};

use super::context::ForwardContext;
use crate::ModelError;
use crate::loader::{Loader, PartSpec};
use crate::workspace::Workspace;

/// The router and the stacked experts.
pub(super) struct MixtureOfExperts<B: Backend> {
    params: ExpertParams,
    router: B::Weight,
    gate_up_proj: B::Weight,
    down_proj: B::Weight,
}

impl<B: Backend> MixtureOfExperts<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        (hidden_size, intermediate_size): (usize, usize),
        params: ExpertParams,
        layer: usize,
    ) -> Result<Self, ModelError> {
        let ExpertParams { num_experts, .. } = params;
        let router = [PartSpec::new(layer, "ffn_gate_inp.weight", num_experts)];
        let gate_up = ["ffn_gate_exps.weight", "ffn_up_exps.weight"]
            .map(|suffix| PartSpec::new(layer, suffix, intermediate_size));
        let down = [PartSpec::new(layer, "ffn_down_exps.weight", hidden_size)];
        Ok(Self {
            params,
            router: loader.matrix(&router, hidden_size)?,
            gate_up_proj: loader.experts(&gate_up, num_experts, hidden_size)?,
            down_proj: loader.experts(&down, num_experts, intermediate_size)?,
        })
    }

    pub(super) fn forward(
        &self,
        context: &ForwardContext<'_, B>,
        input_norm: &B::Buffer,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let ForwardContext { backend, config, rows, .. } = *context;
        let Workspace { x, normed, hidden, experts, .. } = workspace;
        // The router and the experts read the same normalized rows.
        backend.rms_norm(rows, x, input_norm, config.rms_norm_eps, normed);
        let experts = experts.as_mut().expect("the workspace was created for this configuration");
        let routing = &mut experts.routing;
        backend.linear(rows, &*normed, &self.router, None, &mut experts.router_logits)?;
        backend.route_experts(rows, &experts.router_logits, &self.params, routing);
        backend.expert_linear_gated(rows, routing, normed, &self.gate_up_proj, hidden)?;
        backend.expert_linear(rows, routing, hidden, &self.down_proj, &mut experts.out)?;
        backend.combine_experts(rows, routing, &experts.out, x);
        Ok(())
    }
}
