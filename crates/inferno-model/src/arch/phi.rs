//! Phi 2 to 4, and Phi 3.5 with experts.
//!
//! **Source**: Abdin et al., Phi-3 Technical Report, section 2; Liu et al., GRIN: GRadient-INformed MoE, section 2.

use inferno_backend::{Function, Gating};

use super::architecture::{
    Activation, Architecture, BASE, ExpertFacts, LAYER_NORMS, NormNames, Parallel,
};

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

/// Layer norms with biases and the sparse mixer, as the authors published the model. llama.cpp computes RMS norms and a
/// normalized softmax.
pub(super) const PHI_MOE: Architecture = Architecture {
    name: "phimoe",
    experts: ExpertFacts { gating: Gating::SparseMixer, normalize: false, ..BASE.experts },
    ..LAYER_NORMS
};
