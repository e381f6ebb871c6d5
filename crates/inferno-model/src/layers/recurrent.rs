//! Recurrent mixers: a projection, a convolution, in most cases a scan, and a projection back.

use inferno_backend::{
    Backend, ConvParams, ConvWeights, GatedNorm, LinearAttentionRows, LinearAttentionWeights,
    LinearInput, Pass,
};

use super::context::ForwardContext;
use super::linear::Linear;
use super::low_rank_gates::LowRankGates;
use super::norm::{NormWeights, input_rows};
use super::residual::Residual;
use super::selective_scan::SelectiveScan;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::recurrent::{LinearAttentionSpec, RecurrentSpec, ScanSpec};
use crate::workspace::{RecurrentBuffers, Workspace};

/// A mixer with a state of fixed size.
pub(super) struct RecurrentMixer<B: Backend> {
    input: Linear<B>,
    conv: ConvParams,
    conv_taps: B::Buffer,
    conv_bias: Option<B::Buffer>,
    scan: Option<Scan<B>>,
    output: Linear<B>,
}

enum Scan<B: Backend> {
    LinearAttention(Box<LinearAttention<B>>),
    Selective(Box<SelectiveScan<B>>),
}

impl<B: Backend> Scan<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &ScanSpec) -> Result<Self, ModelError> {
        Ok(match spec {
            ScanSpec::LinearAttention(spec) => {
                Self::LinearAttention(Box::new(LinearAttention::load(loader, spec)?))
            }
            ScanSpec::Selective(spec) => {
                Self::Selective(Box::new(SelectiveScan::load(loader, spec)?))
            }
        })
    }
}

struct LinearAttention<B: Backend> {
    spec: LinearAttentionSpec,
    rates: B::Buffer,
    step_bias: B::Buffer,
    skip: Option<B::Buffer>,
    norm: Option<B::Buffer>,
    low_rank_gates: Option<LowRankGates<B>>,
}

impl<B: Backend> LinearAttention<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &LinearAttentionSpec) -> Result<Self, ModelError> {
        Ok(Self {
            rates: loader.vector(&spec.rates)?,
            step_bias: loader.vector(&spec.step_bias)?,
            skip: loader.optional_vector(spec.skip.as_ref())?,
            norm: loader.optional_vector(spec.norm.weight.as_ref())?,
            low_rank_gates: match &spec.low_rank_gates {
                Some(gates) => Some(LowRankGates::load(loader, gates)?),
                None => None,
            },
            spec: spec.clone(),
        })
    }

    /// Computes gated linear attention over the rows of the convolution. `input` is that of the mixer.
    ///
    /// **Errors**: out of memory.
    fn attend<'x>(
        &self,
        context: &mut ForwardContext<'_, B>,
        batch: &B::DeviceBatch,
        input: impl Fn() -> LinearInput<'x, B::Buffer>,
        state: &mut B::RecurrentState,
        buffers: &mut RecurrentBuffers<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let RecurrentBuffers { projected, convolved, scanned, low_rank_gates, .. } = buffers;
        if let (Some(products), Some(buffers)) = (&self.low_rank_gates, &mut *low_rank_gates) {
            products.project(context, input, buffers)?;
        }
        let scanned = scanned.as_mut().expect("the workspace was created for this model");
        let LinearAttentionSpec { params, norm, .. } = &self.spec;
        let weights = LinearAttentionWeights {
            rates: &self.rates,
            step_bias: &self.step_bias,
            skip: self.skip.as_ref(),
        };
        let steps = low_rank_gates.as_mut().map(|buffers| &mut buffers.steps);
        let inputs = LinearAttentionRows { projected, convolved, steps };
        context.pass.linear_attention(batch, params, weights, inputs, state, scanned);
        let norm = GatedNorm {
            gates: low_rank_gates.as_ref().map_or(&*projected, |buffers| &buffers.gates),
            gate_column: norm.gate_column,
            function: norm.function,
            weight: self.norm.as_ref(),
            extent: norm.extent,
            eps: norm.eps,
            is_gate_first: norm.is_gate_first,
        };
        context.pass.gated_norm(rows, norm, scanned);
        Ok(())
    }
}

impl<B: Backend> RecurrentMixer<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &RecurrentSpec,
    ) -> Result<Self, ModelError> {
        let scan = spec.scan.as_ref();
        Ok(Self {
            input: Linear::load(loader, &spec.input)?,
            conv: spec.conv.params,
            conv_taps: loader.transposed(&spec.conv.taps, spec.conv.params.channels)?,
            conv_bias: loader.optional_vector(spec.conv.bias.as_ref())?,
            scan: scan.map(|spec| Scan::load(loader, spec)).transpose()?,
            output: Linear::load(loader, &spec.output)?,
        })
    }

    /// Computes the input of the projection back from the residual stream.
    pub(super) fn mix(
        &self,
        context: &mut ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        state: &mut B::RecurrentState,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { batch, x, recurrent, .. } = workspace;
        let buffers = recurrent.as_mut().expect("the workspace was created for this model");
        let RecurrentBuffers { projected, convolved, .. } = &mut *buffers;
        let input = || input_rows(norm, x);
        self.input.multiply(context, input(), projected)?;
        let weights = ConvWeights { taps: &self.conv_taps, bias: self.conv_bias.as_ref() };
        context.pass.causal_conv(batch, &self.conv, weights, projected, state, convolved);
        match &self.scan {
            Some(Scan::LinearAttention(attention)) => {
                attention.attend(context, batch, input, state, buffers)?;
            }
            Some(Scan::Selective(scan)) => scan.scan(context, batch, state, buffers)?,
            None => {}
        }
        Ok(())
    }

    /// Adds the output to the residual stream.
    pub(super) fn project(
        &self,
        context: &mut ForwardContext<'_, B>,
        residual: &Residual<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { x, normed, branch, recurrent, .. } = workspace;
        let buffers = recurrent.as_ref().expect("the workspace was created for this model");
        let mixed = buffers.scanned.as_ref().unwrap_or(&buffers.convolved);
        residual.add_product(context, mixed, &self.output, x, (branch, normed))
    }
}
