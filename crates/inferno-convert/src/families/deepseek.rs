//! DeepSeek V2 and V3, and others with its latent attention: Kimi K2, Youtu-LLM, Mistral 4.

use super::{glm, llama, prediction, tied_head};
use crate::ConvertError;
use crate::config::Config;
use crate::family::{Context, Family, Rule, ViewError, count, float, rename, split};
use crate::keys::Keys;
use crate::lazy::Lazy;
use crate::transforms::same;

/// Latent attention.
pub(super) const LATENT: &[Rule] = &[
    rename("model.layers.{}.self_attn.q_a_proj", "blk.{}.attn_q_a"),
    rename("model.layers.{}.self_attn.q_a_layernorm", "blk.{}.attn_q_a_norm"),
    rename("model.layers.{}.self_attn.q_b_proj", "blk.{}.attn_q_b"),
    rename("model.layers.{}.self_attn.kv_a_proj_with_mqa", "blk.{}.attn_kv_a_mqa"),
    rename("model.layers.{}.self_attn.kv_a_layernorm", "blk.{}.attn_kv_a_norm"),
    split(
        "model.layers.{}.self_attn.kv_b_proj",
        &[("blk.{}.attn_k_b", latent_keys), ("blk.{}.attn_v_b", latent_values)],
    ),
];

pub(super) const DEEPSEEK2: Family = Family {
    classes: &["DeepseekV2ForCausalLM", "YoutuForCausalLM", "YoutuVLForConditionalGeneration"],
    architecture: "deepseek2",
    defaults: &[("rms_norm_eps", "1e-6"), ("kv_lora_rank", "512")],
    expected: &[("rope_interleave", "true")],
    prepare: |config| {
        // The number of heads of the latent vector, which is one for all.
        let heads = config.num_heads()?;
        config.set("num_value_heads", heads);
        config.set("num_key_value_heads", 1);
        Ok(())
    },
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("attention.q_lora_rank", &["q_lora_rank"]),
        count("attention.kv_lora_rank", &["kv_lora_rank"]).required(),
        count("attention.value_length", &["kv_lora_rank"]).required(),
        count("attention.value_length_mla", &["v_head_dim"]).required(),
        count("expert_feed_forward_length", &["moe_intermediate_size", "intermediate_size"])
            .required(),
        count("expert_count", &["n_routed_experts"]),
        float("expert_weights_scale", &["routed_scaling_factor"]),
        count("rope.dimension_count", &["qk_rope_head_dim"]).required(),
    ],
    keys: |context, keys| {
        latent(context, keys)?;
        prediction::state(keys, prediction::layers_in_files(context)?);
        Ok(())
    },
    prediction_layers: prediction::layers_in_files,
    rename: |config, name| {
        let number = name.strip_prefix("model.layers.").and_then(|rest| rest.split('.').next());
        match number.and_then(|number| number.parse::<usize>().ok()) {
            Some(number) if number >= config.num_layers()? + prediction::stated(config)? => {
                Ok(prediction::LEFT_OUT.to_owned())
            }
            _ => tied_head::rename(config, name),
        }
    },
    rules: &[LATENT, prediction::LEFT_OUT_RULES, tied_head::RULES],
    ..Family::DEFAULT
};

/// The key of the function that makes probabilities of the router's outputs.
pub(super) const SCORING: &str = "scoring_func";

/// DeepSeek V3 and Kimi.
pub(super) const DEEPSEEK3: Family = Family {
    classes: &[
        "DeepseekV3ForCausalLM",
        "KimiVLForConditionalGeneration",
        "KimiK25ForConditionalGeneration",
    ],
    // By `DeepseekV3Config` of transformers.
    defaults: &[
        ("rms_norm_eps", "1e-6"),
        ("kv_lora_rank", "512"),
        ("norm_topk_prob", "true"),
        ("routed_scaling_factor", "2.5"),
    ],
    prepare: |config| {
        (DEEPSEEK2.prepare)(config)?;
        sigmoid_by_default(config);
        Ok(())
    },
    ..DEEPSEEK2
};

/// The function of classes without a key for it.
pub(super) fn sigmoid_by_default(config: &mut Config) {
    if config.get("n_routed_experts").is_some() && config.get(SCORING).is_none() {
        config.set(SCORING, "sigmoid");
    }
}

pub(super) const MISTRAL4: Family = Family {
    classes: &[],
    architecture: "mistral4",
    // By `Mistral4Config` of transformers.
    defaults: &[
        ("rms_norm_eps", "1e-6"),
        ("kv_lora_rank", "256"),
        ("norm_topk_prob", "true"),
        (
            "rope_parameters",
            r#"{"rope_type": "yarn", "factor": 128.0, "original_max_position_embeddings": 8192,
                "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                "llama_4_scaling_beta": 0.1}"#,
        ),
    ],
    rules: &[
        LATENT,
        &[
            split(
                "model.layers.{}.mlp.experts.gate_up_proj",
                &[("blk.{}.ffn_gate_up_exps.weight", same)],
            ),
            split(
                "model.layers.{}.mlp.experts.down_proj",
                &[("blk.{}.ffn_down_exps.weight", same)],
            ),
        ],
    ],
    rename: |_, name| Ok(name),
    tokenizer: llama::TOKENIZER,
    ..DEEPSEEK2
};

/// The metadata of latent attention and its mixtures.
pub(super) fn latent(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    let dense = match config.optional_count(&[glm::LEADING_DENSE])? {
        Some(layers) => layers as usize,
        None if config.get("n_routed_experts").is_some() => 0,
        None => config.num_layers()?,
    };
    keys.count("leading_dense_block_count", dense);
    let (rank, rotated) = (config.count(&["kv_lora_rank"])?, config.count(&["qk_rope_head_dim"])?);
    keys.count("attention.key_length", rank + rotated);
    keys.count("attention.key_length_mla", config.count(&["qk_nope_head_dim"])? + rotated);
    keys.count("expert_shared_count", config.count_or(&["n_shared_experts"], 0)?);
    if config.is_set("norm_topk_prob")? {
        keys.set("expert_weights_norm", true);
    }
    let rope = config.shared_rope();
    if let Some(scale) = rope.optional_float("mscale_all_dim")?.filter(|scale| *scale != 0.0) {
        keys.float("rope.scaling.yarn_log_multiplier", 0.1 * scale);
    }
    if let Some(scale) = rope.optional_float("llama_4_scaling_beta")? {
        keys.float("attention.temperature_scale", scale);
    }
    Ok(())
}

/// The rows of keys or values of each head.
fn head_rows(context: &Context<'_>, tensor: Lazy, is_value: bool) -> Result<Lazy, ViewError> {
    let Context { config, .. } = context;
    // Not the heads of the result, of which there is one.
    let heads = config.count(&["num_value_heads"])?;
    let (key, value) = (config.count(&["qk_nope_head_dim"])?, config.count(&["v_head_dim"])?);
    let cols = tensor.shape.get(1).copied().unwrap_or(1);
    let range = if is_value { key..key + value } else { 0..key };
    Ok(tensor.view(|view| view.reshape(&[heads, key + value, cols])?.slice(1, range.clone()))?)
}

fn latent_keys(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    Ok(head_rows(context, tensor, false)?.view(|view| view.transpose(1, 2))?)
}

fn latent_values(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    head_rows(context, tensor, true)
}
