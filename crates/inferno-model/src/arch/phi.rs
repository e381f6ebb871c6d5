//! Phi 2 to 4.
//!
//! **Source**: Abdin et al., Phi-3 Technical Report, section 2.

use inferno_backend::Function;

use super::architecture::{
    Activation, Architecture, AttentionFacts, BASE, LAYER_NORMS, NormNames, Parallel, Windows,
};

/// One layer norm for both blocks, biases everywhere.
pub(super) const PHI2: Architecture = Architecture {
    name: "phi2",
    norms: NormNames::SHARED,
    parallel: Parallel::Always,
    activation: Activation::Plain(Function::GeluTanh),
    ..LAYER_NORMS
};

/// Phi 3 and 4. Their window is as long as the context they were trained with.
pub(super) const PHI3: Architecture = Architecture {
    name: "phi3",
    attention: AttentionFacts { windows: Windows::Ignored, ..BASE.attention },
    ..BASE
};
