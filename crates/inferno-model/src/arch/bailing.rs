//! Ling 1 and 2, and Ring.
//!
//! **Source**: Ling Team, Every FLOP Counts: Scaling a 300B Mixture-of-Experts LING LLM without Premium GPUs, section 2, and
//! Every Activation Boosted: Scaling General Reasoner to 1 Trillion Open Language Foundation, section 2.

use inferno_backend::RopePairing;

use super::architecture::{Architecture, BASE, ExpertFacts};
use super::attention_facts::{AttentionFacts, QkNormKind};

/// A shared expert; the weights of the chosen experts are normalized if the file says so.
pub(super) const BAILING_MOE: Architecture = Architecture {
    name: "bailingmoe",
    attention: AttentionFacts { pairing: RopePairing::Interleaved, ..BASE.attention },
    experts: ExpertFacts { normalize: false, has_keys: true, ..BASE.experts },
    ..BASE
};

/// Norms of heads, half of which are rotated, and groups of experts.
pub(super) const BAILING_MOE2: Architecture = Architecture {
    name: "bailingmoe2",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHead, ..BASE.attention },
    ..BAILING_MOE
};
