//! Kimi Linear: delta nets between layers of latent attention.

use serde_json::Value;

use super::deepseek::{DEEPSEEK2, LATENT, latent};
use super::{glm, prediction, tied_head};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, ViewError, count, float, map, rename};
use crate::lazy::Lazy;
use crate::transforms::negative_exp;

/// The dictionary of the delta nets in published files. Layers are counted from 1 in it.
const LINEAR_ATTENTION: &str = "linear_attn_config";

const DELTA_NET: &[Rule] = &[
    map("model.layers.{}.self_attn.A_log", "blk.{}.ssm_a", |context, tensor| {
        let shape = [1, 1, tensor.len(), 1];
        negative_exp(context, tensor.reshaped(&shape)?)
    }),
    rename("model.layers.{}.self_attn.dt_bias", "blk.{}.ssm_dt.bias"),
    map("model.layers.{}.self_attn.q_conv1d", "blk.{}.ssm_conv1d_q", convolution),
    map("model.layers.{}.self_attn.k_conv1d", "blk.{}.ssm_conv1d_k", convolution),
    map("model.layers.{}.self_attn.v_conv1d", "blk.{}.ssm_conv1d_v", convolution),
    rename("model.layers.{}.self_attn.b_proj", "blk.{}.ssm_beta"),
    rename("model.layers.{}.self_attn.f_a_proj", "blk.{}.ssm_f_a"),
    rename("model.layers.{}.self_attn.f_b_proj", "blk.{}.ssm_f_b"),
    rename("model.layers.{}.self_attn.g_a_proj", "blk.{}.ssm_g_a"),
    rename("model.layers.{}.self_attn.g_b_proj", "blk.{}.ssm_g_b"),
    rename("model.layers.{}.self_attn.o_norm", "blk.{}.ssm_norm"),
];

const EXPERTS: &[Rule] = &[
    rename("model.layers.{}.mlp.experts.{}.w1", "blk.{}.ffn_gate_exps"),
    rename("model.layers.{}.mlp.experts.{}.w2", "blk.{}.ffn_down_exps"),
    rename("model.layers.{}.mlp.experts.{}.w3", "blk.{}.ffn_up_exps"),
];

pub(super) const KIMI_LINEAR: Family = Family {
    classes: &["KimiLinearForCausalLM"],
    architecture: "kimi-linear",
    // By `KimiLinearConfig` of transformers.
    defaults: &[
        ("model_max_length", "1048576"),
        ("rms_norm_eps", "1e-5"),
        ("kv_lora_rank", "512"),
        ("num_shared_experts", "1"),
        ("moe_renormalize", "true"),
        ("moe_router_activation_func", "\"sigmoid\""),
        ("routed_scaling_factor", "2.446"),
        ("linear_head_dim", "128"),
        ("linear_num_heads", "32"),
        ("linear_conv_kernel_dim", "4"),
        (glm::LEADING_DENSE, "1"),
    ],
    expected: &[("moe_layer_freq", "1"), ("mla_use_nope", "true")],
    prepare: |config| {
        let linear = config.get(LINEAR_ATTENTION).cloned().unwrap_or_default();
        for (key, own) in [
            ("linear_head_dim", "head_dim"),
            ("linear_num_heads", "num_heads"),
            ("linear_conv_kernel_dim", "short_conv_kernel_size"),
        ] {
            if let Some(value) = linear.get(own) {
                config.set(key, value.clone());
            }
        }
        // The names of other families.
        for (key, own) in [
            ("n_routed_experts", "num_experts"),
            ("n_shared_experts", "num_shared_experts"),
            ("n_group", "num_expert_group"),
        ] {
            if let Some(value) = config.get(own).cloned() {
                config.set(key, value);
            }
        }
        if let Some(layers) = dense_layers(config)? {
            config.set(glm::LEADING_DENSE, layers);
        }
        (DEEPSEEK2.prepare)(config)
    },
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("attention.q_lora_rank", &["q_lora_rank"]),
        count("attention.kv_lora_rank", &["kv_lora_rank"]).required(),
        count("attention.value_length_mla", &["v_head_dim"]).required(),
        count("rope.dimension_count", &["qk_rope_head_dim"]).required(),
        count("expert_feed_forward_length", &["moe_intermediate_size"]).required(),
        float("expert_weights_scale", &["routed_scaling_factor"]),
        count("ssm.conv_kernel", &["linear_conv_kernel_dim"]).required(),
        count("kda.head_dim", &["linear_head_dim"]).required(),
    ],
    keys: |context, keys| {
        let Context { config, .. } = context;
        latent(context, keys)?;
        if !config.is_set("moe_renormalize")? {
            keys.set("expert_weights_norm", false);
        }
        let (heads, linear_heads) = (config.num_heads()?, config.count(&["linear_num_heads"])?);
        if linear_heads != heads {
            let expected = format!("num_attention_heads ({heads}), as files have one number");
            return Err(invalid("linear_num_heads", &expected, linear_heads));
        }
        let has_attention = attention_layers(config)?;
        keys.counts("attention.head_count_kv", has_attention.into_iter().map(usize::from));
        Ok(())
    },
    rename: |config, name| (DEEPSEEK2.rename)(config, name.replace(".block_sparse_moe.", ".mlp.")),
    rules: &[DELTA_NET, EXPERTS, LATENT, prediction::LEFT_OUT_RULES, tied_head::RULES],
    ..DEEPSEEK2
};

/// For each layer, whether it has attention.
fn attention_layers(config: &Config) -> Result<Vec<bool>, ConvertError> {
    let num_layers = config.num_layers()?;
    if let Some(layers) = config.layers_of_type(&["full_attention"])? {
        return match layers.len() == num_layers {
            true => Ok(layers),
            false => Err(invalid("layer_types", "a type for each layer", layers.len())),
        };
    }
    let linear = config.get(LINEAR_ATTENTION);
    let Some(listed) = linear.and_then(|linear| linear.get("full_attn_layers")) else {
        return Ok((0..num_layers).map(|layer| layer > 0 && layer % 4 == 0).collect());
    };
    let numbers = listed.as_array().and_then(|all| all.iter().map(Value::as_u64).collect());
    let numbers: Vec<u64> = numbers.ok_or_else(|| {
        invalid("linear_attn_config.full_attn_layers", "a list of layers", listed)
    })?;
    Ok((1..=num_layers as u64).map(|layer| numbers.contains(&layer)).collect())
}

/// The number of layers before those with experts, if the configuration lists the types of feed-forward blocks.
fn dense_layers(config: &Config) -> Result<Option<usize>, ConvertError> {
    const TYPES: &str = "mlp_layer_types";
    let Some(types) = config.texts(TYPES)? else { return Ok(None) };
    let num_dense = types.iter().take_while(|&&kind| kind == "dense").count();
    match types[num_dense..].iter().all(|&kind| kind == "sparse") {
        true => Ok(Some(num_dense)),
        false => Err(invalid(TYPES, "dense layers, then sparse ones", types.join(", "))),
    }
}

/// The taps of a convolution, in the shape that llama.cpp expects.
fn convolution(_: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let (channels, taps) = (tensor.shape[0], tensor.shape.last().copied().unwrap_or(1));
    Ok(tensor.reshaped(&[1, channels, 1, taps])?)
}
