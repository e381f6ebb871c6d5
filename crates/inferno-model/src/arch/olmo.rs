//! OLMo: from 2 on, one norm for all query heads, one for all key heads.
//!
//! **Source**: Groeneveld et al., OLMo: Accelerating the Science of Language Models, section 2.1; OLMo Team, 2 OLMo 2 Furious,
//! section 2; Muennighoff et al., OLMoE: Open Mixture-of-Experts Language Models, section 2.

use super::architecture::{Architecture, BASE, ExpertFacts, LAYER_NORMS, NormNames};
use super::attention_facts::{AttentionFacts, QkNormKind, WindowedRotary, Windows};
use super::llama::LLAMA;

/// Layer norms without weights, bounded queries, keys and values.
pub(super) const OLMO: Architecture = Architecture {
    name: "olmo",
    has_norm_weights: false,
    attention: AttentionFacts { has_bound: true, ..LLAMA.attention },
    ..LAYER_NORMS
};

/// Norms of outputs alone. OLMo 3 has the same name in files: its windowed layers have no rotary scaling.
pub(super) const OLMO2: Architecture = Architecture {
    name: "olmo2",
    norms: NormNames::POST,
    attention: AttentionFacts {
        qk_norm: QkNormKind::Whole,
        windows: Windows::Periodic(4),
        windowed_rotary: Some(WindowedRotary { default_base: None }),
        ..BASE.attention
    },
    ..BASE
};

pub(super) const OLMOE: Architecture = Architecture {
    name: "olmoe",
    attention: AttentionFacts { qk_norm: QkNormKind::Whole, ..BASE.attention },
    experts: ExpertFacts { normalize: false, ..BASE.experts },
    ..BASE
};
