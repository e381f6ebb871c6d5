//! The input of a prediction head: the embedding of a token and the hidden state before it.

use inferno_backend::{Backend, ColumnBlocks, CopySize, Pass};

use super::context::ForwardContext;
use super::input::Input;
use super::linear::Linear;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::prediction_head::FusionSpec;
use crate::workspace::Workspace;

/// The norms and the projection of both inputs.
pub(crate) struct Fusion<B: Backend> {
    embedding_norm: NormWeights<B>,
    hidden_norm: NormWeights<B>,
    projection: Linear<B>,
    hidden_size: usize,
}

impl<B: Backend> Fusion<B> {
    pub(crate) fn load(loader: &mut Loader<'_, B>, spec: &FusionSpec) -> Result<Self, ModelError> {
        Ok(Self {
            embedding_norm: NormWeights::load(loader, &spec.embedding_norm)?,
            hidden_norm: NormWeights::load(loader, &spec.hidden_norm)?,
            projection: Linear::load(loader, &spec.projection)?,
            hidden_size: spec.projection.weight.num_rows(),
        })
    }

    /// Replaces the hidden states in `workspace.x` by the input of the layer.
    ///
    /// **Errors**: out of memory.
    pub(crate) fn combine(
        &self,
        context: &mut ForwardContext<'_, B>,
        input: &Input<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        self.normalize(context, &self.hidden_norm, self.hidden_size, workspace);
        input.embed(context, workspace);
        self.normalize(context, &self.embedding_norm, 0, workspace);
        let Workspace { x, fused, .. } = workspace;
        let fused = fused.as_mut().expect("the workspace was created for this model");
        self.projection.multiply(context, &*fused, x)
    }

    /// Writes the rows of `workspace.x` after a norm to the columns from `start` on.
    fn normalize(
        &self,
        context: &mut ForwardContext<'_, B>,
        norm: &NormWeights<B>,
        start: usize,
        workspace: &mut Workspace<B>,
    ) {
        let Workspace { x, normed, fused, .. } = workspace;
        let fused = fused.as_mut().expect("the workspace was created for this model");
        let (rows, width) = (context.rows, self.hidden_size);
        context.pass.norm(rows, x, norm.norm(), normed);
        let size = CopySize { rows, blocks: 1, width };
        let from = ColumnBlocks { row_len: width, start: 0, step: 0 };
        let to = ColumnBlocks { row_len: 2 * width, start, step: 0 };
        context.pass.copy_columns(size, (normed, from), (fused, to));
    }
}
