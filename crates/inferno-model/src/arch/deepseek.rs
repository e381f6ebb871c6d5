//! DeepSeekMoE; DeepSeek V2 and V3, and models with the same architecture: Kimi K2, GLM 4.7 Flash, Mistral 4, Youtu-LLM.
//!
//! **Source**: Dai et al., DeepSeekMoE, section 3; DeepSeek-AI, DeepSeek-V2, section 2.1, and DeepSeek-V3 Technical Report,
//! section 2.1.

use inferno_backend::{Gating, RopePairing};

use super::architecture::{Architecture, BASE, ExpertFacts};
use super::attention_facts::{AttentionFacts, Temperature};

/// Shared experts; the weights of the others are not normalized.
pub(super) const DEEPSEEK: Architecture = Architecture {
    name: "deepseek",
    attention: AttentionFacts { pairing: RopePairing::Interleaved, ..BASE.attention },
    experts: ExpertFacts { normalize: false, has_keys: true, ..BASE.experts },
    ..BASE
};

pub(super) const DEEPSEEK2: Architecture = Architecture {
    name: "deepseek2",
    attention: AttentionFacts {
        pairing: RopePairing::Interleaved,
        temperature: Temperature::ByKey { has_length: true },
        is_latent: true,
        ..BASE.attention
    },
    experts: ExpertFacts {
        gating: Gating::Softmax,
        // GLM 4.7 Flash, without and with the layer that predicts further tokens: llama.cpp's converter did not write the
        // function until January 2026, and its runtime has the same rule.
        sigmoid_models: &[(47, 154_880), (48, 154_880)],
        normalize: false,
        has_keys: true,
        ..BASE.experts
    },
    ..BASE
};

pub(super) const MISTRAL4: Architecture = Architecture { name: "mistral4", ..DEEPSEEK2 };
