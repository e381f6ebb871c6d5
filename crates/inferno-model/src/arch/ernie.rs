//! ERNIE 4.5, dense and with experts.
//!
//! **Source**: ERNIE Team, ERNIE 4.5 Technical Report, section 2.

use super::architecture::Architecture;
use super::llama::LLAMA;

pub(super) const ERNIE4_5: Architecture = Architecture { name: "ernie4_5", ..LLAMA };

/// A bias that moves the choice of experts.
pub(super) const ERNIE4_5_MOE: Architecture = Architecture { name: "ernie4_5-moe", ..ERNIE4_5 };
