//! Mixtures of experts with layers of their own kind: MiMo V2 Flash, DBRX, Laguna.

use super::layer_patterns::WINDOWS;
use super::{glm, prediction};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, ViewError, count, flag, float, map, rename};
use crate::keys::Keys;
use crate::lazy::Lazy;

/// **Source**: `MiMoV2FlashConfig` of transformers, and the published configuration.
pub(super) const MIMO2: Family = Family {
    classes: &["MiMoV2FlashForCausalLM"],
    architecture: "mimo2",
    defaults: &[
        (
            "rope_parameters",
            r#"{"full_attention": {"rope_theta": 5000000.0, "partial_rotary_factor": 0.334},
                "sliding_attention": {"rope_theta": 10000.0, "partial_rotary_factor": 0.334}}"#,
        ),
        ("rms_norm_eps", "1e-5"),
        ("norm_topk_prob", "true"),
        ("head_dim", "192"),
        ("v_head_dim", "128"),
        ("sliding_window", "129"),
    ],
    facts: &[
        count("expert_feed_forward_length", &["moe_intermediate_size"]).required(),
        float("expert_weights_scale", &["routed_scaling_factor"]),
        flag("expert_weights_norm", &["norm_topk_prob"]),
        float("attention.layer_norm_rms_epsilon", &["layernorm_epsilon", "rms_norm_eps"])
            .required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        keys.set("expert_gating_func", 2_u32);
        keys.count("attention.value_length", config.count(&["v_head_dim"])?);
        let scale = config.float_unless_null("attention_value_scale", 0.707)?;
        keys.float("attention.value_scale", scale.unwrap_or(1.0));
        rotated(config, keys)?;
        let windows = mimo_windows(config)?;
        let heads = config.num_kv_heads()?;
        let windowed_heads = config.count_or(&["swa_num_key_value_heads"], 2 * heads)?;
        let heads =
            windows.iter().map(|&is_windowed| if is_windowed { windowed_heads } else { heads });
        keys.counts("attention.head_count_kv", heads);
        keys.set(WINDOWS, windows);
        // The length of published files does not count the position itself.
        let len = match config.optional_count(&["sliding_window_size"])? {
            Some(len) => len as usize + 1,
            None => config.count(&["sliding_window"])?,
        };
        keys.count("attention.sliding_window", len);
        Ok(())
    },
    rename: |_, name| Ok(prediction::leave_out(name)),
    rules: &[
        &[rename("model.layers.{}.self_attn.attention_sink_bias", "blk.{}.attn_sinks.weight")],
        prediction::LEFT_OUT_RULES,
    ],
    ..Family::DEFAULT
};

/// Which layers have a window: all but the first and every sixth one, unless the file lists them.
fn mimo_windows(config: &Config) -> Result<Vec<bool>, ConvertError> {
    if let Some(windows) = config.layers_of_type(&["sliding_attention"])? {
        return Ok(windows);
    }
    if let Some(numbers) = config.floats("hybrid_layer_pattern")? {
        return Ok(numbers.into_iter().map(|number| number != 0.0).collect());
    }
    let layers = 0..config.num_layers()?;
    Ok(layers.map(|layer| layer != 0 && (layer + 1) % 6 != 0).collect())
}

/// The numbers of rotated components of heads without and with a window.
fn rotated(config: &Config, keys: &mut Keys) -> Result<(), ConvertError> {
    let size = config.head_dim()? as f64;
    let share = config.rope().optional_float("partial_rotary_factor")?.unwrap_or(1.0);
    keys.count("rope.dimension_count", (size * share) as usize);
    if let Some(windowed) = config.windowed_rope() {
        let share = windowed.optional_float("partial_rotary_factor")?.unwrap_or(1.0);
        keys.count("rope.dimension_count_swa", (size * share) as usize);
    }
    Ok(())
}

/// **Source**: `LagunaConfig` of transformers.
pub(super) const LAGUNA: Family = Family {
    classes: &["LagunaForCausalLM"],
    architecture: "laguna",
    defaults: &[
        ("rms_norm_eps", "1e-6"),
        ("head_dim", "128"),
        ("moe_routed_scaling_factor", "1.0"),
        ("sliding_window", "512"),
        ("moe_apply_router_weight_on_input", "false"),
        ("moe_router_logit_softcapping", "0.0"),
        (
            "rope_parameters",
            r#"{"full_attention": {"rope_theta": 500000.0, "partial_rotary_factor": 0.5},
                "sliding_attention": {"rope_theta": 10000.0, "partial_rotary_factor": 1.0}}"#,
        ),
    ],
    expected: &[
        ("moe_apply_router_weight_on_input", "false"),
        ("moe_router_logit_softcapping", "0.0"),
    ],
    prepare: glm::leading_dense_layers,
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("expert_feed_forward_length", &["moe_intermediate_size"]).required(),
        count("expert_shared_feed_forward_length", &["shared_expert_intermediate_size"]).required(),
        count("leading_dense_block_count", &[glm::LEADING_DENSE]).required(),
        float("expert_weights_scale", &["moe_routed_scaling_factor"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        keys.set("expert_weights_norm", true);
        keys.set("expert_gating_func", 2_u32);
        if let Some(heads) = config.floats("num_attention_heads_per_layer")? {
            keys.counts("attention.head_count", heads.into_iter().map(|count| count as usize));
        }
        rotated(config, keys)?;
        let windows = config.layers_of_type(&["sliding_attention"])?.unwrap_or_default();
        if windows.contains(&true) {
            keys.count("attention.sliding_window", config.count(&["sliding_window"])?);
            // Runtimes assume a window in all but the first of four layers.
            let is_usual = (0..).zip(&windows).all(|(layer, &is)| is == (layer % 4 != 0));
            if !is_usual {
                keys.set(WINDOWS, windows);
            }
        }
        Ok(())
    },
    rules: &[&[
        rename("model.layers.{}.self_attn.g_proj", "blk.{}.attn_gate"),
        rename("model.layers.{}.mlp.experts.e_score_correction_bias", "blk.{}.exp_probs_b.bias"),
    ]],
    ..Family::DEFAULT
};

