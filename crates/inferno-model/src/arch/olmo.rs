//! OLMo 2 and 3, OLMoE: one norm for all query heads, one for all key heads.
//!
//! **Source**: OLMo Team, 2 OLMo 2 Furious, section 2; Muennighoff et al., OLMoE: Open Mixture-of-Experts Language
//! Models, section 2.

use super::architecture::{Architecture, BASE, ExpertFacts, NormNames};
use super::attention_facts::{AttentionFacts, QkNormKind, WindowedRotary, Windows};

/// Norms of outputs alone. OLMo 3 has the same name in files: its windowed layers have no rotary scaling.
pub(super) const OLMO2: Architecture = Architecture {
    name: "olmo2",
    norms: NormNames::POST,
    attention: AttentionFacts {
        qk_norm: QkNormKind::Whole,
        windows: Windows::ByKey,
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
