//! The facts in which architectures differ and that files do not contain.

use inferno_backend::{Function, Gate, Gating, NormKind};

use super::attention_facts::AttentionFacts;
use crate::keys::{LAYER_NORM_EPS, RMS_EPS};
use crate::spec::tensors::Presence;

/// What distinguishes one architecture from the others.
///
/// Sizes, bases and factors are in the metadata of a file. A key that changes the computation of other architectures must
/// have no effect if no fact refers to it (`keys/unsupported.rs`).
#[derive(Debug)]
pub struct Architecture {
    /// Value of `general.architecture`, and the prefix of the architecture's metadata keys.
    pub name: &'static str,
    /// Whether tokens attend to those before them alone if the file does not say. If not, there are no logits.
    pub is_causal: bool,
    /// The norms of the residual stream.
    pub(crate) norm: NormKind,
    /// The key of their epsilon.
    pub(crate) eps_key: &'static str,
    /// Whether the norms multiply by a weight.
    pub(crate) has_norm_weights: bool,
    /// The tensors of a layer's norms.
    pub(crate) norms: NormNames,
    /// Whether attention and feed-forward block read the same residual stream.
    pub(crate) parallel: Parallel,
    pub(crate) attention: AttentionFacts,
    /// Whether the output of the heads and the input of the down projection are normalized.
    pub(crate) has_inner_norms: bool,
    /// Its recurrent layers, if it has any.
    pub(crate) recurrent: Option<RecurrentFacts>,
    /// Whether a layer is either a mixer or a feed-forward block.
    pub(crate) has_single_blocks: bool,
    /// Whether layers without query heads have no mixer, those with query heads alone multiply by a matrix instead of
    /// attention, and those whose feed-forward block has the size 0 have none.
    pub(crate) has_optional_blocks: bool,
    /// Whether `feed_forward_length` is the sum of the rows of gate and up projection.
    pub(crate) counts_gate_and_up: bool,
    /// Whether the layers are computed several times, if the file says so.
    pub(crate) has_loops: bool,
    /// Between the projections of the feed-forward blocks.
    pub(crate) activation: Activation,
    pub(crate) experts: ExpertFacts,
    /// Factor on the embeddings.
    pub(crate) embedding_scale: EmbeddingScale,
    /// Factor on the logits.
    pub(crate) logit_scale: LogitScale,
    /// Whether `residual_scale` and `attention.scale` are read.
    pub(crate) has_multipliers: bool,
    /// The factors if the file does not set their keys.
    pub(crate) default_factors: Option<DefaultFactors>,
    /// Whether scores are bounded.
    pub(crate) score_softcap: Softcap,
    /// Whether logits are bounded.
    pub(crate) logit_softcap: Softcap,
    /// Whether the norms are RMS norms in files that have the epsilon of these.
    pub(crate) has_norm_by_key: bool,
    /// Whether the halves of gated projections are bounded, if the file sets bounds.
    pub(crate) has_gate_bounds: bool,
    /// Whether layers have embeddings of their own, if the file sets their size.
    pub(crate) has_layer_embeddings: bool,
    /// Embeddings of positions, which are added to those of tokens, if there are any.
    pub(crate) position_embeddings: Option<Presence>,
    /// Whether the sum of the embeddings is normalized, after those of token types were added if the file has them.
    pub(crate) has_embedding_norm: bool,
    /// Whether there are several residual streams, with a low-rank branch next to attention.
    pub(crate) has_streams: bool,
    /// The tensor of the final norm, without its suffix, if there is one.
    pub(crate) output_norm: Option<&'static str>,
    /// The classifier of pooled hidden states, if the file has one.
    pub(crate) classifier: ClassifierFacts,
}

/// Facts of classifiers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassifierFacts {
    /// What the first of two products is followed by if the file does not say.
    pub(crate) activation: ClassifierActivation,
    /// The hidden states that are classified if the file does not say.
    pub(crate) pooling: ClassifierPooling,
    /// Whether outputs become probabilities.
    pub(crate) has_softmax: bool,
}

/// The activation within a classifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClassifierActivation {
    /// A hyperbolic tangent.
    Tanh,
    /// GELU, exactly.
    Gelu,
    /// `max(x, 0)`.
    Relu,
}