/// **Source**: `DbrxConfig` of transformers.
pub(super) const DBRX: Family = Family {
    classes: &["DbrxForCausalLM"],
    architecture: "dbrx",
    prepare: |config| {
        for (key, from) in [("attn_config", ATTENTION), ("ffn_config", EXPERTS)] {
            let own = config.get(key).and_then(serde_json::Value::as_object).cloned();
            for (name, inner) in from {
                if let Some(value) = own.as_ref().and_then(|own| own.get(*inner)).cloned() {
                    config.set(name, value);
                }
            }
        }
        let sizes = [
            ("hidden_size", "d_model"),
            ("num_attention_heads", "n_heads"),
            ("num_hidden_layers", "n_layers"),
            ("max_position_embeddings", "max_seq_len"),
        ];
        for (name, own) in sizes {
            if let Some(value) = config.get(own).cloned() {
                config.set(name, value);
            }
        }
        Ok(())
    },
    expected: &[("moe_normalize_expert_weights", "1.0")],
    facts: &[float("attention.clamp_kqv", &["clip_qkv"])],
    keys: |_, keys| {
        keys.float("attention.layer_norm_epsilon", 1e-5);
        Ok(())
    },
    rules: &[&[
        rename("transformer.wte", "token_embd"),
        rename("transformer.norm_f", "output_norm"),
        rename("transformer.blocks.{}.norm_attn_norm.norm_1", "blk.{}.attn_norm"),
        rename("transformer.blocks.{}.norm_attn_norm.norm_2", "blk.{}.attn_output_norm"),
        rename("transformer.blocks.{}.norm_attn_norm.attn.Wqkv", "blk.{}.attn_qkv"),
        rename("transformer.blocks.{}.norm_attn_norm.attn.out_proj", "blk.{}.attn_output"),
        rename("transformer.blocks.{}.ffn.router.layer", "blk.{}.ffn_gate_inp"),
        map("transformer.blocks.{}.ffn.experts.mlp.w1", "blk.{}.ffn_gate_exps.weight", by_expert),
        map("transformer.blocks.{}.ffn.experts.mlp.v1", "blk.{}.ffn_up_exps.weight", by_expert),
        map(
            "transformer.blocks.{}.ffn.experts.mlp.w2",
            "blk.{}.ffn_down_exps.weight",
            transposed_by_expert,
        ),
    ]],
    ..Family::DEFAULT
};

/// Keys of DBRX's attention under the names of others.
const ATTENTION: &[(&str, &str)] = &[
    ("num_key_value_heads", "kv_n_heads"),
    ("clip_qkv", "clip_qkv"),
    ("rope_theta", "rope_theta"),
];

/// Keys of DBRX's experts under the names of others.
const EXPERTS: &[(&str, &str)] = &[
    ("intermediate_size", "ffn_hidden_size"),
    ("num_experts", "moe_num_experts"),
    ("num_experts_per_tok", "moe_top_k"),
    ("moe_normalize_expert_weights", "moe_normalize_expert_weights"),
];

/// The rows of a matrix divided among experts.
fn by_expert(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let shape = shape_by_expert(context, &tensor)?;
    Ok(tensor.reshaped(&shape)?)
}

/// The rows of a matrix divided among experts, whose matrices are transposed.
fn transposed_by_expert(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let shape = shape_by_expert(context, &tensor)?;
    Ok(tensor.view(|view| view.reshape(&shape)?.transpose(1, 2))?)
}

fn shape_by_expert(context: &Context<'_>, tensor: &Lazy) -> Result<[usize; 3], ViewError> {
    let experts = context.config.count(&["num_experts"])?.max(1);
    let (rows, cols) = (tensor.shape[0], tensor.shape.get(1).copied().unwrap_or(1));
    if rows % experts != 0 {
        let expected = format!("a divisor of {rows} rows");
        return Err(invalid("ffn_config.moe_num_experts", &expected, experts).into());
    }
    Ok([experts, rows / experts, cols])
}
