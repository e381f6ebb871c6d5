//! The layers of a model as data: what each computes, and with which tensors.

use inferno_backend::{AttentionMask, Function, NormKind, QkvLayout};

use super::feed_forward::{ExpertsSpec, FeedForwardSpec, MlpSpec};
use super::recurrent::RecurrentSpec;
use super::streams::{LayerStreamsSpec, LowRankSpec};
use super::tensors::{LinearSpec, MatrixSpec, VectorSpec};

/// One decoder layer: mixers of tokens and a feed-forward block, each added to the residual stream.
#[derive(Debug, Clone)]
pub(crate) struct LayerSpec {
    /// Usually one; several read the same rows.
    pub(crate) mixers: BlockSpec<Vec<MixerSpec>>,
    /// A low-rank branch that is added to the mixers' output; the sum is divided by the square root of 2.
    pub(crate) low_rank: Option<LowRankSpec>,
    pub(crate) feed_forward: Option<BlockSpec<FeedForwardSpec>>,
    /// Whether both blocks read the residual stream before either is added to it.
    pub(crate) is_parallel: bool,
    /// How the residual streams change, if there are several.
    pub(crate) streams: Option<LayerStreamsSpec>,
    pub(crate) embedding: Option<LayerEmbeddingSpec>,
    /// Factor on the residual stream after the layer.
    pub(crate) output_scale: Option<VectorSpec>,
}

/// What a layer adds of its own embeddings: a projection of these times a gate, after a norm.
#[derive(Debug, Clone)]
pub(crate) struct LayerEmbeddingSpec {
    pub(crate) width: usize,
    /// The column of the layer's embeddings in those of all layers.
    pub(crate) column: usize,
    /// Function of the gate.
    pub(crate) function: Function,
    pub(crate) gate: LinearSpec,
    pub(crate) projection: LinearSpec,
    pub(crate) post_norm: NormSpec,
}

/// How a layer mixes the tokens of a sequence.
#[derive(Debug, Clone)]
pub(crate) enum MixerSpec {
    Attention(Box<AttentionSpec>),
    Recurrent(Box<RecurrentSpec>),
    /// A product, without regard to other tokens.
    Linear(LinearSpec),
}

/// A block of a layer, between the norms of its input and of its output.
#[derive(Debug, Clone)]
pub(crate) struct BlockSpec<T> {
    pub(crate) norm: Option<NormSpec>,
    pub(crate) block: T,
    pub(crate) post_norm: Option<NormSpec>,
    /// Factor on the output.
    pub(crate) residual_scale: f32,
    pub(crate) sum_norm: Option<SumNormSpec>,
}

/// The norm of the residual stream after a block's output was added to it: the original place of norms in transformers.
#[derive(Debug, Clone)]
pub(crate) struct SumNormSpec {
    pub(crate) norm: NormSpec,
    /// The norm of a second sum: that of the first one's result and the block's input.
    pub(crate) with_input: Option<NormSpec>,
}

impl SumNormSpec {
    fn norms(&self) -> impl Iterator<Item = &NormSpec> {
        [&self.norm].into_iter().chain(&self.with_input)
    }
}

impl<T> BlockSpec<T> {
    /// A block whose output is added as it is.
    pub(super) fn plain(norm: Option<NormSpec>, block: T) -> Self {
        Self { norm, block, post_norm: None, residual_scale: 1.0, sum_norm: None }
    }

    fn has_branch(&self) -> bool {
        let adds_input = self.sum_norm.as_ref().is_some_and(|norm| norm.with_input.is_some());
        self.post_norm.is_some() || self.residual_scale != 1.0 || adds_input
    }
}

/// A norm of the residual stream or of a block's output.
#[derive(Debug, Clone)]
pub(crate) struct NormSpec {
    pub(crate) kind: NormKind,
    pub(crate) eps: f32,
    /// Number of values of a row.
    pub(crate) len: usize,
    pub(crate) weight: Option<VectorSpec>,
    pub(crate) bias: Option<VectorSpec>,
}

