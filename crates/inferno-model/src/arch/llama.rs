//! Llama 1 to 3, Mistral, Mixtral, and other models of the same shape.
//!
//! **Source**: Touvron et al., LLaMA: Open and Efficient Foundation Language Models, section 2.2; Jiang et al., Mistral
//! 7B, section 2.

use inferno_backend::{Function, RopePairing};

use super::architecture::{Activation, Architecture, AttentionFacts, BASE, QkNormKind, Unrotated};

pub(super) const LLAMA: Architecture = Architecture {
    name: "llama",
    // Converters permute the rows of the query and key projections so that pairs are adjacent.
    attention: AttentionFacts { pairing: RopePairing::Interleaved, ..BASE.attention },
    ..BASE
};

/// Mistral 3 and later: queries grow with their position. Files of earlier models use the name `llama`.
pub(super) const MISTRAL3: Architecture = Architecture {
    name: "mistral3",
    attention: AttentionFacts { has_temperature: true, ..LLAMA.attention },
    ..LLAMA
};

/// SmolLM 3: every fourth layer has no rotary embedding.
pub(super) const SMOLLM3: Architecture = Architecture {
    name: "smollm3",
    attention: AttentionFacts { unrotated: Unrotated::Periodic(4), ..LLAMA.attention },
    ..LLAMA
};

/// AFM of Arcee: a feed-forward block without a gate.
pub(super) const ARCEE: Architecture =
    Architecture { name: "arcee", activation: Activation::Plain(Function::ReluSquared), ..LLAMA };

/// Apertus: xIELU without a gate, norms of heads.
pub(super) const APERTUS: Architecture = Architecture {
    name: "apertus",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHead, ..BASE.attention },
    activation: Activation::Xielu,
    ..BASE
};
