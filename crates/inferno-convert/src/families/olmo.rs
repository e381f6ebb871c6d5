//! OLMo 2 and 3, OLMoE.

use super::layer_patterns::state_windows;
use crate::family::{Family, rename};

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
