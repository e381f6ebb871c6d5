//! The buffers of a forward pass, allocated once.

use inferno_backend::{Backend, BackendError, ExpertParams};

use crate::Config;
use crate::config::FeedForwardConfig;

/// The largest batch that a workspace can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Number of tokens in one batch, over all sequences.
    pub max_num_tokens: usize,
    /// Number of logit rows in one batch. Each occupies `vocab_size` floats on the device, and as
    /// many on the host if the host cannot read device memory.
    pub max_num_logit_rows: usize,
}

/// Buffers for batches up to [`BatchLimits`].
pub struct Workspace<B: Backend> {
    pub(crate) limits: BatchLimits,
    pub(crate) batch: B::DeviceBatch,
    /// The residual stream.
    pub(crate) x: B::Buffer,
    /// Input of a mixture of experts; after the last layer, the gathered `logit_rows`.
    pub(crate) normed: B::Buffer,
    pub(crate) angles: B::Buffer,
    pub(crate) qkv: B::Buffer,
    pub(crate) attended: B::Buffer,
    pub(crate) hidden: B::Buffer,
    pub(crate) experts: Option<ExpertBuffers<B>>,
    pub(crate) logits: B::Buffer,
    pub(crate) host_angles: Vec<f32>,
    /// Staging memory for rows that the host cannot read on the device.
    pub(crate) host_rows: Vec<f32>,
}

/// Additional buffers of a mixture of experts.
pub(crate) struct ExpertBuffers<B: Backend> {
    pub(crate) router_logits: B::Buffer,
    pub(crate) routing: B::Routing,
    pub(crate) out: B::Buffer,
}

impl<B: Backend> Workspace<B> {
    pub(crate) fn new(
        backend: &B,
        config: &Config,
        limits: BatchLimits,
    ) -> Result<Self, BackendError> {
        let shapes = BufferShapes::new(config, limits);
        let alloc = |BufferShape { rows, cols }| backend.alloc(rows, cols);
        let experts = match shapes.experts {
            Some(experts) => Some(ExpertBuffers {
                router_logits: alloc(experts.router_logits)?,
                routing: backend.alloc_routing(limits.max_num_tokens, &experts.params)?,
                out: alloc(experts.out)?,
            }),
            None => None,
        };
        Ok(Self {
            limits,
            batch: backend.alloc_batch(),
            x: alloc(shapes.x)?,
            normed: alloc(shapes.x)?,
            angles: alloc(shapes.angles)?,
            qkv: alloc(shapes.qkv)?,
            attended: alloc(shapes.attended)?,
            hidden: alloc(shapes.hidden)?,
            experts,
            logits: alloc(shapes.logits)?,
            host_angles: Vec::new(),
            host_rows: Vec::new(),
        })
    }

    /// Number of floats in a workspace for `config`, on the device and the host together.
    pub(crate) fn num_floats(config: &Config, limits: BatchLimits) -> usize {
        let shapes = BufferShapes::new(config, limits);
        let experts = shapes.experts.map(|experts| [experts.router_logits, experts.out]);
        [shapes.x, shapes.x, shapes.qkv, shapes.attended, shapes.hidden]
            .into_iter()
            .chain([shapes.angles, shapes.angles, shapes.logits, shapes.logits])
            .chain(experts.into_iter().flatten())
            .map(|BufferShape { rows, cols }| rows.saturating_mul(cols))
            .fold(0, usize::saturating_add)
    }
}

#[derive(Clone, Copy)]
struct BufferShape {
    rows: usize,
    cols: usize,
}

/// The shape of every buffer.
struct BufferShapes {
    x: BufferShape,
    angles: BufferShape,
    qkv: BufferShape,
    attended: BufferShape,
    hidden: BufferShape,
    experts: Option<ExpertBufferShapes>,
    logits: BufferShape,
}

struct ExpertBufferShapes {
    params: ExpertParams,
    router_logits: BufferShape,
    out: BufferShape,
}

impl BufferShapes {
    fn new(config: &Config, limits: BatchLimits) -> Self {
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let (intermediate_size, params) = match config.feed_forward {
            FeedForwardConfig::Dense { intermediate_size } => (intermediate_size, None),
            FeedForwardConfig::Experts { intermediate_size, params } => {
                (intermediate_size, Some(params))
            }
        };
        let slots_per_token = params.map_or(1, |params| params.num_experts_used);
        let slots = |cols| BufferShape {
            rows: limits.max_num_tokens.saturating_mul(slots_per_token),
            cols,
        };
        Self {
            x: tokens(config.hidden_size),
            angles: tokens(config.rope.rotary_dim),
            qkv: tokens(config.qkv.row_len()),
            attended: tokens(config.qkv.num_heads * config.qkv.head_dim),
            hidden: slots(intermediate_size),
            experts: params.map(|params| ExpertBufferShapes {
                params,
                router_logits: tokens(params.num_experts),
                out: slots(config.hidden_size),
            }),
            logits: BufferShape { rows: limits.max_num_logit_rows, cols: config.vocab_size },
        }
    }
}
