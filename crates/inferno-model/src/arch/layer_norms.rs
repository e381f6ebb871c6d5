//! Models with layer norms and a feed-forward block without a gate: GPT-NeoX and Pythia, Falcon, StarCoder 2, Nemotron;
//! and StableLM, which has a gate.
//!
//! **Source**: Black et al., GPT-NeoX-20B, section 2; Almazrouei et al., The Falcon Series of Open Language Models,
//! section 3; Lozhkov et al., StarCoder 2 and The Stack v2, section 6; Parmar et al., Nemotron-4 15B, section 2;
//! Bellagente et al., Stable LM 2 1.6B Technical Report, section 2.

use inferno_backend::Function;

use super::architecture::{
    Activation, Architecture, AttentionFacts, BASE, LAYER_NORMS, NormNames, Parallel, QkNormKind,
};

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
    parallel: Parallel::ByKey,
    attention: AttentionFacts { qk_norm: QkNormKind::OwnWeights, ..BASE.attention },
    ..LAYER_NORMS
};
