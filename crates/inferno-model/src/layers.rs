//! The loaded layers: their weights, and the operations that they consist of.

mod attention;
mod context;
mod distance_bias;
mod embedding;
mod experts;
mod fusion;
mod head_gate;
mod input;
mod latent;
mod linear;
mod linear_mixer;
mod low_rank_gates;
mod mlp;
mod norm;
mod output;
mod part_norms;
mod recurrent;
mod residual;
mod routed_experts;
mod selective_scan;
mod separate_experts;
mod streams;

use inferno_backend::{Backend, Function, Pass};

use crate::ModelError;
use crate::loader::Loader;
use crate::model_cache::ModelCache;
use crate::spec::feed_forward::FeedForwardSpec;
use crate::spec::layer::{BlockSpec, LayerSpec, MixerSpec};
use crate::workspace::Workspace;
use attention::SelfAttention;
pub(crate) use context::ForwardContext;
use embedding::LayerEmbedding;
pub(crate) use embedding::LayerEmbeddings;
use experts::MixtureOfExperts;
pub(crate) use fusion::Fusion;
pub(crate) use input::Input;
use linear_mixer::LinearMixer;
use mlp::Mlp;
use norm::NormWeights;
use norm::input_rows;
pub(crate) use output::Output;
use recurrent::RecurrentMixer;
use residual::Residual;
pub use separate_experts::SeparateExperts;
pub(crate) use separate_experts::{ExpertExecutor, ExpertLayers};
pub(crate) use streams::Streams;
use streams::{LayerStreams, LowRank};

/// One decoder layer: mixers of tokens, then a feed-forward block, each added to the residual stream.
pub(crate) struct DecoderLayer<B: Backend> {
    mixers: Block<B, Vec<Mixer<B>>>,
    low_rank: Option<LowRank<B>>,
    feed_forward: Option<Block<B, FeedForward<B>>>,
    is_parallel: bool,
    streams: Option<LayerStreams<B>>,
    embedding: Option<LayerEmbedding<B>>,
    /// Factor on the residual stream after the layer.
    output_scale: Option<f32>,
}

/// A block between its norm and the residual stream.
struct Block<B: Backend, T> {
    norm: Option<NormWeights<B>>,
    block: T,
    residual: Residual<B>,
}

enum Mixer<B: Backend> {
    Attention(SelfAttention<B>),
    Recurrent(RecurrentMixer<B>),
    Linear(LinearMixer<B>),
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
            norm: NormWeights::load_optional(loader, spec.norm.as_ref())?,
            block: load(loader, &spec.block)?,
            residual: Residual::load(
                loader,
                spec.post_norm.as_ref(),
                spec.residual_scale,
                spec.sum_norm.as_ref(),
            )?,
        })
    }
}

impl<B: Backend> DecoderLayer<B> {
    pub(crate) fn load(loader: &mut Loader<'_, B>, spec: &LayerSpec) -> Result<Self, ModelError> {
        let feed_forward = spec.feed_forward.as_ref().map(|block| {
            Block::load(loader, block, |loader, spec| match spec {
                FeedForwardSpec::Dense(mlp) => Mlp::load(loader, mlp).map(FeedForward::Dense),
                FeedForwardSpec::Experts(experts) => {
                    MixtureOfExperts::load(loader, experts).map(FeedForward::Experts)
                }
            })
        });
        let feed_forward = feed_forward.transpose()?;
        let mixers = Block::load(loader, &spec.mixers, |loader, mixers| {
            mixers.iter().map(|mixer| Mixer::load(loader, mixer)).collect()
        })?;
        let low_rank = match &spec.low_rank {
            Some(low_rank) => Some(LowRank::load(loader, low_rank)?),
            None => None,
        };
        let streams = match &spec.streams {
            Some(streams) => Some(LayerStreams::load(loader, streams)?),
            None => None,
        };
        let embedding = match &spec.embedding {
            Some(embedding) => Some(LayerEmbedding::load(loader, embedding)?),
            None => None,
        };
        let output_scale = match &spec.output_scale {
            Some(scale) => loader.values(scale)?.first().copied(),
            None => None,
        };
        let is_parallel = spec.is_parallel;
        Ok(Self { mixers, low_rank, feed_forward, is_parallel, streams, embedding, output_scale })
    }

