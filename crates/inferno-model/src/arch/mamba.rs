//! Models of Mamba layers: Mamba 1 and 2 themselves, and their hybrids with attention Jamba, Nemotron-H and Falcon-H1.
//!
//! **Source**: Gu and Dao, Mamba: Linear-Time Sequence Modeling with Selective State Spaces, section 3; Lieber et al.,
//! Jamba: A Hybrid Transformer-Mamba Language Model, section 2; Dao and Gu, Transformers are SSMs, section 7; NVIDIA, Nemotron-H: A Family of Accurate and Efficient
//! Hybrid Mamba-Transformer Models, section 2; Falcon LLM Team, Falcon-H1, section 2.

use inferno_backend::{Function, Gating};

use super::architecture::{
    Activation, Architecture, BASE, ExpertFacts, NormNames, RecurrentFacts, RecurrentKind,
    RecurrentLayers,
};
use super::attention_facts::{AttentionFacts, Unrotated};
use crate::keys::LAYER_NORM_EPS;

const fn mamba1(layers: RecurrentLayers) -> Option<RecurrentFacts> {
    Some(RecurrentFacts { kind: RecurrentKind::Mamba1, layers })
}

const fn mamba2(layers: RecurrentLayers) -> Option<RecurrentFacts> {
    Some(RecurrentFacts { kind: RecurrentKind::Mamba2 { min_step: 0.0 }, layers })
}

/// No attention and no feed-forward blocks.
pub(super) const MAMBA: Architecture =
    Architecture { name: "mamba", recurrent: mamba1(RecurrentLayers::All), ..BASE };

/// Attention without positions in a few layers, experts in those with a router.
pub(super) const JAMBA: Architecture = Architecture {
    name: "jamba",
    attention: AttentionFacts { unrotated: Unrotated::All, ..BASE.attention },
    recurrent: mamba1(RecurrentLayers::WithoutKvHeads),
    experts: ExpertFacts { normalize: false, by_router: true, ..BASE.experts },
    ..BASE
};

/// No attention and no feed-forward blocks.
pub(super) const MAMBA2: Architecture =
    Architecture { name: "mamba2", recurrent: mamba2(RecurrentLayers::All), ..BASE };

/// Every layer is a single block. The key of the epsilon is that of layer norms. Files do not contain the smallest step,
/// which is the same in all models.
pub(super) const NEMOTRON_H: Architecture = Architecture {
    name: "nemotron_h",
    eps_key: LAYER_NORM_EPS,
    norms: NormNames::SHARED,
    attention: AttentionFacts { unrotated: Unrotated::All, ..BASE.attention },
    recurrent: Some(RecurrentFacts {
        kind: RecurrentKind::Mamba2 { min_step: 0.001 },
        layers: RecurrentLayers::WithoutKvHeads,
    }),
    has_single_blocks: true,
    activation: Activation::Plain(Function::ReluSquared),
    ..BASE
};

/// The weights of the chosen experts are normalized if the file says so.
pub(super) const NEMOTRON_H_MOE: Architecture = Architecture {
    name: "nemotron_h_moe",
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: false,
        has_keys: true,
        ..BASE.experts
    },
    ..NEMOTRON_H
};

/// Each layer adds the outputs of attention and Mamba 2.
pub(super) const FALCON_H1: Architecture =
    Architecture { name: "falcon-h1", recurrent: mamba2(RecurrentLayers::NextToAttention), ..BASE };