/// What a classifier reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassifierPooling {
    /// The hidden state of the first token, or of the last one if attention is causal.
    One,
    /// The mean of all hidden states.
    Mean,
}

/// Names of the tensors of a layer's norms, without their suffix: the first that exists is used. Without names there is
/// no such norm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormNames {
    pub(crate) attention: &'static [&'static str],
    pub(crate) post_attention: &'static [&'static str],
    pub(crate) feed_forward: &'static [&'static str],
    pub(crate) post_feed_forward: &'static [&'static str],
    /// Norms of the residual stream after the attention was added to it, and after the feed-forward block was.
    pub(crate) sums: Option<[&'static str; 2]>,
    /// Whether the first layer may have no norm of the input of its attention.
    pub(crate) first_is_optional: bool,
}

impl NormNames {
    /// Norms of the inputs.
    pub(crate) const PRE: Self = Self {
        attention: &["attn_norm"],
        post_attention: &[],
        feed_forward: &["ffn_norm"],
        post_feed_forward: &[],
        sums: None,
        first_is_optional: false,
    };
    /// Norms of sums alone.
    pub(crate) const SUMS: Self = Self {
        attention: &[],
        feed_forward: &[],
        sums: Some(["attn_output_norm", "layer_output_norm"]),
        ..Self::PRE
    };
    /// Norms of the inputs, the second under the name `post_attention_norm`.
    pub(crate) const PRE_RENAMED: Self =
        Self { feed_forward: &["post_attention_norm"], ..Self::PRE };
    /// Norms of the outputs.
    pub(crate) const POST: Self = Self {
        attention: &[],
        post_attention: &["post_attention_norm"],
        feed_forward: &[],
        post_feed_forward: &["post_ffw_norm"],
        ..Self::PRE
    };
    /// Norms of inputs and outputs.
    pub(crate) const SANDWICH: Self =
        Self { attention: &["attn_norm"], feed_forward: &["ffn_norm"], ..Self::POST };
    /// One norm of the input of both blocks.
    pub(crate) const SHARED: Self = Self { feed_forward: &["attn_norm"], ..Self::PRE };
}

/// Whether both blocks of a layer read the same residual stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parallel {
    Never,
    Always,
    /// As the key `use_parallel_residual` says.
    ByKey,
    /// Unless layers have a norm of their own for the feed-forward block. The key is ignored: llama.cpp's converter
    /// sets it in files of both kinds.
    WithoutSecondNorm,
}

/// The recurrent layers of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RecurrentFacts {
    pub(crate) kind: RecurrentKind,
    pub(crate) layers: RecurrentLayers,
}

/// The mixer of recurrent layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RecurrentKind {
    /// **Source**: Yang et al., Gated Delta Networks: Improving Mamba2 with Delta Rule, section 3.
    DeltaNet,
    /// A delta net with heads as attention has them, whose matrices decay row by row. Steps and gates are products of low rank.
    ///
    /// **Source**: Kimi Team, Kimi Linear: An Expressive, Efficient Attention Architecture, section 4.
    KimiDeltaNet,
    /// A gated convolution alone.
    ///
    /// **Source**: Liquid AI, LFM2 Technical Report, section 2.
    ShortConv,
    /// **Source**: Gu and Dao, Mamba: Linear-Time Sequence Modeling with Selective State Spaces, section 3.
    Mamba1,
    /// **Source**: Dao and Gu, Transformers are SSMs, section 7.
    Mamba2 {
        /// The smallest step.
        min_step: f32,
    },
}

/// Which layers are recurrent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecurrentLayers {
    /// Those of the file's list, or all but the last of each period.
    ByKey,
    /// Those without key/value heads.
    WithoutKvHeads,
    /// All of them have both mixers.
    NextToAttention,
    /// All of them, and none has attention.
    All,
}

/// What feed-forward blocks compute between their projections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Activation {
    /// A function of a gate and an up projection.
    Gated(Gate),
    /// A function of a single projection.
    Plain(Function),
    /// A function of a gate and an up projection, or of a single projection if the file has no gate.
    GatedIfPresent(Function),
    /// The function of a gate and an up projection that the key `hidden_activation` names.
    GatedByKey {
        /// The function if the key is absent.
        default: Function,
    },
    /// xIELU of a single projection, with parameters in the metadata.
    Xielu,
}

