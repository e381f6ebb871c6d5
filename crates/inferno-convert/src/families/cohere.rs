//! Command R and Command A.

use super::layer_patterns::set_windows;
use crate::family::{Action, Family, Rule, count, float};

pub(super) const COMMAND_R: Family = Family {
    classes: &["CohereForCausalLM"],
    architecture: "command-r",
    defaults: &[("rope_theta", "500000.0")],
    prepare: |config| {
        if let Some(length) = config.get("model_max_length").cloned() {
            config.set("max_position_embeddings", length);
        }
        Ok(())
    },
    facts: &[float("logit_scale", &["logit_scale"]).required()],
    keys: |_, keys| {
        keys.unscaled();
        Ok(())
    },
    ..Family::DEFAULT
};

pub(super) const COHERE2: Family = Family {
    classes: &["Cohere2ForCausalLM"],
    architecture: "cohere2",
    defaults: &[("rotary_pct", "1.0")],
    facts: &[
        float("logit_scale", &["logit_scale"]).required(),
        count("attention.sliding_window", &["sliding_window"]).required(),
        count("vocab_size", &["vocab_size"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        let rotated = config.float(&["rotary_pct"])? * config.head_dim()? as f64;
        keys.count("rope.dimension_count", rotated as usize);
        keys.unscaled();
        set_windows(config, keys, "sliding_window_pattern", 4)
    },
    rules: &[&[
        // The architecture has no biases.
        zeros("model.norm.bias"),
        zeros("model.layers.{}.input_layernorm.bias"),
        zeros("model.layers.{}.self_attn.q_proj.bias"),
        zeros("model.layers.{}.self_attn.k_proj.bias"),
        zeros("model.layers.{}.self_attn.v_proj.bias"),
        zeros("model.layers.{}.self_attn.o_proj.bias"),
    ]],
    ..Family::DEFAULT
};

const fn zeros(source: &'static str) -> Rule {
    Rule { source, action: Action::SkipZeros }
}
