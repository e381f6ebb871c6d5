//! Qwen 2 and 2.5: biases on the query, key and value projections.
//!
//! **Source**: Yang et al., Qwen2 Technical Report, section 2.2.

use inferno_backend::RopePairing;

use super::architecture::Architecture;

pub(super) const QWEN2: Architecture = Architecture {
    name: "qwen2",
    rope_pairing: RopePairing::Halves,
    requires_qkv_bias: true,
    has_qk_norm: false,
};
