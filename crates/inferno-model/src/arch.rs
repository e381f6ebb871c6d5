//! The architectures that can be run: one file each, one line each in [`ARCHITECTURES`].
//!
//! Decoder-only transformers of the Llama family differ in a few facts, not in their code. The
//! facts are data; the code is the shared decoder in `layers`. A model with another topology would
//! bring its own forward pass, built from the same blocks.

mod llama;
mod mistral;
mod qwen2;
mod qwen3;
mod qwen3moe;

use inferno_backend::RopePairing;

use crate::ModelError;

/// What sets one architecture apart.
#[derive(Debug, PartialEq)]
pub struct Architecture {
    /// As in `general.architecture`; also the prefix of its metadata keys.
    pub name: &'static str,
    /// Which components rotary embedding turns together.
    pub rope_pairing: RopePairing,
    /// Whether the query, key and value projections must bring biases. Elsewhere a bias that is
    /// in the file is used, and none is missed.
    pub requires_qkv_bias: bool,
    /// Whether query and key heads are normalized before they are turned.
    pub has_qk_norm: bool,
}

/// Every architecture that can be run.
pub const ARCHITECTURES: &[&Architecture] =
    &[&llama::LLAMA, &mistral::MISTRAL, &qwen2::QWEN2, &qwen3::QWEN3, &qwen3moe::QWEN3_MOE];

/// Finds an architecture by the name that files give it.
///
/// **Errors**: [`ModelError::UnknownArchitecture`], which lists the known ones.
pub fn architecture(name: &str) -> Result<&'static Architecture, ModelError> {
    ARCHITECTURES.iter().copied().find(|known| known.name == name).ok_or_else(|| {
        ModelError::UnknownArchitecture {
            found: name.to_owned(),
            known: ARCHITECTURES.iter().map(|known| known.name).collect(),
        }
    })
}
