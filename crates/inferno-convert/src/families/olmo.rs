//! OLMo 1 to 3, FlexOlmo, OLMoE.

use super::layer_patterns::state_windows;
use super::llama::PAIRED;
use crate::family::{Family, flag, float, rename};

pub(super) const OLMO: Family = Family {
    classes: &["OlmoForCausalLM", "OLMoForCausalLM"],
    architecture: "olmo",
    // By `OlmoConfig` of transformers.
    defaults: &[("rope_theta", "10000.0"), ("max_position_embeddings", "2048")],
    facts: &[float("attention.clamp_kqv", &["clip_qkv"])],
    keys: |_, keys| {
        keys.float("attention.layer_norm_epsilon", 1e-5);
        Ok(())
    },
    rules: &[PAIRED],
    ..Family::DEFAULT
};

pub(super) const OLMO2: Family = Family {
    classes: &["Olmo2ForCausalLM"],
    architecture: "olmo2",
    keys: |context, keys| state_windows(context.config, keys, None, Some(4)),
    rules: &[&[
        rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
        rename("model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"),
    ]],
    ..Family::DEFAULT
};

pub(super) const OLMO3: Family =
    Family { classes: &["Olmo3ForCausalLM"], defaults: &[("rope_theta", "500000.0")], ..OLMO2 };

/// Experts with the layers of OLMo 2.
pub(super) const FLEX_OLMO: Family = Family {
    classes: &["FlexOlmoForCausalLM"],
    // By `FlexOlmoConfig` of transformers.
    defaults: &[("rms_norm_eps", "1e-6"), ("rope_theta", "500000.0"), ("norm_topk_prob", "false")],
    facts: &[flag("expert_weights_norm", &["norm_topk_prob"])],
    ..OLMO2
};

pub(super) const OLMOE: Family = Family {
    classes: &["OlmoeForCausalLM"],
    architecture: "olmoe",
    expected: &[("clip_qkv", "null"), ("norm_topk_prob", "false")],
    keys: |_, keys| {
        keys.float("attention.layer_norm_rms_epsilon", 1e-5);
        Ok(())
    },
    ..Family::DEFAULT
};
