//! ERNIE 4.5, dense and with experts, and the text part of PaddleOCR-VL.
//!
//! **Source**: ERNIE Team, ERNIE 4.5 Technical Report, section 2; Cui et al., PaddleOCR-VL, section 2.

use super::architecture::{Architecture, BASE};
use super::llama::LLAMA;

pub(super) const ERNIE4_5: Architecture = Architecture { name: "ernie4_5", ..LLAMA };

/// A bias that moves the choice of experts.
pub(super) const ERNIE4_5_MOE: Architecture = Architecture { name: "ernie4_5-moe", ..ERNIE4_5 };

/// All positions of a text token are equal; rotary embedding rotates halves.
pub(super) const PADDLE_OCR: Architecture = Architecture { name: "paddleocr", ..BASE };
