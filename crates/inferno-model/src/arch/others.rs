//! Models that differ from others in few facts: Seed-OSS, dots.llm1, MiniMax M2, Trinity (AFMoE), InternLM 2, XVERSE,
//! openPangu Embedded, Maincoder, OpenELM.
//!
//! **Source**: ByteDance Seed Team, Seed-OSS model card; Huo et al., dots.llm1 Technical Report, section 2; MiniMax,
//! MiniMax-M2 model card; Arcee AI, Trinity model card; Cai et al., InternLM2 Technical Report, section 2; XVERSE Technology,
//! XVERSE-13B model card; Chen et al., Pangu Embedded, section 2; Maincode, Maincoder-1B model card; Mehta et al., OpenELM,
//! section 2.1.

use inferno_backend::Gating;

use super::architecture::{Architecture, BASE, EmbeddingScale, ExpertFacts, NormNames};
use super::attention_facts::{AttentionFacts, OutputGate, QkNormKind, Unrotated, Windows};
use super::llama::LLAMA;

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

pub(super) const INTERN_LM2: Architecture = Architecture { name: "internlm2", ..LLAMA };

pub(super) const XVERSE: Architecture = Architecture { name: "xverse", ..LLAMA };

/// A bias on the output of attention as well.
pub(super) const PANGU_EMBEDDED: Architecture = Architecture { name: "pangu-embedded", ..BASE };

/// Heads are normalized after rotary embedding.
pub(super) const MAINCODER: Architecture = Architecture {
    name: "maincoder",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHeadAfterRotation, ..LLAMA.attention },
    ..LLAMA
};

/// Layers have numbers of heads and sizes of feed-forward blocks of their own.
pub(super) const OPEN_ELM: Architecture = Architecture {
    name: "openelm",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHead, ..BASE.attention },
    ..BASE
};
