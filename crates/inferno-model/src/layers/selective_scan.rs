//! The selective state space of Mamba 1.

use inferno_backend::{
    Backend, Function, GatedNorm, KvValues, LinearInput, Norm, Pass, QkNorm, QkvLayout,
    SelectiveScanRows, SelectiveScanWeights,
};

use super::context::ForwardContext;
use super::linear::Linear;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::recurrent::{SelectionNormsSpec, SelectiveScanSpec};
use crate::workspace::RecurrentBuffers;

pub(super) struct SelectiveScan<B: Backend> {
    spec: SelectiveScanSpec,
    selection: Linear<B>,
    step_down: Linear<B>,
    step_up: Linear<B>,
    norms: Option<SelectionNorms<B>>,
    rates: B::Buffer,
    skip: B::Buffer,
}

/// Norms of the compressed step sizes, and of the factors for writing and reading.
struct SelectionNorms<B: Backend> {
    steps: B::Buffer,
    writes: B::Buffer,
    reads: B::Buffer,
    eps: f32,
}

impl<B: Backend> SelectionNorms<B> {
    fn load(
        loader: &mut Loader<'_, B>,
        spec: &SelectionNormsSpec,
        [rank, state_size]: [usize; 2],
    ) -> Result<Self, ModelError> {
        let [steps, writes, reads] = match &spec.weights {
            Some([steps, writes, reads]) => {
                [loader.vector(steps)?, loader.vector(writes)?, loader.vector(reads)?]
            }
            None => [loader.ones(rank)?, loader.ones(state_size)?, loader.ones(state_size)?],
        };
        Ok(Self { steps, writes, reads, eps: spec.eps })
    }
}

impl<B: Backend> SelectiveScan<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &SelectiveScanSpec,
    ) -> Result<Self, ModelError> {
        let sizes = [spec.step_up.weight.cols, spec.params.state_size];
        let norms = spec.norms.as_ref();
        Ok(Self {
            selection: Linear::load(loader, &spec.selection)?,
            step_down: Linear::load(loader, &spec.step_down)?,
            step_up: Linear::load(loader, &spec.step_up)?,
            norms: norms.map(|norms| SelectionNorms::load(loader, norms, sizes)).transpose()?,
            rates: loader.transposed(&spec.rates, spec.params.channels)?,
            skip: loader.vector(&spec.skip)?,
            spec: spec.clone(),
        })
    }

    /// Scans the rows of the convolution.
    ///
    /// **Errors**: out of memory.
    pub(super) fn scan(
        &self,
        context: &mut ForwardContext<'_, B>,
        batch: &B::DeviceBatch,
        state: &mut B::RecurrentState,
        buffers: &mut RecurrentBuffers<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let SelectiveScanSpec { params, gate_column, .. } = self.spec;
        let RecurrentBuffers { projected, convolved, scanned, selection, .. } = buffers;
        let (Some(scanned), Some(selection)) = (scanned, selection) else {
            unreachable!("the workspace was created for this model")
        };
        self.step_down.multiply(context, &*convolved, &mut selection.compressed_steps)?;
        self.selection.multiply(context, &*convolved, &mut selection.factors)?;
        let compressed = &selection.compressed_steps;
        let compressed = match &self.norms {
            Some(norms) => {
                // The factors are normalized as a query head and a key head are.
                let values = KvValues::Separate { dim: 0 };
                let heads = QkvLayout { values, ..QkvLayout::new(1, 1, params.state_size) };
                let norm = QkNorm::per_head(&norms.writes, &norms.reads, norms.eps);
                context.pass.rope(rows, &heads, Some(norm), None, &mut selection.factors);
                LinearInput::Normed { x: compressed, norm: Norm::rms(&norms.steps, norms.eps) }
            }
            None => compressed.into(),
        };
        self.step_up.multiply(context, compressed, &mut selection.steps)?;
        let weights = SelectiveScanWeights { rates: &self.rates, skip: &self.skip };
        let inputs = SelectiveScanRows {
            values: convolved,
            steps: &selection.steps,
            selection: &selection.factors,
        };
        context.pass.selective_scan(batch, &params, weights, inputs, state, scanned);
        let gate = GatedNorm {
            gates: projected,
            gate_column,
            function: Function::Silu,
            weight: None,
            extent: params.channels,
            eps: 0.0,
            is_gate_first: true,
        };
        context.pass.gated_norm(rows, gate, scanned);
        Ok(())
    }
}
