//! The residual stream before the first layer.

use inferno_backend::{Backend, EmbeddingIndex, Function, Pass};

use super::context::ForwardContext;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::InputSpec;
use crate::spec::tensors::MatrixPart;
use crate::workspace::Workspace;

/// The embeddings of tokens, positions and token types.
pub(crate) struct Input<B: Backend> {
    embeddings: B::Table,
    scale: f32,
    positions: Option<B::Table>,
    token_types: Option<B::Table>,
    norm: Option<NormWeights<B>>,
}

impl<B: Backend> Input<B> {
    pub(crate) fn load(
        loader: &mut Loader<'_, B>,
        spec: &InputSpec,
        hidden_size: usize,
    ) -> Result<Self, ModelError> {
        let InputSpec { embeddings, scale, positions, token_types, norm } = spec;
        let mut table = |table: &Option<MatrixPart>| {
            table.as_ref().map(|table| loader.table(table, hidden_size)).transpose()
        };
        let [positions, token_types] = [table(positions)?, table(token_types)?];
        Ok(Self {
            positions,
            token_types,
            norm: NormWeights::load_optional(loader, norm.as_ref())?,
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
        let more = [
            (EmbeddingIndex::Position, &self.positions),
            (EmbeddingIndex::TokenType, &self.token_types),
        ];
        for (index, table) in more {
            if let Some(table) = table {
                context.pass.embed(batch, index, table, normed);
                context.pass.add_scaled(context.rows, normed, 1.0, x);
            }
        }
        if let Some(norm) = &self.norm {
            norm.apply(context, x, normed);
        }
    }
}
