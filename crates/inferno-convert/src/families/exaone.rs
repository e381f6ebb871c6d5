//! EXAONE 4 and its mixtures of experts.

use super::prediction;
use crate::ConvertError;
use crate::config::Config;
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
    let Context { config, .. } = context;
    let Some(window) = config.optional_count(&["sliding_window"])? else {
        return Ok(());
    };
    keys.set("attention.sliding_window", window);
    let pattern = match config.layers_of_type(&["sliding_attention"])? {
        Some(layers) => Some(layers),
        None => periodic(config)?,
    };
    if let Some(pattern) = pattern {
        keys.set("attention.sliding_window_pattern", pattern);
    }
    Ok(())
}

/// The layers by a period: its length, or a letter for each of its layers.
fn periodic(config: &Config) -> Result<Option<Vec<bool>>, ConvertError> {
    let layers = 0..config.num_layers()?;
    let Some(period) = config.get("sliding_window_pattern") else { return Ok(None) };
    if let Some(letters) = period.as_str().filter(|letters| !letters.is_empty()) {
        let letters = letters.as_bytes();
        return Ok(Some(layers.map(|layer| letters[layer % letters.len()] == b'L').collect()));
    }
    config.all_but_every(config.count(&["sliding_window_pattern"])?).map(Some)
}

pub(super) const EXAONE_MOE: Family = Family {
    classes: &["ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM"],
    architecture: "exaone-moe",
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
    prediction_layers: |context| context.config.count_or(&["num_nextn_predict_layers"], 0),
    rename: prediction::names,
    rules: &[&[
        rename("model.layers.{}.mlp.e_score_correction_bias", "blk.{}.exp_probs_b.bias"),
        rename("model.layers.{}.mlp.experts.e_score_correction_bias", "blk.{}.exp_probs_b.bias"),
    ]],
    ..EXAONE4
};
