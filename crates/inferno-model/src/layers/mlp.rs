//! The gated feed-forward block: `down(silu(gate(x)) * up(x))`.

use inferno_backend::{Backend, LinearInput};

use super::context::ForwardContext;
use crate::ModelError;
use crate::loader::{Loader, PartSpec};
use crate::workspace::Workspace;

/// Gate and up are one stacked projection; the down projection adds to the residual stream.
pub(super) struct Mlp<B: Backend> {
    gate_up_proj: B::Weight,
    gate_up_bias: Option<B::Buffer>,
    down_proj: B::Weight,
    down_bias: Option<B::Buffer>,
}

impl<B: Backend> Mlp<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        hidden_size: usize,
        intermediate_size: usize,
        layer: usize,
    ) -> Result<Self, ModelError> {
        let gate_up = |suffix: &str| {
            ["gate", "up"].map(|name| {
                PartSpec::new(layer, &format!("ffn_{name}.{suffix}"), intermediate_size)
            })
        };
        let down =
            |suffix: &str| [PartSpec::new(layer, &format!("ffn_down.{suffix}"), hidden_size)];
        Ok(Self {
            gate_up_proj: loader.matrix(&gate_up("weight"), hidden_size)?,
            gate_up_bias: loader.stacked_bias(&gate_up("bias"), false)?,
            down_proj: loader.matrix(&down("weight"), intermediate_size)?,
            down_bias: loader.stacked_bias(&down("bias"), false)?,
        })
    }

    pub(super) fn forward(
        &self,
        context: &ForwardContext<'_, B>,
        input_norm: &B::Buffer,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let ForwardContext { backend, config, rows, .. } = *context;
        let Workspace { x, hidden, .. } = workspace;
        let normed = LinearInput::Normed { x, weight: input_norm, eps: config.rms_norm_eps };
        let bias = self.gate_up_bias.as_ref();
        backend.linear_gated(rows, normed, &self.gate_up_proj, bias, hidden)?;
        Ok(backend.linear_add(rows, hidden, &self.down_proj, self.down_bias.as_ref(), x)?)
    }
}
