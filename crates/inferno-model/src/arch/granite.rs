//! Granite 3 and 4, dense and with experts, Granite with sliding windows, MiniCPM: factors on embeddings, scores, outputs and
//! logits.
//!
//! **Source**: Granite Team, Granite 3.0 Language Models, section 2; IBM,
//! Granite 4.0 model cards; Hu et al., MiniCPM, section 3.

use super::architecture::{
    Architecture, DefaultFactors, EmbeddingScale, LogitScale, RecurrentFacts, RecurrentKind,
    RecurrentLayers,
};
use super::attention_facts::{AttentionFacts, Unrotated, WindowLength, Windows};
use super::llama::LLAMA;
use crate::spec::tensors::Presence;

pub(super) const GRANITE: Architecture = Architecture {
    name: "granite",
    embedding_scale: EmbeddingScale::Key,
    logit_scale: LogitScale::Divides,
    has_multipliers: true,
    attention: AttentionFacts { unrotated: Unrotated::ByKey, ..LLAMA.attention },
    ..LLAMA
};

/// A window in the layers that the file lists, a score without a value for each head.
pub(super) const GRANITE_SWA: Architecture = Architecture {
    name: "granite_swa",
    attention: AttentionFacts {
        windows: Windows::ByKey,
        window_len: WindowLength::Required,
        unrotated: Unrotated::ByPattern,
        sinks: Some(Presence::Required),
        ..GRANITE.attention
    },
    ..GRANITE
};

pub(super) const GRANITE_MOE: Architecture = Architecture { name: "granitemoe", ..GRANITE };

/// Mamba 2 between a few layers of attention.
pub(super) const GRANITE_HYBRID: Architecture = Architecture {
    name: "granitehybrid",
    recurrent: Some(RecurrentFacts {
        kind: RecurrentKind::Mamba2 { min_step: 0.0 },
        layers: RecurrentLayers::WithoutKvHeads,
    }),
    ..GRANITE
};

/// MiniCPM 1, 2 and 4. The first files do not have the factors, which are those of all models of that time.
pub(super) const MINICPM: Architecture = Architecture {
    name: "minicpm",
    attention: LLAMA.attention,
    default_factors: Some(DefaultFactors { embedding: 12.0, depth: 1.4, base_width: 256.0 }),
    ..GRANITE
};
