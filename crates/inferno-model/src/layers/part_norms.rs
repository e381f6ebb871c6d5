//! Norms of all queries and of all keys of a token.

use inferno_backend::{Backend, ColumnBlocks, CopySize, Pass, QkvLayout};

use super::context::ForwardContext;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::NormSpec;

/// The norms of queries and of keys, which are as wide as the residual stream.
pub(super) struct PartNorms<B: Backend>([NormWeights<B>; 2]);

impl<B: Backend> PartNorms<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        [query, key]: &[NormSpec; 2],
    ) -> Result<Self, ModelError> {
        Ok(Self([NormWeights::load(loader, query)?, NormWeights::load(loader, key)?]))
    }

    /// Normalizes the queries and keys in the rows of `qkv`. `scratch` is overwritten.
    pub(super) fn apply(
        &self,
        context: &mut ForwardContext<'_, B>,
        heads: &QkvLayout,
        qkv: &mut B::Buffer,
        [scratch, normed]: [&mut B::Buffer; 2],
    ) {
        let (rows, pass) = (context.rows, &mut context.pass);
        let width = heads.part_lens()[0];
        let size = CopySize { rows, blocks: 1, width };
        let whole = ColumnBlocks { row_len: width, start: 0, step: 0 };
        for (index, norm) in self.0.iter().enumerate() {
            let part = ColumnBlocks { row_len: heads.row_len(), start: index * width, step: 0 };
            pass.copy_columns(size, (&*qkv, part), (&mut *scratch, whole));
            pass.norm(rows, &*scratch, norm.norm(), &mut *normed);
            pass.copy_columns(size, (&*normed, whole), (&mut *qkv, part));
        }
    }
}
