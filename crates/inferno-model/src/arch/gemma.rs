//! Gemma 1 to 3. Converters add one to the weights of the norms.
//!
//! **Source**: Gemma Team, Gemma 2: Improving Open Language Models at a Practical Size and Gemma 3 Technical Report,
//! section 2.

use inferno_backend::{Function, Gate};

use super::architecture::{
    Activation, Architecture, AttentionFacts, BASE, EmbeddingScale, NormNames, QkNormKind,
    WindowedRotary, Windows,
};

pub(super) const GEMMA: Architecture = Architecture {
    name: "gemma",
    activation: Activation::Gated(Gate::Product(Function::GeluTanh)),
    embedding_scale: EmbeddingScale::Root,
    ..BASE
};

/// Norms of outputs, bounded scores and logits, a window in every other layer.
pub(super) const GEMMA2: Architecture = Architecture {
    name: "gemma2",
    norms: NormNames::SANDWICH,
    attention: AttentionFacts {
        windows: Windows::Periodic(2),
        hidden_scale_layers: 46,
        ..GEMMA.attention
    },
    softcaps: Some([50.0, 30.0]),
    ..GEMMA
};

/// Norms of heads instead of bounds; a window and another rotary base in five of six layers.
pub(super) const GEMMA3: Architecture = Architecture {
    name: "gemma3",
    norms: NormNames::SANDWICH,
    attention: AttentionFacts {
        qk_norm: QkNormKind::PerHead,
        windows: Windows::Periodic(6),
        windowed_rotary: Some(WindowedRotary { default_base: Some(10_000.0) }),
        hidden_scale_layers: 62,
        ..GEMMA.attention
    },
    ..GEMMA
};
