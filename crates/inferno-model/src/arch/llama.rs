//! Llama 1 to 3, Mistral, Mixtral, and other models of the same shape.
//!
//! **Source**: Touvron et al., LLaMA: Open and Efficient Foundation Language Models, section 2.2.

use inferno_backend::RopePairing;

use super::architecture::Architecture;

pub(super) const LLAMA: Architecture = Architecture {
    name: "llama",
    // Converters permute the rows of the query and key projections so that pairs are adjacent.
    rope_pairing: RopePairing::Interleaved,
    requires_qkv_bias: false,
    has_qk_norm: false,
};
