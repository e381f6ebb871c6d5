//! The buffers of latent attention.

use inferno_backend::{Backend, BackendError, ExpertParams};

use super::{BatchLimits, BufferShape};
use crate::ModelSpec;
use crate::spec::layer::ProjectionSpec;

/// Additional buffers of latent attention.
pub(crate) struct LatentBuffers<B: Backend> {
    /// The heads, as experts that every token uses.
    pub(crate) routing: B::Routing,
    pub(crate) query_down: Option<B::Buffer>,
    pub(crate) query: B::Buffer,
    pub(crate) kv_down: B::Buffer,
    /// The latent vector before and after its norm.
    pub(crate) latent: B::Buffer,
    pub(crate) normed: B::Buffer,
    /// The plain part of queries, one row per head.
    pub(crate) plain: B::Buffer,
    /// Queries after the up-projection of keys, then latent outputs, one row per head.
    pub(crate) absorbed: B::Buffer,
    /// Outputs, one row per head.
    pub(crate) values: B::Buffer,
    /// Outputs, one row per token.
    pub(crate) out: B::Buffer,
}

/// The shapes of [`LatentBuffers`].
pub(super) struct LatentBufferShapes {
    num_heads: usize,
    query_down: Option<BufferShape>,
    query: BufferShape,
    kv_down: BufferShape,
    latent: BufferShape,
    plain: BufferShape,
    absorbed: BufferShape,
    values: BufferShape,
    out: BufferShape,
}

impl LatentBufferShapes {
    pub(super) fn new(spec: &ModelSpec, limits: BatchLimits) -> Option<Self> {
        // All layers of a model have the same shape.
        let (num_heads, latent) = spec.attentions().find_map(|attention| match &attention.qkv {
            ProjectionSpec::Latent(latent) => Some((attention.heads.num_heads, latent)),
            ProjectionSpec::Stacked(_) => None,
        })?;
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let slots = limits.max_num_tokens.saturating_mul(num_heads);
        let heads = |cols| BufferShape { rows: slots, cols };
        let query_down = latent.query_down.as_ref();
        Some(Self {
            num_heads,
            query_down: query_down.map(|_| tokens(latent.query.weight.cols)),
            query: tokens(num_heads * (latent.plain_dim + latent.rotary_dim)),
            kv_down: tokens(latent.latent_dim + latent.rotary_dim),
            latent: tokens(latent.latent_dim),
            plain: heads(latent.plain_dim),
            absorbed: heads(latent.latent_dim),
            values: heads(latent.value_dim),
            out: tokens(num_heads * latent.value_dim),
        })
    }

    pub(super) fn alloc<B: Backend>(
        self,
        backend: &B,
        limits: BatchLimits,
    ) -> Result<LatentBuffers<B>, BackendError> {
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        let params = ExpertParams::softmax(self.num_heads, self.num_heads, false);
        Ok(LatentBuffers {
            routing: backend.alloc_routing(limits.max_num_tokens, &params)?,
            query_down: self.query_down.map(alloc).transpose()?,
            query: alloc(self.query)?,
            kv_down: alloc(self.kv_down)?,
            latent: alloc(self.latent)?,
            normed: alloc(self.latent)?,
            plain: alloc(self.plain)?,
            absorbed: alloc(self.absorbed)?,
            values: alloc(self.values)?,
            out: alloc(self.out)?,
        })
    }

    /// The shape of every buffer.
    pub(super) fn all(&self) -> impl Iterator<Item = BufferShape> {
        let per_head = [self.plain, self.absorbed, self.values];
        let per_token = [self.query, self.kv_down, self.latent, self.latent, self.out];
        per_head.into_iter().chain(per_token).chain(self.query_down)
    }
}
