//! Llama 1 to 4, Mistral, Mixtral, and other models of the same shape.
//!
//! **Source**: Touvron et al., LLaMA: Open and Efficient Foundation Language Models, section 2.2; Jiang et al., Mistral
//! 7B, section 2; Meta, Llama 4 model card and its reference code.

use inferno_backend::{Function, Gating, RopePairing};

use super::architecture::{Activation, Architecture, BASE, ExpertFacts};
use super::attention_facts::{
    AttentionFacts, QkNormKind, Temperature, Unrotated, WindowLength, Windows,
};

pub(super) const LLAMA: Architecture = Architecture {
    name: "llama",
    // Converters permute the rows of the query and key projections so that pairs are adjacent.
    attention: AttentionFacts {
        pairing: RopePairing::Interleaved,
        windows: Windows::AllByDefault,
        ..BASE.attention
    },
    ..BASE
};

/// Attention in chunks with rotary embedding and normalized heads, except in every fourth layer. MobileLLM, whose files
/// have the same name, has neither chunks nor layers without rotary embedding.
pub(super) const LLAMA4: Architecture = Architecture {
    name: "llama4",
    attention: AttentionFacts {
        qk_norm: QkNormKind::Unweighted { except_experts: 128 },
        windows: Windows::Chunked(4),
        window_len: WindowLength::Default(8192),
        unrotated: Unrotated::Unwindowed,
        temperature: Temperature::Unrotated { scale: 0.1, context_length: 8192 },
        ..LLAMA.attention
    },
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: false,
        weighs_inputs: true,
        ..BASE.experts
    },
    ..LLAMA
};

/// Mistral 3 and later: queries grow with their position. Files of earlier models use the name `llama`.
pub(super) const MISTRAL3: Architecture = Architecture {
    name: "mistral3",
    attention: AttentionFacts {
        temperature: Temperature::ByKey { has_length: false },
        ..LLAMA.attention
    },
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
