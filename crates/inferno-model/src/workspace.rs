//! The buffers that one forward pass works in, allocated once.

use inferno_backend::{Backend, BackendError};

use crate::Config;
use crate::config::FeedForwardConfig;

/// How large a batch a workspace can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Tokens in one batch, over all sequences.
    pub max_num_tokens: usize,
    /// Rows of logits in one batch; each takes `vocab_size` floats on the device and the host.
    pub max_num_logit_rows: usize,
}

/// Buffers for batches up to [`BatchLimits`]; a step allocates nothing beyond them.
pub struct Workspace<B: Backend> {
    pub(crate) limits: BatchLimits,
    pub(crate) batch: B::DeviceBatch,
    /// The residual stream.
    pub(crate) x: B::Buffer,
    pub(crate) normed: B::Buffer,
    pub(crate) angles: B::Buffer,
    pub(crate) qkv: B::Buffer,
    pub(crate) attended: B::Buffer,
    pub(crate) gate_up: B::Buffer,
    pub(crate) hidden: B::Buffer,
    pub(crate) experts: Option<ExpertBuffers<B>>,
    pub(crate) logits: B::Buffer,
    pub(crate) host_angles: Vec<f32>,
    pub(crate) host_logits: Vec<f32>,
}

/// What a mixture of experts needs beside the rest.
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
        let tokens = limits.max_num_tokens;
        let (intermediate_size, experts) = match config.feed_forward {
            FeedForwardConfig::Dense { intermediate_size } => (intermediate_size, None),
            FeedForwardConfig::Experts {
                intermediate_size,
                params,
            } => (intermediate_size, Some(params)),
        };
        let slots = tokens * experts.map_or(1, |params| params.num_experts_used);
        let experts = match experts {
            Some(params) => Some(ExpertBuffers {
                router_logits: backend.alloc(tokens, params.num_experts)?,
                routing: backend.alloc_routing(tokens, &params)?,
                out: backend.alloc(slots, config.hidden_size)?,
            }),
            None => None,
        };
        Ok(Self {
            limits,
            batch: backend.alloc_batch(),
            x: backend.alloc(tokens, config.hidden_size)?,
            normed: backend.alloc(tokens, config.hidden_size)?,
            angles: backend.alloc(tokens, config.rope.rotary_dim)?,
            qkv: backend.alloc(tokens, config.qkv.row_len())?,
            attended: backend.alloc(tokens, config.qkv.num_heads * config.qkv.head_dim)?,
            gate_up: backend.alloc(slots, 2 * intermediate_size)?,
            hidden: backend.alloc(slots, intermediate_size)?,
            experts,
            logits: backend.alloc(limits.max_num_logit_rows, config.vocab_size)?,
            host_angles: Vec::new(),
            host_logits: Vec::new(),
        })
    }

    /// Floats that a workspace for `config` holds, for an estimate of memory.
    pub(crate) fn num_floats(config: &Config, limits: BatchLimits) -> usize {
        let (slots, intermediate_size) = match config.feed_forward {
            FeedForwardConfig::Dense { intermediate_size } => (1, intermediate_size),
            FeedForwardConfig::Experts {
                intermediate_size,
                params,
            } => (params.num_experts_used, intermediate_size),
        };
        let attention = config.qkv.row_len() + config.qkv.num_heads * config.qkv.head_dim;
        let per_token = 2 * config.hidden_size
            + config.rope.rotary_dim
            + attention
            + 3 * slots * intermediate_size;
        limits.max_num_tokens * per_token + 2 * limits.max_num_logit_rows * config.vocab_size
    }
}
