//! Mistral under its own name (`mistral3` in files): Llama's decoder, with a sliding window or YaRN
//! scaling if the metadata sets them. Files of earlier Mistral models use the name `llama`.
//!
//! **Source**: Jiang et al., Mistral 7B, section 2.

use super::architecture::Architecture;
use super::llama::LLAMA;

pub(super) const MISTRAL: Architecture = Architecture { name: "mistral3", ..LLAMA };
