//! A mixture of experts: a router, and as many gated blocks as it can choose from.

use inferno_backend::{Backend, ExpertInput, ExpertParams};

use crate::ModelError;
use crate::forward::Step;
use crate::loader::{Loader, Part};
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
        let part = |which: &str, rows| Part { name: format!("blk.{layer}.{which}.weight"), rows };
        let gate_up =
            [part("ffn_gate_exps", intermediate_size), part("ffn_up_exps", intermediate_size)];
        let down = [part("ffn_down_exps", hidden_size)];
        Ok(Self {
            params,
            router: loader.matrix(&[part("ffn_gate_inp", params.num_experts)], hidden_size)?,
            gate_up_proj: loader.experts(&gate_up, params.num_experts, hidden_size)?,
            down_proj: loader.experts(&down, params.num_experts, intermediate_size)?,
        })
    }

    pub(super) fn forward(
        &self,
        step: &Step<'_, B>,
        input_norm: &B::Buffer,
        workspace: &mut Workspace<B>,
    ) {
        let Step { backend, config, rows, .. } = *step;
        let Workspace { x, normed, hidden, experts, .. } = workspace;
        // The router takes the same rows, and so does each of a token's experts.
        backend.rms_norm(rows, x, input_norm, config.rms_norm_eps, normed);
        let experts = experts.as_mut().expect("made with the model's own configuration");
        let routing = &mut experts.routing;
        backend.linear(rows, &*normed, &self.router, None, &mut experts.router_logits);
        backend.route_experts(rows, &experts.router_logits, &self.params, routing);
        backend.expert_linear_gated(rows, routing, normed, &self.gate_up_proj, hidden);
        let per_slot = ExpertInput::PerSlot;
        backend.expert_linear(rows, routing, per_slot, hidden, &self.down_proj, &mut experts.out);
        backend.combine_experts(rows, routing, &experts.out, x);
    }
}
