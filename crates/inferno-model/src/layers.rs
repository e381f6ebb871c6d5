//! The shared decoder: normalization, attention and feed-forward, with the names of their tensors.

mod attention;
mod context;
mod experts;
mod mlp;

use inferno_backend::Backend;

use crate::config::FeedForwardConfig;
use crate::loader::Loader;
use crate::workspace::Workspace;
use crate::{Config, ModelError};
use attention::SelfAttention;
pub(crate) use context::ForwardContext;
use experts::MixtureOfExperts;
use mlp::Mlp;

/// One decoder layer: `x += attention(norm(x))`, then `x += feed_forward(norm(x))`.
pub(crate) struct DecoderLayer<B: Backend> {
    attention_norm: B::Buffer,
    attention: SelfAttention<B>,
    feed_forward_norm: B::Buffer,
    feed_forward: FeedForward<B>,
}

enum FeedForward<B: Backend> {
    Dense(Mlp<B>),
    Experts(MixtureOfExperts<B>),
}

impl<B: Backend> DecoderLayer<B> {
    pub(crate) fn load(
        loader: &mut Loader<'_, B>,
        config: &Config,
        layer: usize,
    ) -> Result<Self, ModelError> {
        let hidden_size = config.hidden_size;
        Ok(Self {
            attention_norm: loader.vector(&format!("blk.{layer}.attn_norm.weight"), hidden_size)?,
            attention: SelfAttention::load(loader, config, layer)?,
            feed_forward_norm: loader
                .vector(&format!("blk.{layer}.ffn_norm.weight"), hidden_size)?,
            feed_forward: match config.feed_forward {
                FeedForwardConfig::Dense { intermediate_size } => {
                    FeedForward::Dense(Mlp::load(loader, hidden_size, intermediate_size, layer)?)
                }
                FeedForwardConfig::Experts { intermediate_size, params } => {
                    let sizes = (hidden_size, intermediate_size);
                    FeedForward::Experts(MixtureOfExperts::load(loader, sizes, params, layer)?)
                }
            },
        })
    }

    /// Adds the layer's output to the residual stream `workspace.x`.
    ///
    /// **Errors**: out of memory.
    pub(crate) fn forward(
        &self,
        context: &ForwardContext<'_, B>,
        cache: &mut B::KvCache,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        self.attention.forward(context, &self.attention_norm, cache, workspace)?;
        let norm = &self.feed_forward_norm;
        match &self.feed_forward {
            FeedForward::Dense(mlp) => mlp.forward(context, norm, workspace),
            FeedForward::Experts(experts) => experts.forward(context, norm, workspace),
        }
    }
}
