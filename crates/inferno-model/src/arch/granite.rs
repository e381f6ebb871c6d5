//! Granite 3, dense and with experts: factors on embeddings, scores, outputs and logits.
//!
//! **Source**: Granite Team, Granite 3.0 Language Models, section 2.

use super::architecture::{Architecture, EmbeddingScale, LogitScale};
use super::llama::LLAMA;

pub(super) const GRANITE: Architecture = Architecture {
    name: "granite",
    embedding_scale: EmbeddingScale::Key,
    logit_scale: LogitScale::Divides,
    has_multipliers: true,
    ..LLAMA
};

pub(super) const GRANITE_MOE: Architecture = Architecture { name: "granitemoe", ..GRANITE };
