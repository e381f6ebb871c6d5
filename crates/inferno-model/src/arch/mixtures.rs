//! Mixtures of experts with layers of their own kind: SmallThinker, Arctic, MiMo V2 Flash, Step 3.5 Flash, DBRX, Laguna.
//!
//! **Source**: Song et al., SmallThinker, section 2; Snowflake AI Research, Snowflake Arctic; Xiaomi, MiMo-V2-Flash Technical
//! Report, section 2; StepFun, Step 3.5 Flash, section 2; Databricks, DBRX model card; Poolside, Laguna model cards.

use inferno_backend::{Function, Gate, Gating, RopePairing};

use super::architecture::{
    Activation, Architecture, BASE, ExpertFacts, ExpertInputs, LAYER_NORMS, NormNames,
};
use super::attention_facts::{
    AttentionFacts, OutputGate, QkNormKind, Unrotated, WindowLength, WindowedRotary, Windows,
};
use crate::spec::tensors::Presence;

/// Experts chosen by sigmoids.
const SIGMOID: ExpertFacts =
    ExpertFacts { gating: Gating::Sigmoid, has_keys: true, ..BASE.experts };

/// The router reads the input of the layer, and experts have a ReLU. Rotary embedding in layers with a window alone.
pub(super) const SMALL_THINKER: Architecture = Architecture {
    name: "smallthinker",
    attention: AttentionFacts {
        windows: Windows::PeriodicAfterFirst(4),
        unrotated: Unrotated::Unwindowed,
        ..BASE.attention
    },
    activation: Activation::Gated(Gate::Product(Function::Relu)),
    experts: ExpertFacts {
        inputs: ExpertInputs::RouterBeforeMixers,
        has_keys: true,
        ..BASE.experts
    },
    ..BASE
};

/// The experts read the input of the layer, next to attention and a dense block.
pub(super) const ARCTIC: Architecture = Architecture {
    name: "arctic",
    attention: AttentionFacts { pairing: RopePairing::Interleaved, ..BASE.attention },
    experts: ExpertFacts { inputs: ExpertInputs::BeforeMixers, ..BASE.experts },
    ..BASE
};

/// Windows with sinks; value heads are narrower than key heads.
pub(super) const MIMO2: Architecture = Architecture {
    name: "mimo2",
    attention: AttentionFacts {
        windows: Windows::ByKey,
        window_len: WindowLength::Required,
        windowed_rotary: Some(WindowedRotary { default_base: Some(10_000.0) }),
        sinks: Some(Presence::Optional),
        has_value_len: true,
        has_value_scale: true,
        ..BASE.attention
    },
    experts: ExpertFacts { by_router: true, ..SIGMOID },
    ..BASE
};

/// Windows, a gate for each head, and bounded gates of feed-forward blocks. Layers without a window rotate half of the
/// components that others rotate.
pub(super) const STEP35: Architecture = Architecture {
    name: "step35",
    attention: AttentionFacts {
        qk_norm: QkNormKind::PerHeadIfPresent,
        windows: Windows::ByKey,
        window_len: WindowLength::Required,
        windowed_rotary: Some(WindowedRotary { default_base: Some(10_000.0) }),
        halves_unwindowed: true,
        gate: OutputGate::OwnIfPresent,
        ..BASE.attention
    },
    experts: ExpertFacts { normalize: false, by_router: true, ..SIGMOID },
    has_gate_bounds: true,
    ..BASE
};

/// Queries, keys and values are bounded.
pub(super) const DBRX: Architecture = Architecture {
    name: "dbrx",
    norms: NormNames { feed_forward: &["attn_output_norm"], ..NormNames::PRE },
    attention: AttentionFacts { has_bound: true, ..BASE.attention },
    ..LAYER_NORMS
};

/// Gates of heads or of their components, by a softplus.
pub(super) const LAGUNA: Architecture = Architecture {
    name: "laguna",
    attention: AttentionFacts {
        qk_norm: QkNormKind::PerHead,
        windows: Windows::PeriodicAfterFirst(4),
        windowed_rotary: Some(WindowedRotary { default_base: None }),
        gate: OutputGate::Own,
        gate_function: Function::Softplus,
        ..BASE.attention
    },
    experts: SIGMOID,
    ..BASE
};
