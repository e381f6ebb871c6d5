//! Command R and R+ (Cohere), Command A and R7B (Cohere 2), and its mixture of experts: both blocks of a layer read one layer norm.
//!
//! **Source**: Cohere, Command A: An Enterprise-Ready Large Language Model, section 2.

use inferno_backend::{Gating, RopePairing};

use super::architecture::{
    Architecture, BASE, ExpertFacts, LAYER_NORMS, LogitScale, NormNames, Parallel,
};
use super::attention_facts::{AttentionFacts, QkNormKind, Unrotated, WindowLength, Windows};

/// The large model has a norm for each head.
pub(super) const COMMAND_R: Architecture = Architecture {
    name: "command-r",
    norms: NormNames::SHARED,
    parallel: Parallel::Always,
    attention: AttentionFacts {
        pairing: RopePairing::Interleaved,
        qk_norm: QkNormKind::OwnWeights,
        ..BASE.attention
    },
    logit_scale: LogitScale::Multiplies,
    ..LAYER_NORMS
};

/// A window and rotary embedding in three of four layers, neither in the fourth.
pub(super) const COHERE2: Architecture = Architecture {
    name: "cohere2",
    attention: AttentionFacts {
        qk_norm: QkNormKind::None,
        windows: Windows::Periodic(4),
        window_len: WindowLength::Required,
        unrotated: Unrotated::Unwindowed,
        ..COMMAND_R.attention
    },
    ..COMMAND_R
};

/// Layers without a window and with experts have no rotary embedding.
pub(super) const COHERE2_MOE: Architecture = Architecture {
    name: "cohere2moe",
    attention: AttentionFacts {
        windows: Windows::PeriodicAfterFirst(4),
        unrotated: Unrotated::UnwindowedExperts,
        ..COHERE2.attention
    },
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: false,
        has_keys: true,
        averages_shared: true,
        ..BASE.experts
    },
    has_norm_by_key: true,
    ..COHERE2
};
