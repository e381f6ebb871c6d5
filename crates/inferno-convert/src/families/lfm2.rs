//! LFM2, dense and mixtures of experts.

use crate::ConvertError;
use crate::config::Config;
use crate::family::{Family, Rule, count, map, rename};
use crate::transforms::squeezed;

const LAYERS: &[Rule] = &[
    rename("model.embedding_norm", "token_embd_norm"),
    rename("model.layers.{}.operator_norm", "blk.{}.attn_norm"),
    rename("model.layers.{}.ffn_norm", "blk.{}.ffn_norm"),
    rename("model.layers.{}.self_attn.out_proj", "blk.{}.attn_output"),
    rename("model.layers.{}.self_attn.q_layernorm", "blk.{}.attn_q_norm"),
    rename("model.layers.{}.self_attn.k_layernorm", "blk.{}.attn_k_norm"),
    map("model.layers.{}.conv.conv", "blk.{}.shortconv.conv", squeezed),
    rename("model.layers.{}.conv.in_proj", "blk.{}.shortconv.in_proj"),
    rename("model.layers.{}.conv.out_proj", "blk.{}.shortconv.out_proj"),
    rename("model.layers.{}.feed_forward.w1", "blk.{}.ffn_gate"),
    rename("model.layers.{}.feed_forward.w2", "blk.{}.ffn_down"),
    rename("model.layers.{}.feed_forward.w3", "blk.{}.ffn_up"),
    rename("model.layers.{}.feed_forward.gate", "blk.{}.ffn_gate_inp"),
    rename("model.layers.{}.feed_forward.expert_bias", "blk.{}.exp_probs_b.bias"),
    rename("model.layers.{}.feed_forward.experts.{}.w1", "blk.{}.ffn_gate_exps"),
    rename("model.layers.{}.feed_forward.experts.{}.w2", "blk.{}.ffn_down_exps"),
    rename("model.layers.{}.feed_forward.experts.{}.w3", "blk.{}.ffn_up_exps"),
];

/// Layers that are not attention have no key and value heads.
fn heads_of_layers(config: &mut Config) -> Result<(), ConvertError> {
    let heads = config.num_kv_heads()?;
    let listed: Option<Vec<bool>> = match config.layers_of_type(&["full_attention"])? {
        Some(layers) => Some(layers),
        // The numbers of the layers, in the first form of the configuration.
        None => match config.floats("full_attn_idxs")? {
            Some(numbers) => {
                let layers = 0..config.num_layers()?;
                Some(layers.map(|layer| numbers.contains(&(layer as f64))).collect())
            }
            None => None,
        },
    };
    if let Some(layers) = listed {
        let counts: Vec<usize> = layers.into_iter().map(|is| if is { heads } else { 0 }).collect();
        config.set("num_key_value_heads", counts);
    }
    Ok(())
}

/// **Source**: `Lfm2Config` and `Lfm2MoeConfig` of transformers.
const DEFAULTS: &[(&str, &str)] = &[("rope_theta", "1000000.0")];

pub(super) const LFM2: Family = Family {
    classes: &["Lfm2ForCausalLM", "LFM2ForCausalLM"],
    architecture: "lfm2",
    defaults: DEFAULTS,
    prepare: heads_of_layers,
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("shortconv.l_cache", &["conv_L_cache"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        let mut size = config.count(&["block_ff_dim", "intermediate_size"])?;
        if config.optional_flag(&["block_auto_adjust_ff_dim"])?.unwrap_or(true) {
            size = 2 * size / 3;
            if let Some(factor) = config.optional_float(&["block_ffn_dim_multiplier"])? {
                size = (factor * size as f64) as usize;
            }
            size = size.next_multiple_of(config.count_or(&["block_multiple_of"], 256)?.max(1));
        }
        keys.count("feed_forward_length", size);
        Ok(())
    },
    rules: &[LAYERS],
    ..Family::DEFAULT
};

pub(super) const LFM2_MOE: Family = Family {
    classes: &["Lfm2MoeForCausalLM"],
    architecture: "lfm2moe",
    defaults: DEFAULTS,
    prepare: heads_of_layers,
    facts: &[
        count("expert_feed_forward_length", &["moe_intermediate_size"]).required(),
        count("leading_dense_block_count", &["num_dense_layers"]).required(),
        count("vocab_size", &["vocab_size"]).required(),
        count("shortconv.l_cache", &["conv_L_cache"]).required(),
    ],
    keys: |context, keys| {
        keys.set("expert_gating_func", 2_u32);
        let scale = context.config.optional_float(&["routed_scaling_factor"])?;
        if let Some(scale) = scale.filter(|scale| *scale != 1.0) {
            keys.float("expert_weights_scale", scale);
        }
        keys.unnormalized_experts(context.config)
    },
    rules: &[LAYERS],
    ..Family::DEFAULT
};
