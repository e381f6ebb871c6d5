//! EXAONE 3 and 4, and their successor with experts. From 4 on, rotary embedding is in layers with a window alone, if there are
//! any.
//!
//! **Source**: LG AI Research, EXAONE 3.0 7.8B Instruction Tuned Language Model, section 2; EXAONE 4.0: Unified Large Language
//! Models, section 2.

use inferno_backend::Gating;

use super::architecture::{Architecture, BASE, ExpertFacts, NormNames};
use super::attention_facts::{AttentionFacts, QkNormKind, Unrotated, WindowLength, Windows};

/// EXAONE 3, 3.5 and Deep.
pub(super) const EXAONE: Architecture = Architecture { name: "exaone", ..BASE };

pub(super) const EXAONE4: Architecture = Architecture {
    name: "exaone4",
    norms: NormNames::POST,
    attention: AttentionFacts {
        qk_norm: QkNormKind::PerHead,
        windows: Windows::Periodic(4),
        // EXAONE 4 32B.
        window_len: WindowLength::DefaultOfLayers { num_layers: 64, len: 4096 },
        unrotated: Unrotated::Unwindowed,
        ..BASE.attention
    },
    ..BASE
};

pub(super) const EXAONE_MOE: Architecture = Architecture {
    name: "exaone-moe",
    norms: NormNames::PRE,
    attention: AttentionFacts { window_len: WindowLength::Required, ..EXAONE4.attention },
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: false,
        has_keys: true,
        ..BASE.experts
    },
    ..EXAONE4
};
