//! gpt-oss: sinks, a window in every other layer, and experts with biases and a clamped gate.
//!
//! **Source**: OpenAI, gpt-oss-120b & gpt-oss-20b Model Card, section 2.

use inferno_backend::Gate;

use super::architecture::{Activation, Architecture, BASE, NormNames};
use super::attention_facts::{AttentionFacts, WindowLength, Windows};
use crate::spec::tensors::Presence;

pub(super) const GPT_OSS: Architecture = Architecture {
    name: "gpt-oss",
    norms: NormNames::PRE_RENAMED,
    attention: AttentionFacts {
        bias: Presence::Required,
        windows: Windows::Periodic(2),
        window_len: WindowLength::Required,
        sinks: Some(Presence::Required),
        // The heads of gpt-oss-20b and gpt-oss-120b, whose configurations have `"truncate": false`. llama.cpp's converter
        // writes no key for it, so the size of heads distinguishes them from small models for tests, whose ramp is rounded.
        unrounded_ramp_dim: Some(64),
        ..BASE.attention
    },
    // The softmax over the chosen experts alone is the normalized softmax over all of them.
    activation: Activation::Gated(Gate::Clamped { alpha: 1.702, limit: 7.0 }),
    ..BASE
};
