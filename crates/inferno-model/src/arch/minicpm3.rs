//! MiniCPM 3: latent attention, and factors on embeddings, outputs and logits.
//!
//! **Source**: Hu et al., MiniCPM: Unveiling the Potential of Small Language Models with Scalable Training Strategies,
//! section 3; OpenBMB, MiniCPM3-4B model card and its reference code.

use super::architecture::{Architecture, BASE, DefaultFactors, EmbeddingScale, LogitScale};
use super::attention_facts::AttentionFacts;

/// Files contain neither the factors nor separate up-projections of keys and values.
pub(super) const MINICPM3: Architecture = Architecture {
    name: "minicpm3",
    attention: AttentionFacts { is_latent: true, ..BASE.attention },
    embedding_scale: EmbeddingScale::Key,
    logit_scale: LogitScale::Divides,
    default_factors: Some(DefaultFactors { embedding: 12.0, depth: 1.4, base_width: 256.0 }),
    has_multipliers: true,
    ..BASE
};