    /// Adds the layer's output to the residual stream `workspace.x`.
    ///
    /// **Errors**: out of memory.
    pub(crate) fn forward(
        &self,
        context: &mut ForwardContext<'_, B>,
        cache: &mut ModelCache<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Self { mixers, feed_forward, is_parallel, streams, .. } = self;
        if let Some(streams) = streams {
            streams.predict(context, workspace)?;
        }
        if let Some(low_rank) = &self.low_rank {
            low_rank.compute(context, workspace)?;
        }
        if let Some(Block { block: FeedForward::Experts(experts), .. }) = feed_forward {
            experts.begin(context, workspace)?;
        }
        for mixer in &mixers.block {
            mixer.mix(context, mixers.norm.as_ref(), cache, workspace)?;
        }
        if let (true, Some(feed_forward)) = (*is_parallel, feed_forward) {
            feed_forward.expand(context, workspace)?;
        }
        for mixer in &mixers.block {
            mixer.project(context, &mixers.residual, workspace)?;
        }
        if let Some(low_rank) = &self.low_rank {
            low_rank.add(context, workspace);
        }
        if let Some(feed_forward) = feed_forward {
            if !is_parallel {
                feed_forward.expand(context, workspace)?;
            }
            feed_forward.project(context, workspace)?;
        }
        if let Some(streams) = streams {
            streams.correct(context, workspace)?;
        }
        if let Some(embedding) = &self.embedding {
            embedding.add(context, streams.as_ref(), workspace)?;
        }
        if let Some(factor) = self.output_scale {
            context.pass.apply(context.rows, Function::Scale { factor }, &mut workspace.x);
        }
        Ok(())
    }
}

impl<B: Backend> Mixer<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &MixerSpec) -> Result<Self, ModelError> {
        match spec {
            MixerSpec::Attention(attention) => {
                SelfAttention::load(loader, attention).map(Self::Attention)
            }
            MixerSpec::Recurrent(recurrent) => {
                RecurrentMixer::load(loader, recurrent).map(Self::Recurrent)
            }
            MixerSpec::Linear(linear) => LinearMixer::load(loader, linear).map(Self::Linear),
        }
    }

    /// Reads the residual stream.
    fn mix(
        &self,
        context: &mut ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        cache: &mut ModelCache<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        match self {
            Self::Attention(attention) => attention.attend(context, norm, &mut cache.kv, workspace),
            Self::Recurrent(recurrent) => {
                let state = cache.state.as_mut().expect("the cache was created for this model");
                recurrent.mix(context, norm, state, workspace)
            }
            Self::Linear(linear) => {
                linear.prepare(context, norm, workspace);
                Ok(())
            }
        }
    }

    /// Adds to the residual stream.
    fn project(
        &self,
        context: &mut ForwardContext<'_, B>,
        residual: &Residual<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        match self {
            Self::Attention(attention) => attention.project(context, residual, workspace),
            Self::Recurrent(recurrent) => recurrent.project(context, residual, workspace),
            Self::Linear(linear) => linear.project(context, residual, workspace),
        }
    }
}

impl<B: Backend> Block<B, FeedForward<B>> {
    /// Reads the residual stream.
    fn expand(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let norm = self.norm.as_ref();
        match &self.block {
            FeedForward::Dense(mlp) => {
                let Workspace { x, hidden, gates, .. } = workspace;
                mlp.expand(context, input_rows(norm, x), [hidden, gates])
            }
            FeedForward::Experts(experts) => experts.expand(context, norm, workspace),
        }
    }

    /// Adds to the residual stream.
    fn project(
        &self,
        context: &mut ForwardContext<'_, B>,
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
