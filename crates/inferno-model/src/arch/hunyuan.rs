//! Hunyuan, dense and with experts, and the text part of HunyuanOCR: heads are normalized after rotary embedding; and Hy3, whose
//! heads are normalized before it.
//!
//! **Source**: Tencent, Hunyuan-A13B Technical Report, section 2; Tencent, Hy3 model card.

use inferno_backend::Gating;

use super::architecture::{Architecture, BASE, ExpertFacts};
use super::attention_facts::{AttentionFacts, QkNormKind};

pub(super) const HUNYUAN_DENSE: Architecture = Architecture {
    name: "hunyuan-dense",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHeadAfterRotation, ..BASE.attention },
    ..BASE
};

pub(super) const HUNYUAN_MOE: Architecture = Architecture { name: "hunyuan-moe", ..HUNYUAN_DENSE };

/// The text part of models that read images: converters leave the scaling of the base to the runtime.
pub(super) const HUNYUAN_VL: Architecture = Architecture {
    name: "hunyuan_vl",
    attention: AttentionFacts { has_scaled_base: true, ..HUNYUAN_DENSE.attention },
    ..HUNYUAN_DENSE
};

/// A shared expert, and a bias that moves the choice of the others.
pub(super) const HY_V3: Architecture = Architecture {
    name: "hy_v3",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHead, ..BASE.attention },
    experts: ExpertFacts {
        gating: Gating::Sigmoid,
        normalize: false,
        has_keys: true,
        by_router: true,
        ..BASE.experts
    },
    ..BASE
};
