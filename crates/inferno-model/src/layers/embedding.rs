//! Embeddings that each layer has of its own.

use inferno_backend::{
    Backend, ColumnBlocks, CopySize, EmbeddingIndex, Function, Pass, QkNorm, QkvLayout,
};

use super::context::ForwardContext;
use super::linear::Linear;
use super::residual::Residual;
use super::streams::LayerStreams;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::LayerEmbeddingsSpec;
use crate::spec::layer::LayerEmbeddingSpec;
use crate::workspace::{LayerEmbeddingBuffers, Workspace};

/// The embeddings of all layers.
pub(crate) struct LayerEmbeddings<B: Backend> {
    spec: LayerEmbeddingsSpec,
    table: B::Table,
    projection: Linear<B>,
    norm: B::Buffer,
}

/// The part of a layer: a projection of its embeddings times a gate, added to the residual stream.
pub(super) struct LayerEmbedding<B: Backend> {
    spec: LayerEmbeddingSpec,
    gate: Linear<B>,
    projection: Linear<B>,
    residual: Residual<B>,
}

impl<B: Backend> LayerEmbeddings<B> {
    pub(crate) fn load(
        loader: &mut Loader<'_, B>,
        spec: &LayerEmbeddingsSpec,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            spec: spec.clone(),
            table: loader.table(&spec.table, spec.row_len())?,
            projection: Linear::load(loader, &spec.projection)?,
            norm: loader.vector(&spec.norm)?,
        })
    }

    /// Computes the embeddings of all layers from the tokens and the input of the first layer.
    ///
    /// **Errors**: out of memory.
    pub(crate) fn compute(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { batch, x, layer_embeddings, .. } = workspace;
        let buffers = layer_embeddings.as_mut().expect("the workspace was created for this model");
        let LayerEmbeddingBuffers { all, embedded, .. } = buffers;
        let LayerEmbeddingsSpec { width, num_layers, eps, .. } = self.spec;
        self.projection.multiply(context, &*x, all)?;
        let scale = |factor: f64| Function::Scale { factor: factor as f32 };
        let hidden_size = self.spec.projection.weight.cols;
        context.pass.apply(rows, scale(1.0 / (hidden_size as f64).sqrt()), all);
        // The values of a layer are normalized as a head is.
        let layout = QkvLayout { has_kv: false, ..QkvLayout::new(num_layers, num_layers, width) };
        let norm = QkNorm { k: None, ..QkNorm::per_head(&self.norm, &self.norm, eps) };
        context.pass.rope(rows, &layout, Some(norm), None, all);
        context.pass.embed(batch, EmbeddingIndex::Token, &self.table, embedded);
        context.pass.add_scaled(rows, embedded, (width as f32).sqrt(), all);
        context.pass.apply(rows, scale(std::f64::consts::FRAC_1_SQRT_2), all);
        Ok(())
    }
}

impl<B: Backend> LayerEmbedding<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &LayerEmbeddingSpec,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            spec: spec.clone(),
            gate: Linear::load(loader, &spec.gate)?,
            projection: Linear::load(loader, &spec.projection)?,
            residual: Residual::load(loader, Some(&spec.post_norm), 1.0, None)?,
        })
    }

    /// Adds to the residual stream, or to all but the first if there are several.
    ///
    /// **Errors**: out of memory.
    pub(super) fn add(
        &self,
        context: &mut ForwardContext<'_, B>,
        streams: Option<&LayerStreams<B>>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { x, normed, branch, layer_embeddings, .. } = &mut *workspace;
        let buffers = layer_embeddings.as_mut().expect("the workspace was created for this model");
        let LayerEmbeddingBuffers { row_len, all, gates, own, .. } = buffers;
        let LayerEmbeddingSpec { width, column, function, .. } = self.spec;
        self.gate.multiply(context, &*x, gates)?;
        let size = CopySize { rows, blocks: 1, width };
        let from = ColumnBlocks { row_len: *row_len, start: column, step: 0 };
        let to = ColumnBlocks { row_len: width, start: 0, step: 0 };
        context.pass.copy_columns(size, (all, from), (own, to));
        context.pass.gate(rows, function, gates, own);
        let Some(streams) = streams else {
            return self.residual.add_product(context, own, &self.projection, x, (branch, normed));
        };
        let branch = branch.as_mut().expect("the workspace was created for this model");
        self.projection.multiply(context, &*own, branch)?;
        self.residual.normalize(context, branch, normed);
        streams.inject(context, workspace);
        Ok(())
    }
}
