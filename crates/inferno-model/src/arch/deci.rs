//! DeciLM 7B and the models that Nvidia derived from Llama 3 by a search: Llama-3.1-Nemotron 51B, Super and Ultra.
//!
//! **Source**: Bercovich et al., Puzzle: Distillation-Based NAS for Inference-Optimized LLMs, section 2.

use super::architecture::Architecture;
use super::llama::LLAMA;

/// Layers differ in their heads and feed-forward blocks, and may lack either block.
pub(super) const DECI: Architecture =
    Architecture { name: "deci", has_optional_blocks: true, ..LLAMA };
