//! Qwen 3 with a mixture of experts: Qwen 3's attention; the feed-forward block is of experts
//! because the metadata counts some.
//!
//! **Source**: Yang et al., Qwen3 Technical Report, section 2.

use super::{Architecture, qwen3::QWEN3};

pub(super) const QWEN3_MOE: Architecture = Architecture { name: "qwen3moe", ..QWEN3 };
