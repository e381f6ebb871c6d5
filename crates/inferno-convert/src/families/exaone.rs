//! EXAONE 4 and its mixtures of experts.

use super::layer_patterns::state_windows;
use super::prediction;
use crate::ConvertError;
use crate::family::{Context, Family, count, flag, float, rename};
use crate::keys::Keys;

pub(super) const EXAONE4: Family = Family {
    classes: &["Exaone4ForCausalLM"],
    architecture: "exaone4",
    facts: &[count("vocab_size", &["vocab_size"]).required()],
    keys: windows,
    rules: &[&[
        rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
        rename("model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"),
    ]],
    ..Family::DEFAULT
};

fn windows(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    state_windows(context.config, keys, Some("sliding_window_pattern"), None)
}

pub(super) const EXAONE_MOE: Family = Family {
    classes: &["ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM"],
    architecture: "exaone-moe",
    // By `ExaoneMoeConfig` of transformers.
    defaults: &[("norm_topk_prob", "true"), ("routed_scaling_factor", "2.5")],
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("expert_feed_forward_length", &["moe_intermediate_size"]).required(),
        count("expert_shared_count", &["num_shared_experts"]).required(),
        float("expert_weights_scale", &["routed_scaling_factor"]).required(),
        flag("expert_weights_norm", &["norm_topk_prob"]),
    ],
    keys: |context, keys| {
        let Context { config, .. } = context;
        windows(context, keys)?;
        let shared =
            config.count(&["moe_intermediate_size"])? * config.count(&["num_shared_experts"])?;
        keys.count("expert_shared_feed_forward_length", shared);
        let dense = config.count_or(&["first_k_dense_replace", "first_last_k_dense_replace"], 0)?;
        keys.count("leading_dense_block_count", dense);
        keys.count("nextn_predict_layers", prediction::stated(config)?);
        keys.unscaled();
        Ok(())
    },
    prediction_layers: |context| prediction::stated(context.config),
    rename: prediction::names,
    rules: &[&[
        rename("model.layers.{}.mlp.e_score_correction_bias", "blk.{}.exp_probs_b.bias"),
        rename("model.layers.{}.mlp.experts.e_score_correction_bias", "blk.{}.exp_probs_b.bias"),
    ]],
    ..EXAONE4
};
