//! Phi 2 to 4.
//!
//! **Source**: Abdin et al., Phi-3 Technical Report, section 2.

use inferno_backend::Function;

use super::architecture::{Activation, Architecture, BASE, LAYER_NORMS, NormNames, Parallel};

/// One layer norm for both blocks, biases everywhere.
pub(super) const PHI2: Architecture = Architecture {
    name: "phi2",
    norms: NormNames::SHARED,
    parallel: Parallel::Always,
    activation: Activation::Plain(Function::GeluTanh),
    ..LAYER_NORMS
};

/// Phi 3 and 4. Only the window of the models for contexts of 4096 tokens is shorter than the context.
pub(super) const PHI3: Architecture = Architecture { name: "phi3", ..BASE };
