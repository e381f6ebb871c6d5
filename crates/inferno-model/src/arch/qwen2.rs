//! Qwen 2 and 2.5: biases on query, key and value.
//!
//! **Source**: Yang et al., Qwen2 Technical Report, section 2.2.

use inferno_backend::RopePairing;

use super::Architecture;

pub(super) const QWEN2: Architecture = Architecture {
    name: "qwen2",
    rope_pairing: RopePairing::Halves,
    requires_qkv_bias: true,
    has_qk_norm: false,
};
