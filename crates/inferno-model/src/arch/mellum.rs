//! Mellum 2: Qwen 3 with experts and windows.
//!
//! **Source**: JetBrains, Mellum 2 model card.

use super::architecture::Architecture;
use super::attention_facts::{AttentionFacts, WindowedRotary, Windows};
use super::qwen::QWEN3_MOE;

/// Layers with a window have rotary embedding without scaling.
pub(super) const MELLUM: Architecture = Architecture {
    name: "mellum",
    attention: AttentionFacts {
        windows: Windows::Periodic(4),
        windowed_rotary: Some(WindowedRotary { default_base: None }),
        ..QWEN3_MOE.attention
    },
    ..QWEN3_MOE
};
