//! Nanbeige 4.2: the layers are computed several times.
//!
//! **Source**: Nanbeige LLM Lab, Nanbeige4.2-3B model card.

use super::architecture::Architecture;
use super::llama::LLAMA;

pub(super) const NANBEIGE: Architecture =
    Architecture { name: "nanbeige", has_loops: true, ..LLAMA };
