//! Granite 3 and 4, dense and with experts: factors on embeddings, scores, outputs and logits.
//!
//! **Source**: Granite Team, Granite 3.0 Language Models, section 2; IBM,
//! Granite 4.0 model cards.

use super::architecture::{
    Architecture, EmbeddingScale, LogitScale, RecurrentFacts, RecurrentKind, RecurrentLayers,
};
use super::attention_facts::{AttentionFacts, Unrotated};
use super::llama::LLAMA;

pub(super) const GRANITE: Architecture = Architecture {
    name: "granite",
    embedding_scale: EmbeddingScale::Key,
    logit_scale: LogitScale::Divides,
    has_multipliers: true,
    attention: AttentionFacts { unrotated: Unrotated::ByKey, ..LLAMA.attention },
    ..LLAMA
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