/// Grouped-query attention.
#[derive(Debug, Clone)]
pub(crate) struct AttentionSpec {
    pub(crate) heads: QkvLayout,
    /// Index of the layer in the KV cache.
    pub(crate) cache_layer: usize,
    pub(crate) scale: f32,
    pub(crate) softcap: Option<f32>,
    /// The positions that a query attends to.
    pub(crate) mask: AttentionMask,
    /// What distances add to scores.
    pub(crate) distance_bias: Option<DistanceBiasSpec>,
    /// Index of the rotary embedding in [`ModelSpec::rotaries`](super::ModelSpec::rotaries).
    pub(crate) rotary: Option<usize>,
    /// Whether queries are multiplied by the factors of [`ModelSpec::temperature`](super::ModelSpec::temperature).
    pub(crate) has_temperature: bool,
    pub(crate) qk_norm: Option<QkNormSpec>,
    /// The bound of the magnitude of queries, keys and values, before everything else.
    pub(crate) bound: Option<f32>,
    /// Norms of all queries and of all keys of a token, before `qk_norm`.
    pub(crate) part_norms: Option<[NormSpec; 2]>,
    pub(crate) qkv: ProjectionSpec,
    /// The norm of the output of all heads.
    pub(crate) output_norm: Option<NormSpec>,
    pub(crate) output: LinearSpec,
    /// A score for each query head, of a position without a value.
    pub(crate) sinks: Option<VectorSpec>,
    pub(crate) gate: Option<HeadGateSpec>,
}

/// A product that the output of the heads is multiplied by.
#[derive(Debug, Clone)]
pub(crate) struct HeadGateSpec {
    pub(crate) linear: LinearSpec,
    /// The function of the product.
    pub(crate) function: Function,
    /// Whether it has one value per head instead of one per component.
    pub(crate) is_per_head: bool,
}

impl HeadGateSpec {
    /// Number of values of the product for `heads`.
    pub(crate) fn width(&self, heads: &QkvLayout) -> usize {
        if self.is_per_head { heads.num_heads } else { heads.out_len() }
    }
}

/// What the distances of positions add to scores.
#[derive(Debug, Clone)]
pub(crate) enum DistanceBiasSpec {
    /// The slope of each query head by which distances lower its scores.
    Slopes(Vec<f32>),
    /// A row for each bucket of distances, with a value for each query head.
    Buckets(VectorSpec),
}

impl DistanceBiasSpec {
    fn vectors(&self) -> Option<&VectorSpec> {
        match self {
            Self::Slopes(_) => None,
            Self::Buckets(buckets) => Some(buckets),
        }
    }
}

/// How queries, keys and values are computed.
#[derive(Debug, Clone)]
pub(crate) enum ProjectionSpec {
    /// By one stacked product.
    Stacked(LinearSpec),
    /// By way of a latent vector, which is cached instead of keys and values.
    Latent(Box<LatentSpec>),
}

/// Multi-head latent attention, with the up-projection of keys applied to queries and that of values to the
/// output: all heads read one key, the rotated part followed by the latent vector, and one value, the latent
/// vector.
///
/// **Source**: DeepSeek-AI, DeepSeek-V2, section 2.1.
#[derive(Debug, Clone)]
pub(crate) struct LatentSpec {
    /// Width of the latent vector.
    pub(crate) latent_dim: usize,
    /// Components of a head that are rotated.
    pub(crate) rotary_dim: usize,
    /// Components of a query head that are not rotated.
    pub(crate) plain_dim: usize,
    /// Width of a head's output.
    pub(crate) value_dim: usize,
    /// The down-projection of queries and its norm, if they have one.
    pub(crate) query_down: Option<(LinearSpec, NormSpec)>,
    pub(crate) query: LinearSpec,
    /// The latent vector, then the rotated part of the key.
    pub(crate) kv_down: LinearSpec,
    pub(crate) kv_norm: NormSpec,
    /// From the plain part of a query to the latent vector, for each head.
    pub(crate) key_up: LinearSpec,
    /// From the latent vector to the output, for each head.
    pub(crate) value_up: LinearSpec,
}

/// Norms of query, key and value heads; see [`inferno_backend::QkNorm`].
#[derive(Debug, Clone)]
pub(crate) struct QkNormSpec {
    pub(crate) kind: NormKind,
    pub(crate) eps: f32,
    pub(crate) whole: bool,
    pub(crate) after_rotation: bool,
    /// The weights of queries, and of keys if the layer has them; `None` means norms of both without weights.
    pub(crate) weights: Option<(VectorSpec, Option<VectorSpec>)>,
    /// Whether values are normalized too, without a weight.
    pub(crate) normalizes_values: bool,
}

