//! A mixture of experts: those that a router chooses from, and one that every token uses.

use inferno_backend::{Backend, ColumnBlocks, CopySize, Function, LinearInput, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::mlp::Mlp;
use super::norm::{NormWeights, input_rows};
use super::residual::Residual;
use super::routed_experts::RoutedExperts;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::feed_forward::{ExpertNormsSpec, ExpertsSpec, SharedExpertSpec};
use crate::workspace::{BuffersByWidth, ExpertBuffers, RoutedBuffers, SeparateBuffers, Workspace};

const WRONG_WORKSPACE: &str = "the workspace was created for this model";

/// The experts of a layer.
pub(super) struct MixtureOfExperts<B: Backend> {
    routed: Routed<B>,
    shared: Option<SharedExpert<B>>,
    beside_dense: Option<OutputNorms<B>>,
}

/// The experts that tokens choose from.
enum Routed<B: Backend> {
    /// On the device of the layer.
    Here(RoutedExperts<B>),
    /// Those of this layer of the model's [`SeparateExperts`](super::SeparateExperts).
    Separate(usize),
}

/// Norms of experts and of a dense block next to them.
struct OutputNorms<B: Backend> {
    experts: NormWeights<B>,
    dense: NormWeights<B>,
}

impl<B: Backend> OutputNorms<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &ExpertNormsSpec) -> Result<Self, ModelError> {
        Ok(Self {
            experts: NormWeights::load(loader, &spec.output)?,
            dense: NormWeights::load(loader, &spec.dense_output)?,
        })
    }
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
            routed: match spec.separate_layer {
                Some(layer) => Routed::Separate(layer),
                None => Routed::Here(RoutedExperts::load(loader, spec)?),
            },
            shared: shared.map(|shared| SharedExpert::load(loader, shared)).transpose()?,
            beside_dense: match &spec.beside_dense {
                Some(norms) => Some(OutputNorms::load(loader, norms)?),
                None => None,
            },
        })
    }

    /// Computes what depends on the residual stream before the mixers of the layer.
    pub(super) fn begin(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { x, normed, experts, .. } = workspace;
        let Routed::Here(layer) = &self.routed else { return Ok(()) };
        let routed = experts.as_mut().and_then(|buffers| buffers.routed.as_mut());
        layer.begin(context, (x, normed), routed.expect(WRONG_WORKSPACE))
    }

    /// Computes the outputs of the experts, and the input of the shared expert's down projection.
    pub(super) fn expand(
        &self,
        context: &mut ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { x, normed, hidden, gates, experts, .. } = workspace;
        let experts = experts.as_mut().expect(WRONG_WORKSPACE);
        let ExpertBuffers { routed, separate, shared_gates, .. } = experts;
        let shared_buffers = ([hidden, gates], shared_gates.as_mut());
        match &self.routed {
            Routed::Here(layer) if layer.precedes_mixers() => {
                self.expand_shared(context, input_rows(norm, x), shared_buffers)
            }
            Routed::Here(layer) => {
                let routed = routed.as_mut().expect(WRONG_WORKSPACE);
                let input = layer.expand(context, norm, (x, normed), routed)?;
                let input = match self.beside_dense {
                    Some(_) => input_rows(norm, x),
                    None => input.into(),
                };
                self.expand_shared(context, input, shared_buffers)
            }
            Routed::Separate(layer) => {
                let separate = separate.as_mut().expect(WRONG_WORKSPACE);
                let SeparateBuffers { executor, staging, combined, row_len } = separate;
                let rows = context.rows;
                context.pass.flush()?;
                let sent = context.backend.download(x, 0..rows * *row_len, staging)?;
                // The device computes the shared expert in the meantime.
                self.expand_shared(context, input_rows(norm, x), shared_buffers)?;
                context.pass.flush()?;
                let received = executor.run(*layer, rows, sent)?;
                context.backend.upload(received, combined);
                Ok(())
            }
        }
    }

    /// Computes the input of the shared expert's down projection, if there is one.
    fn expand_shared(
        &self,
        context: &mut ForwardContext<'_, B>,
        input: LinearInput<'_, B::Buffer>,
        (hidden_and_gates, shared_gates): ([&mut BuffersByWidth<B>; 2], Option<&mut B::Buffer>),
    ) -> Result<(), ModelError> {
        let Some(SharedExpert { mlp, gate }) = &self.shared else { return Ok(()) };
        mlp.expand(context, input, hidden_and_gates)?;
        if let (Some(gate), Some(gates)) = (gate, shared_gates) {
            gate.multiply(context, input, gates)?;
        }
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
        let experts = experts.as_mut().expect(WRONG_WORKSPACE);
        let ExpertBuffers { routed, separate, shared_gates, sum } = experts;
        let outputs = (routed.as_mut(), separate.as_ref());
        let shared = self.shared.as_ref();
        let is_gated = shared.is_some_and(|shared| shared.gate.is_some());
        if residual.is_direct() && !is_gated {
            self.combine(context, outputs, true, x)?;
            if let Some(SharedExpert { mlp, .. }) = shared {
                let (hidden, down) = (hidden.get(mlp.intermediate_size()), mlp.down());
                down.multiply_add(context, hidden, x)?;
            }
            residual.normalize_sum(context, x, normed);
            return Ok(());
        }
        let branch = branch.as_mut().expect(WRONG_WORKSPACE);
        if let Some(SharedExpert { mlp, .. }) = shared {
            let (hidden, down) = (hidden.get(mlp.intermediate_size()), mlp.down());
            down.multiply(context, &*hidden, branch)?;
            if let Some(gates) = shared_gates.as_ref().filter(|_| is_gated) {
                context.pass.gate(rows, Function::Sigmoid, gates, branch);
            }
        }
        if let (Some(norms), Some(sum)) = (&self.beside_dense, sum) {
            context.pass.norm(rows, branch, norms.dense.norm(), sum);
            self.combine(context, outputs, false, branch)?;
            context.pass.norm(rows, branch, norms.experts.norm(), normed);
            context.pass.add_scaled(rows, normed, 1.0, sum);
            residual.add(context, sum, x, normed);
            return Ok(());
        }
        self.combine(context, outputs, shared.is_some(), branch)?;
        residual.add(context, branch, x, normed);
        Ok(())
    }

    /// Adds the weighted sum of the outputs of the chosen experts to `out`, or replaces `out`.
    fn combine(
        &self,
        context: &mut ForwardContext<'_, B>,
        (routed, separate): (Option<&mut RoutedBuffers<B>>, Option<&SeparateBuffers<B>>),
        accumulate: bool,
        out: &mut B::Buffer,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        if let Routed::Here(experts) = &self.routed {
            return experts.combine(context, routed.expect(WRONG_WORKSPACE), accumulate, out);
        }
        let &SeparateBuffers { ref combined, row_len, .. } = separate.expect(WRONG_WORKSPACE);
        if accumulate {
            context.pass.add_scaled(rows, combined, 1.0, out);
        } else {
            let columns = ColumnBlocks { row_len, start: 0, step: row_len };
            let size = CopySize { rows, blocks: 1, width: row_len };
            context.pass.copy_columns(size, (combined, columns), (out, columns));
        }
        Ok(())
    }
}
