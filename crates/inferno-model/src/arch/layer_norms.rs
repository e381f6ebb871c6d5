//! Models with layer norms and a feed-forward block without a gate: GPT-2, GPT-NeoX and Pythia, Falcon, StarCoder 1 and
//! 2, Nemotron; and StableLM, which has a gate.
//!
//! **Source**: Radford et al., Language Models are Unsupervised Multitask Learners, section 2.3; Black et al., GPT-NeoX-20B, section 2; Almazrouei et al., The Falcon Series of Open Language Models,
//! section 3; Lozhkov et al., StarCoder 2 and The Stack v2, section 6; Parmar et al., Nemotron-4 15B, section 2;
//! Bellagente et al., Stable LM 2 1.6B Technical Report, section 2.

use inferno_backend::Function;

use super::architecture::{Activation, Architecture, BASE, LAYER_NORMS, NormNames, Parallel};
use super::attention_facts::{AttentionFacts, QkNormKind, Unrotated};

/// Embeddings of positions instead of rotary embedding.
pub(super) const GPT2: Architecture = Architecture {
    name: "gpt2",
    attention: AttentionFacts { unrotated: Unrotated::All, ..BASE.attention },
    activation: Activation::Plain(Function::GeluTanh),
    has_position_embeddings: true,
    ..LAYER_NORMS
};

/// All query heads share one key/value head.
pub(super) const STARCODER: Architecture = Architecture { name: "starcoder", ..GPT2 };

pub(super) const GPT_NEOX: Architecture = Architecture {
    name: "gptneox",
    parallel: Parallel::ByKey,
    activation: Activation::Plain(Function::Gelu),
    ..LAYER_NORMS
};

/// The small model has one norm for both blocks, the large one a norm each.
pub(super) const FALCON: Architecture = Architecture {
    name: "falcon",
    norms: NormNames { attention: &["attn_norm_2", "attn_norm"], ..NormNames::SHARED },
    parallel: Parallel::Always,
    activation: Activation::Plain(Function::Gelu),
    ..LAYER_NORMS
};

pub(super) const STARCODER2: Architecture = Architecture {
    name: "starcoder2",
    activation: Activation::Plain(Function::GeluTanh),
    ..LAYER_NORMS
};

/// Converters add one to the weights of the norms.
pub(super) const NEMOTRON: Architecture = Architecture {
    name: "nemotron",
    activation: Activation::Plain(Function::ReluSquared),
    ..LAYER_NORMS
};

/// The large model has parallel blocks with one norm, and a norm for each head.
pub(super) const STABLELM: Architecture = Architecture {
    name: "stablelm",
    norms: NormNames { feed_forward: &["ffn_norm", "attn_norm"], ..NormNames::PRE },
    parallel: Parallel::WithoutSecondNorm,
    attention: AttentionFacts { qk_norm: QkNormKind::OwnWeights, ..BASE.attention },
    ..LAYER_NORMS
};
