//! The loaded layers: their weights, and the operations that they consist of.

mod attention;
mod context;
mod experts;
mod linear;
mod mlp;
mod norm;
mod residual;

use inferno_backend::Backend;

use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::{BlockSpec, FeedForwardSpec, LayerSpec};
use crate::workspace::Workspace;
use attention::SelfAttention;
pub(crate) use context::ForwardContext;
use experts::MixtureOfExperts;
pub(crate) use linear::Linear;
use mlp::Mlp;
pub(crate) use norm::NormWeights;
use residual::Residual;

/// One decoder layer: attention, then a feed-forward block, each added to the residual stream.
pub(crate) struct DecoderLayer<B: Backend> {
    attention: Block<B, SelfAttention<B>>,
    feed_forward: Block<B, FeedForward<B>>,
    is_parallel: bool,
}

/// A block between its norm and the residual stream.
struct Block<B: Backend, T> {
    norm: Option<NormWeights<B>>,
    block: T,
    residual: Residual<B>,
}

enum FeedForward<B: Backend> {
    Dense(Mlp<B>),
    Experts(MixtureOfExperts<B>),
}

impl<B: Backend, T> Block<B, T> {
    fn load<'a, S>(
        loader: &mut Loader<'a, B>,
        spec: &BlockSpec<S>,
        load: impl FnOnce(&mut Loader<'a, B>, &S) -> Result<T, ModelError>,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            norm: spec.norm.as_ref().map(|norm| NormWeights::load(loader, norm)).transpose()?,
            block: load(loader, &spec.block)?,
            residual: Residual::load(loader, spec.post_norm.as_ref(), spec.residual_scale)?,
        })
    }
}

impl<B: Backend> DecoderLayer<B> {
    pub(crate) fn load(loader: &mut Loader<'_, B>, spec: &LayerSpec) -> Result<Self, ModelError> {
        Ok(Self {
            attention: Block::load(loader, &spec.attention, SelfAttention::load)?,
            feed_forward: Block::load(loader, &spec.feed_forward, |loader, spec| match spec {
                FeedForwardSpec::Dense(mlp) => Mlp::load(loader, mlp).map(FeedForward::Dense),
                FeedForwardSpec::Experts(experts) => {
                    MixtureOfExperts::load(loader, experts).map(FeedForward::Experts)
                }
            })?,
            is_parallel: spec.is_parallel,
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
        let Self { attention, feed_forward, is_parallel } = self;
        attention.block.attend(context, attention.norm.as_ref(), cache, workspace)?;
        if *is_parallel {
            feed_forward.expand(context, workspace)?;
            attention.block.project(context, &attention.residual, workspace)?;
        } else {
            attention.block.project(context, &attention.residual, workspace)?;
            feed_forward.expand(context, workspace)?;
        }
        feed_forward.project(context, workspace)
    }
}

impl<B: Backend> Block<B, FeedForward<B>> {
    /// Reads the residual stream.
    fn expand(
        &self,
        context: &ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let norm = self.norm.as_ref();
        match &self.block {
            FeedForward::Dense(mlp) => {
                let input = context.normed(norm, &workspace.x);
                mlp.expand(context, input, &mut workspace.hidden)
            }
            FeedForward::Experts(experts) => experts.expand(context, norm, workspace),
        }
    }

    /// Adds to the residual stream.
    fn project(
        &self,
        context: &ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        match &self.block {
            FeedForward::Dense(mlp) => {
                let Workspace { hidden, x, normed, branch, .. } = workspace;
                let hidden = hidden.get(mlp.intermediate_size());
                self.residual.add_product(context, hidden, mlp.down(), x, (branch, normed))
            }
            FeedForward::Experts(experts) => experts.project(context, &self.residual, workspace),
        }
    }
}
