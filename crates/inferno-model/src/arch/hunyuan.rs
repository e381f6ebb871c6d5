//! Hunyuan, dense and with experts: heads are normalized after rotary embedding.
//!
//! **Source**: Tencent, Hunyuan-A13B Technical Report, section 2.

use super::architecture::{Architecture, BASE};
use super::attention_facts::{AttentionFacts, QkNormKind};

pub(super) const HUNYUAN_DENSE: Architecture = Architecture {
    name: "hunyuan-dense",
    attention: AttentionFacts { qk_norm: QkNormKind::PerHeadAfterRotation, ..BASE.attention },
    ..BASE
};

pub(super) const HUNYUAN_MOE: Architecture = Architecture { name: "hunyuan-moe", ..HUNYUAN_DENSE };
