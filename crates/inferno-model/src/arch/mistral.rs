//! Mistral under its own name (`mistral3` in files): Llama's block, with a sliding window or YaRN
//! where the metadata says so. Earlier Mistral files call themselves `llama`.
//!
//! **Source**: Jiang et al., Mistral 7B, section 2.

use super::{Architecture, llama::LLAMA};

pub(super) const MISTRAL: Architecture = Architecture { name: "mistral3", ..LLAMA };