impl LayerSpec {
    /// The layer's attention, if it has any.
    pub(crate) fn attention(&self) -> Option<&AttentionSpec> {
        self.mixers.block.iter().find_map(|mixer| match mixer {
            MixerSpec::Attention(attention) => Some(&**attention),
            MixerSpec::Recurrent(_) | MixerSpec::Linear(_) => None,
        })
    }

    /// The layer's recurrent mixer, if it has one.
    pub(crate) fn recurrent(&self) -> Option<&RecurrentSpec> {
        self.mixers.block.iter().find_map(|mixer| match mixer {
            MixerSpec::Attention(_) | MixerSpec::Linear(_) => None,
            MixerSpec::Recurrent(recurrent) => Some(&**recurrent),
        })
    }

    /// The width of the input of the product that the layer has instead of attention, if it has one.
    pub(crate) fn linear_mixer_width(&self) -> Option<usize> {
        self.mixers.block.iter().find_map(|mixer| match mixer {
            MixerSpec::Linear(linear) => Some(linear.weight.cols),
            MixerSpec::Attention(_) | MixerSpec::Recurrent(_) => None,
        })
    }

    /// The layer's mixture of experts, if it has one.
    pub(crate) fn experts(&self) -> Option<&ExpertsSpec> {
        match &self.feed_forward.as_ref()?.block {
            FeedForwardSpec::Dense(_) => None,
            FeedForwardSpec::Experts(experts) => Some(experts),
        }
    }

    /// The layer's dense block or its shared expert, if it has either.
    fn mlp(&self) -> Option<&MlpSpec> {
        match &self.feed_forward.as_ref()?.block {
            FeedForwardSpec::Dense(mlp) => Some(mlp),
            FeedForwardSpec::Experts(experts) => experts.shared.as_ref().map(|shared| &shared.mlp),
        }
    }

    /// Every product of the layer.
    pub(crate) fn linears(&self) -> Vec<&LinearSpec> {
        let mut linears: Vec<_> = self.mixers.block.iter().flat_map(MixerSpec::linears).collect();
        linears.extend(self.mlp().into_iter().flat_map(MlpSpec::linears));
        linears.extend(self.low_rank.iter().flat_map(LowRankSpec::linears));
        linears.extend(self.streams.iter().flat_map(LayerStreamsSpec::linears));
        let embedding = self.embedding.iter();
        linears.extend(embedding.flat_map(|embedding| [&embedding.gate, &embedding.projection]));
        linears.extend(self.experts().into_iter().flat_map(ExpertsSpec::linears));
        linears
    }

    /// Every vector of the layer but the biases of products.
    pub(crate) fn vectors(&self) -> Vec<&VectorSpec> {
        let Self { mixers, feed_forward, .. } = self;
        let mut norms = vec![&mixers.norm, &mixers.post_norm];
        norms.extend(feed_forward.iter().flat_map(|block| [&block.norm, &block.post_norm]));
        let sum_norms =
            [mixers.sum_norm.as_ref(), feed_forward.as_ref().and_then(|it| it.sum_norm.as_ref())];
        let sum_norms = sum_norms.into_iter().flatten().flat_map(SumNormSpec::norms);
        let norms = norms.into_iter().flatten().chain(sum_norms);
        let mut vectors: Vec<_> = norms.flat_map(NormSpec::vectors).collect();
        vectors.extend(mixers.block.iter().flat_map(MixerSpec::vectors));
        let down_norm = self.mlp().and_then(|mlp| mlp.down_norm.as_ref());
        vectors.extend(down_norm.into_iter().flat_map(NormSpec::vectors));
        vectors.extend(self.experts().into_iter().flat_map(ExpertsSpec::vectors));
        vectors.extend(self.low_rank.iter().flat_map(LowRankSpec::vectors));
        vectors.extend(self.streams.iter().flat_map(LayerStreamsSpec::vectors));
        vectors.extend(self.embedding.iter().flat_map(|embedding| embedding.post_norm.vectors()));
        vectors.extend(&self.output_scale);
        vectors
    }

    /// The width between the projections of the dense block or the shared expert.
    pub(crate) fn mlp_width(&self) -> Option<usize> {
        self.mlp().map(|mlp| mlp.intermediate_size)
    }

