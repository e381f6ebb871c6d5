//! The buffers of several residual streams.

use inferno_backend::{Backend, BackendError, ColumnBlocks, CopySize, Pass};

use super::{BatchLimits, BufferShape};
use crate::ModelSpec;
use crate::layers::ForwardContext;
use crate::spec::streams::LowRankSpec;

/// Additional buffers of several residual streams.
pub(crate) struct StreamBuffers<B: Backend> {
    pub(crate) num_streams: usize,
    /// Width of a stream.
    pub(crate) width: usize,
    /// A row holds all streams.
    pub(crate) streams: B::Buffer,
    /// The streams after the prediction of a layer.
    pub(crate) predictions: B::Buffer,
    /// All streams but one.
    pub(crate) others: B::Buffer,
    /// A number for each stream.
    pub(crate) routed: B::Buffer,
    /// A factor for each pair of streams.
    pub(crate) pairs: B::Buffer,
    /// A factor for each stream.
    pub(crate) factors: B::Buffer,
}

impl<B: Backend> StreamBuffers<B> {
    /// The columns of the streams from `stream` on.
    pub(crate) fn all_columns(&self, stream: usize) -> ColumnBlocks {
        let Self { num_streams, width, .. } = *self;
        ColumnBlocks { row_len: num_streams * width, start: stream * width, step: width }
    }

    /// Makes the predictions the streams.
    pub(crate) fn swap(&mut self) {
        std::mem::swap(&mut self.streams, &mut self.predictions);
    }

    /// Copies a stream.
    pub(crate) fn copy_stream(
        &self,
        context: &mut ForwardContext<'_, B>,
        stream: usize,
        out: &mut B::Buffer,
    ) {
        let size = CopySize { rows: context.rows, blocks: 1, width: self.width };
        let to = ColumnBlocks { row_len: self.width, start: 0, step: 0 };
        context.pass.copy_columns(size, (&self.streams, self.all_columns(stream)), (out, to));
    }
}

/// Additional buffers of low-rank branches.
pub(crate) struct LowRankBuffers<B: Backend> {
    /// Between both products.
    pub(crate) inner: B::Buffer,
    pub(crate) out: B::Buffer,
}

/// The shapes of [`StreamBuffers`].
pub(super) struct StreamBufferShapes {
    num_streams: usize,
    width: usize,
    max_num_tokens: usize,
}

impl StreamBufferShapes {
    pub(super) fn new(spec: &ModelSpec, limits: BatchLimits) -> Option<Self> {
        let num_streams = spec.streams.as_ref()?.num_streams;
        let max_num_tokens = limits.max_num_tokens;
        Some(Self { num_streams, width: spec.hidden_size, max_num_tokens })
    }

    pub(super) fn alloc<B: Backend>(self, backend: &B) -> Result<StreamBuffers<B>, BackendError> {
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        let [streams, predictions, others, routed, pairs, factors] = self.all();
        Ok(StreamBuffers {
            num_streams: self.num_streams,
            width: self.width,
            streams: alloc(streams)?,
            predictions: alloc(predictions)?,
            others: alloc(others)?,
            routed: alloc(routed)?,
            pairs: alloc(pairs)?,
            factors: alloc(factors)?,
        })
    }

    /// The shape of every buffer, in order.
    pub(super) fn all(&self) -> [BufferShape; 6] {
        let Self { num_streams, width, max_num_tokens } = *self;
        let (all, others) = (num_streams * width, (num_streams - 1) * width);
        [all, all, others, num_streams, num_streams * num_streams, num_streams]
            .map(|cols| BufferShape { rows: max_num_tokens, cols })
    }
}

/// The shapes of [`LowRankBuffers`].
pub(super) struct LowRankBufferShapes {
    inner: BufferShape,
    out: BufferShape,
}

impl LowRankBufferShapes {
    pub(super) fn new(spec: &ModelSpec, limits: BatchLimits) -> Option<Self> {
        // All layers of a model have the same shape.
        let rank =
            spec.layers.iter().find_map(|layer| layer.low_rank.as_ref().map(LowRankSpec::rank))?;
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        Some(Self { inner: tokens(rank), out: tokens(spec.hidden_size) })
    }

    pub(super) fn alloc<B: Backend>(self, backend: &B) -> Result<LowRankBuffers<B>, BackendError> {
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        Ok(LowRankBuffers { inner: alloc(self.inner)?, out: alloc(self.out)? })
    }

    /// The shape of every buffer.
    pub(super) fn all(&self) -> [BufferShape; 2] {
        [self.inner, self.out]
    }
}
