//! LFM2, dense and with experts: gated short convolutions between a few layers of attention.
//!
//! **Source**: Liquid AI, LFM2 Technical Report, section 2.

use inferno_backend::Gating;

use super::architecture::{
    Architecture, BASE, ExpertFacts, RecurrentFacts, RecurrentKind, RecurrentLayers,
};
use super::attention_facts::{AttentionFacts, QkNormKind};

/// Files name the final norm as if it belonged to the embeddings.
pub(super) const LFM2: Architecture = Architecture {
    name: "lfm2",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHead, ..BASE.attention },
    recurrent: Some(RecurrentFacts {
        kind: RecurrentKind::ShortConv,
        layers: RecurrentLayers::WithoutKvHeads,
    }),
    output_norm: Some("token_embd_norm"),
    ..BASE
};

pub(super) const LFM2_MOE: Architecture = Architecture {
    name: "lfm2moe",
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: true,
        has_keys: true,
        ..BASE.experts
    },
    ..LFM2
};