    /// The width of the gates of heads, or of their output if it has a norm. No architecture has both.
    pub(crate) fn gated_heads_width(&self) -> Option<usize> {
        let AttentionSpec { gate, output_norm, heads, .. } = self.attention()?;
        let width = gate.as_ref().map(|gate| gate.width(heads));
        width.or_else(|| output_norm.is_some().then(|| heads.out_len()))
    }

    /// The width between the projections of the dense block, if its gate is sparse or the input of its down projection
    /// has a norm.
    pub(crate) fn gated_mlp_width(&self) -> Option<usize> {
        let has_buffer = |it: &&MlpSpec| it.sparse_gate.is_some() || it.down_norm.is_some();
        self.mlp().filter(has_buffer).map(|mlp| mlp.intermediate_size)
    }

    /// Whether the shared expert has a gate.
    pub(crate) fn has_shared_gate(&self) -> bool {
        let shared = self.experts().and_then(|experts| experts.shared.as_ref());
        shared.is_some_and(|shared| shared.gate.is_some())
    }

    /// Whether the output of a block is not added to the residual stream as it is.
    pub(crate) fn has_branch(&self) -> bool {
        let feed_forward = self.feed_forward.as_ref();
        self.mixers.has_branch()
            || feed_forward.is_some_and(BlockSpec::has_branch)
            || self.has_shared_gate()
            || self.embedding.is_some()
            || self.low_rank.is_some()
            || self.streams.is_some()
    }

    /// Number of experts that a token uses of a matrix with several.
    pub(crate) fn num_experts_used(&self, matrix: &MatrixSpec) -> usize {
        let is_per_head = |mixer: &MixerSpec| {
            mixer.linears().into_iter().any(|linear| std::ptr::eq(&linear.weight, matrix))
        };
        match self.experts() {
            // Every head uses its matrix.
            _ if self.mixers.block.iter().any(is_per_head) => matrix.num_experts,
            Some(experts) if matrix.num_experts > 1 => experts.params.num_experts_used,
            _ => 1,
        }
    }
}

impl MixerSpec {
    fn linears(&self) -> Vec<&LinearSpec> {
        match self {
            Self::Attention(attention) => {
                let mut linears = attention.qkv.linears();
                linears.push(&attention.output);
                linears.extend(attention.gate.iter().map(|gate| &gate.linear));
                linears
            }
            Self::Recurrent(recurrent) => recurrent.linears(),
            Self::Linear(linear) => vec![linear],
        }
    }

    /// Every vector but the biases of products.
    fn vectors(&self) -> Vec<&VectorSpec> {
        match self {
            Self::Attention(attention) => {
                let norms = attention.qk_norm.iter().filter_map(|norm| norm.weights.as_ref());
                let norms = norms.flat_map(|(q, k)| std::iter::once(q).chain(k));
                let part_norms = attention.part_norms.iter().flatten().flat_map(NormSpec::vectors);
                let output_norm = attention.output_norm.iter().flat_map(NormSpec::vectors);
                let bias = attention.distance_bias.iter().filter_map(DistanceBiasSpec::vectors);
                let norms = norms.chain(part_norms).chain(output_norm).chain(bias);
                norms.chain(&attention.sinks).chain(attention.qkv.vectors()).collect()
            }
            Self::Recurrent(recurrent) => recurrent.vectors(),
            Self::Linear(_) => Vec::new(),
        }
    }
}

impl ProjectionSpec {
    fn linears(&self) -> Vec<&LinearSpec> {
        match self {
            Self::Stacked(qkv) => vec![qkv],
            Self::Latent(latent) => {
                let query_down = latent.query_down.iter().map(|(linear, _)| linear);
                let others = [&latent.query, &latent.kv_down, &latent.key_up, &latent.value_up];
                query_down.chain(others).collect()
            }
        }
    }

    /// Every vector but the biases of products.
    fn vectors(&self) -> Vec<&VectorSpec> {
        match self {
            Self::Stacked(_) => Vec::new(),
            Self::Latent(latent) => {
                let query_norm = latent.query_down.iter().flat_map(|(_, norm)| norm.vectors());
                query_norm.chain(latent.kv_norm.vectors()).collect()
            }
        }
    }
}

impl NormSpec {
    /// The weight and the bias, if there are any.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        self.weight.iter().chain(&self.bias)
    }
}
