//! EXAONE 3 and 4, and mixtures of experts.

use super::layer_patterns::state_windows;
use super::llama::rotary_dimensions;
use super::{glm, prediction};
use crate::ConvertError;
use crate::family::{Context, Family, count, flag, float, rename, skip};
use crate::keys::Keys;

/// EXAONE 3, 3.5 and Deep.
pub(super) const EXAONE: Family = Family {
    classes: &["ExaoneForCausalLM"],
    architecture: "exaone",
    // By `ExaoneConfig` of transformers.
    defaults: &[("rope_theta", "500000.0")],
    facts: &[float("attention.layer_norm_rms_epsilon", &["layer_norm_epsilon", "rms_norm_eps"])
        .required()],
    keys: rotary_dimensions,
    rules: &[&[
        rename("transformer.wte", "token_embd"),
        rename("transformer.ln_f", "output_norm"),
        rename("transformer.h.{}.ln_1", "blk.{}.attn_norm"),
        rename("transformer.h.{}.attn.attention.q_proj", "blk.{}.attn_q"),
        rename("transformer.h.{}.attn.attention.k_proj", "blk.{}.attn_k"),
        rename("transformer.h.{}.attn.attention.v_proj", "blk.{}.attn_v"),
        rename("transformer.h.{}.attn.attention.out_proj", "blk.{}.attn_output"),
        rename("transformer.h.{}.ln_2", "blk.{}.ffn_norm"),
        rename("transformer.h.{}.mlp.c_fc_0", "blk.{}.ffn_gate"),
        rename("transformer.h.{}.mlp.c_fc_1", "blk.{}.ffn_up"),
        rename("transformer.h.{}.mlp.c_proj", "blk.{}.ffn_down"),
        skip("transformer.h.{}.attn.rotary_emb.inv_freq"),
        skip("transformer.h.{}.attn.attention.rotary.inv_freq"),
    ]],
    ..Family::DEFAULT
};

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
        let dense = config.count_or(&[glm::LEADING_DENSE, "first_last_k_dense_replace"], 0)?;
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
