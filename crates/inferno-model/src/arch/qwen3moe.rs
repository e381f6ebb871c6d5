//! Qwen 3 with a mixture of experts: Qwen 3's attention; the metadata's expert count makes the
//! feed-forward blocks sparse.
//!
//! **Source**: Yang et al., Qwen3 Technical Report, section 2.

use super::architecture::Architecture;
use super::qwen3::QWEN3;

pub(super) const QWEN3_MOE: Architecture = Architecture { name: "qwen3moe", ..QWEN3 };
