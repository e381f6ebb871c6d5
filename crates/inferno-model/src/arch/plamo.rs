//! PLaMo 3.
//!
//! **Source**: Preferred Networks, PLaMo 3 NICT model cards and their reference code.

use super::architecture::{Architecture, BASE, NormNames};
use super::attention_facts::{AttentionFacts, QkNormKind, WindowedRotary, Windows};

/// Norms of inputs and outputs, norms of heads, a window in seven of eight layers, whose rotary embedding is not scaled.
pub(super) const PLAMO3: Architecture = Architecture {
    name: "plamo3",
    norms: NormNames::SANDWICH,
    attention: AttentionFacts {
        qk_norm: QkNormKind::PerHead,
        windows: Windows::Periodic(8),
        windowed_rotary: Some(WindowedRotary { default_base: Some(10_000.0) }),
        ..BASE.attention
    },
    ..BASE
};
