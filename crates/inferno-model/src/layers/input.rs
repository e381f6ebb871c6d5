//! The residual stream before the first layer.

use inferno_backend::{Backend, EmbeddingIndex, Function, Pass};

use super::context::ForwardContext;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::InputSpec;
use crate::workspace::Workspace;

/// The embeddings of tokens and positions.
pub(crate) struct Input<B: Backend> {
    embeddings: B::Table,
    scale: f32,
    positions: Option<B::Table>,
}

impl<B: Backend> Input<B> {
    pub(crate) fn load(
        loader: &mut Loader<'_, B>,
        spec: &InputSpec,
        hidden_size: usize,
    ) -> Result<Self, ModelError> {
        let InputSpec { embeddings, scale, positions } = spec;
        let positions = positions.as_ref().map(|table| loader.table(table, hidden_size));
        Ok(Self {
            positions: positions.transpose()?,
            embeddings: loader.table(embeddings, hidden_size)?,
            scale: *scale,
        })
    }

    /// Leaves the embeddings of the batch's tokens in `workspace.x`.
    pub(crate) fn embed(&self, context: &mut ForwardContext<'_, B>, workspace: &mut Workspace<B>) {
        let Workspace { batch, x, normed, .. } = workspace;
        context.pass.embed(batch, EmbeddingIndex::Token, &self.embeddings, x);
        if self.scale != 1.0 {
            context.pass.apply(context.rows, Function::Scale { factor: self.scale }, x);
        }
        if let Some(table) = &self.positions {
            context.pass.embed(batch, EmbeddingIndex::Position, table, normed);
            context.pass.add_scaled(context.rows, normed, 1.0, x);
        }
    }
}
