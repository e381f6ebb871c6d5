//! The supported architectures: one file each, listed in [`ARCHITECTURES`].
//!
//! Decoder-only transformers of the Llama family differ in a few properties, which are data here;
//! the code is the shared decoder in `layers`. A model with a different topology would bring its
//! own forward pass, built from the same layers.

mod architecture;
mod llama;
mod mistral;
mod qwen2;
mod qwen3;
mod qwen3moe;

use crate::ModelError;
pub use architecture::Architecture;

/// Every supported architecture.
pub const ARCHITECTURES: &[&Architecture] =
    &[&llama::LLAMA, &mistral::MISTRAL, &qwen2::QWEN2, &qwen3::QWEN3, &qwen3moe::QWEN3_MOE];

/// Returns the architecture with the given `general.architecture` name.
///
/// **Errors**: [`ModelError::UnknownArchitecture`], which lists the supported ones.
pub fn architecture(name: &str) -> Result<&'static Architecture, ModelError> {
    ARCHITECTURES.iter().copied().find(|known| known.name == name).ok_or_else(|| {
        ModelError::UnknownArchitecture {
            found: name.to_owned(),
            known: ARCHITECTURES.iter().map(|known| known.name).collect(),
        }
    })
}
