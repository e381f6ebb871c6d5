//! Models that differ from others in few facts: Seed-OSS, dots.llm1, MiniMax M2, Trinity (AFMoE).
//!
//! **Source**: ByteDance Seed Team, Seed-OSS model card; Huo et al., dots.llm1 Technical Report, section 2; MiniMax,
//! MiniMax-M2 model card; Arcee AI, Trinity model card.

use inferno_backend::Gating;

use super::architecture::{Architecture, BASE, EmbeddingScale, ExpertFacts, NormNames};
use super::attention_facts::{AttentionFacts, OutputGate, QkNormKind, Unrotated, Windows};

pub(super) const SEED_OSS: Architecture =
    Architecture { name: "seed_oss", norms: NormNames::PRE_RENAMED, ..BASE };

pub(super) const DOTS1: Architecture = Architecture {
    name: "dots1",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHead, ..BASE.attention },
    experts: ExpertFacts {
        gating: Gating::Softmax,
        normalize: false,
        has_keys: true,
        ..BASE.experts
    },
    ..BASE
};

pub(super) const MINIMAX_M2: Architecture = Architecture {
    name: "minimax-m2",
    attention: AttentionFacts { qk_norm: QkNormKind::Whole, ..BASE.attention },
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: true,
        has_keys: true,
        ..BASE.experts
    },
    ..BASE
};

/// Gated attention; rotary embedding in layers with a window alone.
pub(super) const AFMOE: Architecture = Architecture {
    name: "afmoe",
    norms: NormNames::SANDWICH,
    attention: AttentionFacts {
        qk_norm: QkNormKind::PerHead,
        windows: Windows::Periodic(4),
        unrotated: Unrotated::Unwindowed,
        gate: OutputGate::Own,
        ..BASE.attention
    },
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: false,
        has_keys: true,
        ..BASE.experts
    },
    embedding_scale: EmbeddingScale::Root,
    ..BASE
};
