//! Qwen 1 to 3.5, dense and with experts, and the text parts of Qwen 2 VL to Qwen 3 VL.
//!
//! **Source**: Bai et al., Qwen Technical Report, section 2.3; Yang et al., Qwen2 Technical Report and Qwen3 Technical Report,
//! section 2; Qwen Team, Qwen3-Next model card.

use super::architecture::{
    Architecture, BASE, ClassifierFacts, ExpertFacts, NormNames, RecurrentFacts, RecurrentKind,
    RecurrentLayers,
};
use super::attention_facts::{AttentionFacts, OutputGate, QkNormKind};
use crate::spec::tensors::Presence;

/// Qwen 1: biases on the query, key and value projections.
pub(super) const QWEN: Architecture =
    Architecture { name: "qwen", counts_gate_and_up: true, ..QWEN2 };

/// Biases on the query, key and value projections.
pub(super) const QWEN2: Architecture = Architecture {
    name: "qwen2",
    attention: AttentionFacts { bias: Presence::Required, ..BASE.attention },
    ..BASE
};

/// The text part of Qwen 2 VL and 2.5 VL. All three positions of a text token are equal, so its rotary embedding is the usual
/// one.
pub(super) const QWEN2_VL: Architecture = Architecture { name: "qwen2vl", ..QWEN2 };

/// The weights of the chosen experts are not normalized, and the biases are optional.
pub(super) const QWEN2_MOE: Architecture = Architecture {
    name: "qwen2moe",
    experts: ExpertFacts { normalize: false, ..BASE.experts },
    ..BASE
};

/// No biases; query and key heads are normalized before rotary embedding.
pub(super) const QWEN3: Architecture = Architecture {
    name: "qwen3",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHead, ..BASE.attention },
    // Of rerankers: the logits of "yes" and "no".
    classifier: ClassifierFacts { has_softmax: true, ..BASE.classifier },
    ..BASE
};

pub(super) const QWEN3_MOE: Architecture = Architecture { name: "qwen3moe", ..QWEN3 };

/// The text part of Qwen 3 VL, like that of Qwen 2 VL.
pub(super) const QWEN3_VL: Architecture = Architecture { name: "qwen3vl", ..QWEN3 };

pub(super) const QWEN3_VL_MOE: Architecture = Architecture { name: "qwen3vlmoe", ..QWEN3 };

/// Gated delta nets between layers of attention whose output is gated.
pub(super) const QWEN35: Architecture = Architecture {
    name: "qwen35",
    norms: NormNames::PRE_RENAMED,
    attention: AttentionFacts { gate: OutputGate::WithQueries, ..QWEN3.attention },
    recurrent: Some(RecurrentFacts {
        kind: RecurrentKind::DeltaNet,
        layers: RecurrentLayers::ByKey,
    }),
    ..QWEN3
};

pub(super) const QWEN35_MOE: Architecture = Architecture { name: "qwen35moe", ..QWEN35 };

/// Neighboring value heads of its delta nets share a key head.
pub(super) const QWEN3_NEXT: Architecture = Architecture { name: "qwen3next", ..QWEN35 };
