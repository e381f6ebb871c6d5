//! Recurrent mixers: a projection, a convolution, in most cases linear attention, and a projection back.

use inferno_backend::{
    Backend, ConvParams, ConvWeights, GatedNorm, LinearAttentionRows, LinearAttentionWeights,
};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use super::residual::Residual;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::recurrent::{LinearAttentionSpec, RecurrentSpec};
use crate::workspace::{RecurrentBuffers, Workspace};

/// A mixer with a state of fixed size.
pub(super) struct RecurrentMixer<B: Backend> {
    input: Linear<B>,
    conv: ConvParams,
    conv_taps: B::Buffer,
    conv_bias: Option<B::Buffer>,
    attention: Option<LinearAttention<B>>,
    output: Linear<B>,
}

struct LinearAttention<B: Backend> {
    spec: LinearAttentionSpec,
    rates: B::Buffer,
    gate_bias: B::Buffer,
    skip: Option<B::Buffer>,
    norm: Option<B::Buffer>,
}

impl<B: Backend> LinearAttention<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &LinearAttentionSpec) -> Result<Self, ModelError> {
        Ok(Self {
            rates: loader.vector(&spec.rates)?,
            gate_bias: loader.vector(&spec.gate_bias)?,
            skip: loader.optional_vector(spec.skip.as_ref())?,
            norm: loader.optional_vector(spec.norm.weight.as_ref())?,
            spec: spec.clone(),
        })
    }
}

impl<B: Backend> RecurrentMixer<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &RecurrentSpec,
    ) -> Result<Self, ModelError> {
        let attention = spec.attention.as_ref();
        Ok(Self {
            input: Linear::load(loader, &spec.input)?,
            conv: spec.conv,
            conv_taps: loader.transposed(&spec.conv_taps)?,
            conv_bias: loader.optional_vector(spec.conv_bias.as_ref())?,
            attention: attention.map(|spec| LinearAttention::load(loader, spec)).transpose()?,
            output: Linear::load(loader, &spec.output)?,
        })
    }

    /// Computes the input of the projection back from the residual stream.
    pub(super) fn mix(
        &self,
        context: &ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        state: &mut B::RecurrentState,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let ForwardContext { backend, rows, .. } = *context;
        let Workspace { batch, x, recurrent, .. } = workspace;
        let buffers = recurrent.as_mut().expect("the workspace was created for this model");
        let RecurrentBuffers { projected, convolved, attended } = buffers;
        let input = context.normed(norm, x);
        backend.linear(rows, input, &self.input.weight, self.input.bias(), projected)?;
        let weights = ConvWeights { taps: &self.conv_taps, bias: self.conv_bias.as_ref() };
        backend.causal_conv(batch, &self.conv, weights, projected, state, convolved);
        if let (Some(attention), Some(attended)) = (&self.attention, attended) {
            let LinearAttentionSpec { params, norm, .. } = &attention.spec;
            let weights = LinearAttentionWeights {
                rates: &attention.rates,
                gate_bias: &attention.gate_bias,
                skip: attention.skip.as_ref(),
            };
            let inputs = LinearAttentionRows { projected, convolved };
            backend.linear_attention(batch, params, weights, inputs, state, attended);
            let norm = GatedNorm {
                gates: projected,
                gate_column: norm.gate_column,
                weight: attention.norm.as_ref(),
                extent: norm.extent,
                eps: norm.eps,
                is_gate_first: norm.is_gate_first,
            };
            backend.gated_norm(rows, norm, attended);
        }
        Ok(())
    }

    /// Adds the output to the residual stream.
    pub(super) fn project(
        &self,
        context: &ForwardContext<'_, B>,
        residual: &Residual<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { x, normed, branch, recurrent, .. } = workspace;
        let buffers = recurrent.as_ref().expect("the workspace was created for this model");
        let mixed = buffers.attended.as_ref().unwrap_or(&buffers.convolved);
        residual.add_product(context, mixed, &self.output, x, (branch, normed))
    }
}
