//! Command R, Command A, and its mixture of experts.

use super::glm;
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

/// **Source**: `Cohere2MoeConfig` of transformers.
pub(super) const COHERE2_MOE: Family = Family {
    classes: &["Cohere2MoeForCausalLM"],
    architecture: "cohere2moe",
    defaults: &[
        ("layer_norm_eps", "1e-5"),
        ("head_dim", "128"),
        ("logit_scale", "0.0625"),
        ("norm_topk_prob", "true"),
        ("expert_selection_fn", r#""softmax""#),
        ("num_experts", "8"),
        ("num_experts_per_tok", "2"),
        ("num_shared_experts", "0"),
        ("prefix_dense_sliding_window_pattern", "1"),
        ("shared_expert_combination_strategy", r#""average""#),
    ],
    // Dense layers have rotary embedding, and the shared expert is averaged with the others.
    expected: &[
        ("prefix_dense_sliding_window_pattern", "1"),
        ("shared_expert_combination_strategy", r#""average""#),
    ],
    prepare: |config| {
        if config.get("mlp_layer_types").is_none() && config.get(glm::LEADING_DENSE).is_none() {
            config.set(glm::LEADING_DENSE, 0);
        }
        glm::leading_dense_layers(config)
    },
    facts: &[
        float("logit_scale", &["logit_scale"]).required(),
        count("vocab_size", &["vocab_size"]).required(),
        count("leading_dense_block_count", &[glm::LEADING_DENSE]).required(),
        count("expert_feed_forward_length", &["intermediate_size"]).required(),
        count("expert_shared_count", &["num_shared_experts"]),
    ],
    keys: |context, keys| {
        let config = context.config;
        keys.unscaled();
        // A softmax over the chosen experts alone is normalized.
        let is_softmax = config.text("expert_selection_fn")? == Some("softmax");
        keys.set("expert_weights_norm", is_softmax || config.is_set("norm_topk_prob")?);
        if config.get("rms_norm_eps").is_some() {
            keys.remove("attention.layer_norm_epsilon");
        }
        keys.count("attention.sliding_window", config.count_or(&["sliding_window"], 4096)?);
        let windows = match config.layers_of_type(&["sliding_attention"])? {
            Some(windows) => windows,
            None => {
                // The period begins after the dense layers.
                let period = config.count_or(&["sliding_window_pattern"], 4)?;
                let dense = config.count(&[glm::LEADING_DENSE])?;
                let layers = 0..config.num_layers()?;
                let number = |layer: usize| (layer + 1).saturating_sub(dense);
                layers.map(|layer| number(layer) % period.max(1) != 0).collect()
            }
        };
        keys.set("attention.sliding_window_pattern", windows);
        Ok(())
    },
    ..COHERE2
};

const fn zeros(source: &'static str) -> Rule {
    Rule { source, action: Action::SkipZeros }
}
