//! BitNet b1.58: ternary weights, and norms of what the projections back into the residual stream read.
//!
//! **Source**: Ma et al., BitNet b1.58 2B4T Technical Report, section 2.

use inferno_backend::Function;

use super::architecture::{Activation, Architecture, BASE};

/// Files of the first models, whose gate is SiLU, do not state it.
pub(super) const BITNET: Architecture = Architecture {
    name: "bitnet",
    has_inner_norms: true,
    activation: Activation::GatedByKey { default: Function::Silu },
    ..BASE
};
