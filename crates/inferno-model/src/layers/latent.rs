//! Multi-head latent attention: queries and the cached key of a layer, which contains the value.
//!
//! A head of the stacked row is the rotated part, then the part that is multiplied with the latent vector: rotary
//! embedding rotates the first components.

use inferno_backend::{Backend, ColumnBlocks, CopySize, LinearInput, Pass, QkvLayout};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::LatentSpec;
use crate::workspace::LatentBuffers;

/// The projections of latent attention.
pub(super) struct LatentProjection<B: Backend> {
    latent_dim: usize,
    rotary_dim: usize,
    plain_dim: usize,
    value_dim: usize,
    query_down: Option<(Linear<B>, NormWeights<B>)>,
    query: Linear<B>,
    kv_down: Linear<B>,
    kv_norm: NormWeights<B>,
    key_up: Linear<B>,
    value_up: Linear<B>,
}

impl<B: Backend> LatentProjection<B> {
    pub(super) fn load(loader: &mut Loader<'_, B>, spec: &LatentSpec) -> Result<Self, ModelError> {
        let &LatentSpec { latent_dim, rotary_dim, plain_dim, value_dim, .. } = spec;
        let query_down = match &spec.query_down {
            Some((linear, norm)) => {
                Some((Linear::load(loader, linear)?, NormWeights::load(loader, norm)?))
            }
            None => None,
        };
        Ok(Self {
            latent_dim,
            rotary_dim,
            plain_dim,
            value_dim,
            query_down,
            query: Linear::load(loader, &spec.query)?,
            kv_down: Linear::load(loader, &spec.kv_down)?,
            kv_norm: NormWeights::load(loader, &spec.kv_norm)?,
            key_up: Linear::load(loader, &spec.key_up)?,
            value_up: Linear::load(loader, &spec.value_up)?,
        })
    }

    /// Computes queries and the key from the input of the layer, before rotary embedding.
    ///
    /// **Errors**: out of memory.
    pub(super) fn project<'x>(
        &self,
        context: &mut ForwardContext<'_, B>,
        heads: &QkvLayout,
        input: impl Fn() -> LinearInput<'x, B::Buffer>,
        buffers: &mut LatentBuffers<B>,
        qkv: &mut B::Buffer,
    ) -> Result<(), ModelError> {
        match (&self.query_down, &mut buffers.query_down) {
            (Some((down, norm)), Some(compressed)) => {
                down.multiply(context, input(), compressed)?;
                let normed = LinearInput::Normed { x: compressed, norm: norm.norm() };
                self.query.multiply(context, normed, &mut buffers.query)?;
            }
            _ => self.query.multiply(context, input(), &mut buffers.query)?,
        }
        self.kv_down.multiply(context, input(), &mut buffers.kv_down)?;
        self.absorb_queries(context, heads, buffers, qkv)?;
        self.compress(context, heads, buffers, qkv);
        Ok(())
    }

    /// Writes the query heads: the rotated part, and the rest after the up-projection of keys.
    fn absorb_queries(
        &self,
        context: &mut ForwardContext<'_, B>,
        heads: &QkvLayout,
        buffers: &mut LatentBuffers<B>,
        qkv: &mut B::Buffer,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let &Self { latent_dim, rotary_dim, plain_dim, .. } = self;
        let (blocks, head_dim) = (heads.num_heads, plain_dim + rotary_dim);
        let in_query = |start| ColumnBlocks { row_len: blocks * head_dim, start, step: head_dim };
        let in_row = |start| ColumnBlocks { row_len: heads.row_len(), start, step: heads.head_dim };
        let packed = |width| ColumnBlocks { row_len: blocks * width, start: 0, step: width };
        let LatentBuffers { query, plain, absorbed, routing, .. } = buffers;
        let size = |width| CopySize { rows, blocks, width };
        context.pass.copy_columns(size(rotary_dim), (query, in_query(plain_dim)), (qkv, in_row(0)));
        context.pass.copy_columns(
            size(plain_dim),
            (query, in_query(0)),
            (plain, packed(plain_dim)),
        );
        context.pass.route_to_all(rows, routing);
        let (weight, bias) = (&self.key_up.weight, self.key_up.bias());
        context.pass.expert_linear(routing, plain, weight, bias, absorbed)?;
        let to = in_row(rotary_dim);
        context.pass.copy_columns(size(latent_dim), (absorbed, packed(latent_dim)), (qkv, to));
        Ok(())
    }

    /// Writes the key, which is the rotated part and the latent vector.
    fn compress(
        &self,
        context: &mut ForwardContext<'_, B>,
        heads: &QkvLayout,
        buffers: &mut LatentBuffers<B>,
        qkv: &mut B::Buffer,
    ) {
        let rows = context.rows;
        let &Self { latent_dim, rotary_dim, .. } = self;
        let LatentBuffers { kv_down, latent, normed, .. } = buffers;
        let size = |width| CopySize { rows, blocks: 1, width };
        let columns = |row_len, start| ColumnBlocks { row_len, start, step: 0 };
        let down = |start| columns(latent_dim + rotary_dim, start);
        let [q_len, ..] = heads.part_lens();
        let in_row = |start| columns(heads.row_len(), start);
        context.pass.copy_columns(
            size(rotary_dim),
            (kv_down, down(latent_dim)),
            (qkv, in_row(q_len)),
        );
        context.pass.copy_columns(
            size(latent_dim),
            (kv_down, down(0)),
            (latent, columns(latent_dim, 0)),
        );
        context.pass.norm(rows, latent, self.kv_norm.norm(), normed);
        let source = (&*normed, columns(latent_dim, 0));
        context.pass.copy_columns(size(latent_dim), source, (qkv, in_row(q_len + rotary_dim)));
    }

    /// Computes the outputs of the heads from their latent outputs.
    ///
    /// **Errors**: out of memory.
    pub(super) fn expand_values(
        &self,
        context: &mut ForwardContext<'_, B>,
        heads: &QkvLayout,
        attended: &B::Buffer,
        buffers: &mut LatentBuffers<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let LatentBuffers { absorbed, values, routing, out, .. } = buffers;
        let copy = |width: usize, from: &B::Buffer, to: &mut B::Buffer, pass: &mut B::Pass<'_>| {
            let row_len = heads.num_heads * width;
            let whole = ColumnBlocks { row_len, start: 0, step: 0 };
            let size = CopySize { rows, blocks: 1, width: row_len };
            pass.copy_columns(size, (from, whole), (to, whole));
        };
        copy(self.latent_dim, attended, absorbed, &mut context.pass);
        let (weight, bias) = (&self.value_up.weight, self.value_up.bias());
        context.pass.expert_linear(routing, absorbed, weight, bias, values)?;
        copy(self.value_dim, values, out, &mut context.pass);
        Ok(())
    }
}
