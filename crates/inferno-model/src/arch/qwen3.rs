//! Qwen 3: no biases; query and key heads are normalized before rotary embedding.
//!
//! **Source**: Yang et al., Qwen3 Technical Report, section 2.

use inferno_backend::RopePairing;

use super::architecture::Architecture;

pub(super) const QWEN3: Architecture = Architecture {
    name: "qwen3",
    rope_pairing: RopePairing::Halves,
    requires_qkv_bias: false,
    has_qk_norm: true,
};