/// A published model, by its number of blocks and the size of its vocabulary: some of its files lack a key.
pub(crate) type ModelSize = (usize, usize);

/// Facts of mixtures of experts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpertFacts {
    /// How router logits become probabilities if the file does not say; with `has_keys` alone it may.
    pub(crate) gating: Gating,
    /// Published models for which it is the sigmoid function instead.
    pub(crate) sigmoid_models: &'static [ModelSize],
    /// Whether the weights of the chosen experts are normalized if the file does not say.
    pub(crate) normalize: bool,
    /// Whether the gating function, groups and a factor on the weights are read.
    pub(crate) has_keys: bool,
    /// Whether layers have a dense block next to the experts, both with norms of their own.
    pub(crate) beside_dense: bool,
    /// Whether the weights of experts are factors on their inputs instead of their outputs.
    pub(crate) weighs_inputs: bool,
    /// Whether exactly the layers with a router have experts.
    pub(crate) by_router: bool,
    pub(crate) inputs: ExpertInputs,
    /// Whether the output is the mean of the shared expert's and of the others' sum.
    pub(crate) averages_shared: bool,
}

/// What routers and experts read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpertInputs {
    /// The input of the feed-forward block.
    Block,
    /// Experts read that, routers the residual stream before the mixers of the layer, without a norm.
    RouterBeforeMixers,
    /// Both read the residual stream before the mixers, after a norm of their own. A dense block reads the input of the
    /// feed-forward block.
    BeforeMixers,
}

/// Whether values `x` are bounded by `cap * tanh(x / cap)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Softcap {
    Never,
    /// By the value of the key, or this one if it is absent.
    Default(f32),
    /// By the value of the key, if there is one.
    ByKey,
}

/// Factor on the embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmbeddingScale {
    One,
    /// The root of their width.
    Root,
    /// That of the key `embedding_scale`.
    Key,
}

/// Factors on embeddings, on the outputs of blocks and on logits.
///
/// **Source**: Hu et al., MiniCPM, section 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DefaultFactors {
    pub(crate) embedding: f32,
    /// Outputs of blocks are multiplied by this, divided by the root of the number of layers.
    pub(crate) depth: f32,
    /// Logits are divided by the ratio of the width of hidden states to this one.
    pub(crate) base_width: f32,
}

/// What the key `logit_scale` does to logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogitScale {
    None,
    Multiplies,
    Divides,
}

/// Pre-norm layers with RMS norms, rotary attention over everything and a feed-forward block gated by SiLU: what
/// architectures are compared with.
pub(crate) const BASE: Architecture = Architecture {
    name: "",
    is_causal: true,
    norm: NormKind::Rms,
    eps_key: RMS_EPS,
    has_norm_weights: true,
    norms: NormNames::PRE,
    parallel: Parallel::Never,
    attention: AttentionFacts::BASE,
    has_inner_norms: false,
    recurrent: None,
    has_single_blocks: false,
    has_optional_blocks: false,
    counts_gate_and_up: false,
    has_loops: false,
    activation: Activation::Gated(Gate::Product(Function::Silu)),
    experts: ExpertFacts {
        gating: Gating::Softmax,
        sigmoid_models: &[],
        normalize: true,
        has_keys: false,
        beside_dense: false,
        weighs_inputs: false,
        by_router: false,
        inputs: ExpertInputs::Block,
        averages_shared: false,
    },
    embedding_scale: EmbeddingScale::One,
    logit_scale: LogitScale::None,
    has_multipliers: false,
    default_factors: None,
    score_softcap: Softcap::Never,
    logit_softcap: Softcap::Never,
    has_norm_by_key: false,
    has_gate_bounds: false,
    has_layer_embeddings: false,
    position_embeddings: None,
    has_embedding_norm: false,
    has_streams: false,
    output_norm: Some("output_norm"),
    classifier: ClassifierFacts {
        activation: ClassifierActivation::Tanh,
        pooling: ClassifierPooling::One,
        has_softmax: false,
    },
};

/// [`BASE`] with layer norms.
pub(crate) const LAYER_NORMS: Architecture =
    Architecture { norm: NormKind::Layer, eps_key: LAYER_NORM_EPS, ..BASE };
