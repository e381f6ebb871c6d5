//! Models with layer norms, most of them with a feed-forward block without a gate: GPT-2, GPT-J, GPT-NeoX and Pythia, BLOOM,
//! MPT, Falcon, StarCoder 1 and 2, CodeShell, Nemotron, Jais 2; and Jais, StableLM and Orion, which have a gate.
//!
//! **Source**: Radford et al., Language Models are Unsupervised Multitask Learners, section 2.3; Wang and Komatsuzaki, GPT-J-6B
//! and its reference code; Black et al., GPT-NeoX-20B, section 2; BigScience Workshop, BLOOM, section 3.2; MosaicML, MPT-7B
//! model card and its reference code; Almazrouei et al., The Falcon Series of Open Language Models, section 3; Lozhkov et al.,
//! StarCoder 2 and The Stack v2, section 6; Xie et al., CodeShell Technical Report, section 2; Parmar et al., Nemotron-4 15B,
//! section 2; Inception, Jais 2 model card; Sengupta et al., Jais and Jais-chat, section 3; Bellagente et al., Stable LM 2 1.6B
//! Technical Report, section 2; Chen et al., Orion-14B, section 2.

use inferno_backend::{Function, RopePairing};

use super::architecture::{Activation, Architecture, BASE, LAYER_NORMS, NormNames, Parallel};
use super::attention_facts::{AttentionFacts, DistanceBias, QkNormKind, Unrotated};
use crate::spec::tensors::Presence;

/// Embeddings of positions instead of rotary embedding.
pub(super) const GPT2: Architecture = Architecture {
    name: "gpt2",
    attention: AttentionFacts { unrotated: Unrotated::All, ..BASE.attention },
    activation: Activation::Plain(Function::GeluTanh),
    position_embeddings: Some(Presence::Required),
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

/// One norm for both blocks, rotary embedding of neighboring components, and no biases of queries, keys and values.
pub(super) const GPTJ: Architecture = Architecture {
    name: "gptj",
    norms: NormNames::SHARED,
    parallel: Parallel::Always,
    attention: AttentionFacts { pairing: RopePairing::Interleaved, ..BASE.attention },
    activation: Activation::Plain(Function::GeluTanh),
    ..LAYER_NORMS
};

/// Distances lower the scores; the embeddings are normalized.
pub(super) const BLOOM: Architecture = Architecture {
    name: "bloom",
    attention: AttentionFacts { distance_bias: DistanceBias::Max(8.0), ..GPT2.attention },
    position_embeddings: None,
    has_embedding_norm: true,
    ..GPT2
};

/// Distances lower the scores by a factor of the file, or positions have embeddings. Some models bound or normalize queries and
/// keys.
pub(super) const MPT: Architecture = Architecture {
    name: "mpt",
    attention: AttentionFacts {
        has_bound: true,
        distance_bias: DistanceBias::ByKey,
        qk_norm: QkNormKind::WholeIfPresent,
        ..GPT2.attention
    },
    activation: Activation::Plain(Function::Gelu),
    position_embeddings: Some(Presence::Optional),
    ..GPT2
};

/// Distances lower the scores by a factor of the file; gated by SiLU. Converters multiply embeddings and head by their factors.
pub(super) const JAIS: Architecture = Architecture {
    name: "jais",
    attention: AttentionFacts {
        distance_bias: DistanceBias::ByKey,
        is_scaled_by_size: true,
        ..GPT2.attention
    },
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

pub(super) const ORION: Architecture = Architecture { name: "orion", ..LAYER_NORMS };

/// Few key and value heads, all with biases.
pub(super) const CODE_SHELL: Architecture = Architecture { name: "codeshell", ..STARCODER2 };

/// Biases everywhere.
pub(super) const JAIS2: Architecture = Architecture { name: "jais2", ..NEMOTRON };
