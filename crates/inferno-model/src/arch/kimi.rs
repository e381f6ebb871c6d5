//! Kimi Linear.
//!
//! **Source**: Kimi Team, Kimi Linear: An Expressive, Efficient Attention Architecture, sections 3 and 4.

use inferno_backend::Gating;

use super::architecture::{
    Architecture, ExpertFacts, RecurrentFacts, RecurrentKind, RecurrentLayers,
};
use super::attention_facts::{AttentionFacts, Temperature, Unrotated};
use super::deepseek::DEEPSEEK2;

/// Delta nets that decay row by row, between layers of latent attention without rotary embedding.
pub(super) const KIMI_LINEAR: Architecture = Architecture {
    name: "kimi-linear",
    attention: AttentionFacts {
        unrotated: Unrotated::All,
        temperature: Temperature::None,
        ..DEEPSEEK2.attention
    },
    recurrent: Some(RecurrentFacts {
        kind: RecurrentKind::KimiDeltaNet,
        layers: RecurrentLayers::WithoutKvHeads,
    }),
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        sigmoid_models: &[],
        normalize: true,
        ..DEEPSEEK2.experts
    },
    ..DEEPSEEK2
};
