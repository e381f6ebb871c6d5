//! Decoders whose scores are lowered by distances instead of rotary embedding: Baichuan 13B and Refact. Baichuan 7B has rotary
//! embedding.
//!
//! **Source**: Yang et al., Baichuan 2, section 2.3; Refact AI, Refact-1.6B model card.

use super::architecture::{Architecture, BASE};
use super::attention_facts::{AttentionFacts, DistanceBias, Unrotated};
use super::llama::LLAMA;

/// The variants differ in their number of layers.
pub(super) const BAICHUAN: Architecture = Architecture {
    name: "baichuan",
    attention: AttentionFacts {
        distance_bias: DistanceBias::OfVariant { num_layers: 40, max: 8.0 },
        unrotated: Unrotated::WithDistanceBias,
        ..LLAMA.attention
    },
    ..LLAMA
};

/// All query heads share one key/value head.
pub(super) const REFACT: Architecture = Architecture {
    name: "refact",
    attention: AttentionFacts {
        distance_bias: DistanceBias::Max(8.0),
        unrotated: Unrotated::WithDistanceBias,
        ..BASE.attention
    },
    ..BASE
};
