//! ChatGLM 3, GLM 4, 4.5 and 4.6, and the text part of GLM-4.1V, GLM-4.6V-Flash and GLM-OCR.
//!
//! **Source**: GLM-4.5 Team, GLM-4.5: Agentic, Reasoning, and Coding Foundation Models, section 2.1.

use inferno_backend::{Gating, RopePairing};

use super::architecture::{Architecture, BASE, ExpertFacts, NormNames};
use super::attention_facts::{AttentionFacts, QkNormKind};
use super::llama::LLAMA;

/// ChatGLM 3, the first GLM 4, CodeGeeX 4: part of each head is rotated.
pub(super) const CHATGLM: Architecture = Architecture { name: "chatglm", ..LLAMA };

/// Norms of inputs and outputs. Files of models that read images have sections of positions.
pub(super) const GLM4: Architecture = Architecture {
    name: "glm4",
    norms: NormNames::SANDWICH,
    attention: AttentionFacts {
        pairing: RopePairing::Interleaved,
        pairs_halves_in_sections: true,
        ..BASE.attention
    },
    ..BASE
};

/// The large models have norms of heads.
pub(super) const GLM4_MOE: Architecture = Architecture {
    name: "glm4moe",
    norms: NormNames::PRE_RENAMED,
    attention: AttentionFacts { qk_norm: QkNormKind::PerHeadIfPresent, ..BASE.attention },
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: false,
        has_keys: true,
        ..BASE.experts
    },
    ..BASE
};
