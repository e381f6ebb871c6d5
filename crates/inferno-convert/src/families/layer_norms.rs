//! Models with layer norms and biases: GPT-2, GPT-J, GPT-NeoX, BLOOM, MPT, Falcon, StarCoder 1 and 2, StableLM, Jais 2.

use serde_json::Value;

use super::llama::rotary_dimensions;
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, GELU, Rule, ViewError, count, float, map, rename, skip};
use crate::keys::Keys;
use crate::lazy::{Lazy, Part};
use crate::transforms::transposed;

const GPT2_NAMES: &[Rule] = &[
    rename("transformer.wte", "token_embd"),
    rename("transformer.wpe", "position_embd"),
    rename("transformer.ln_f", "output_norm"),
    rename("transformer.h.{}.ln_1", "blk.{}.attn_norm"),
    rename("transformer.h.{}.ln_2", "blk.{}.ffn_norm"),
    rename("transformer.h.{}.attn.c_attn", "blk.{}.attn_qkv"),
    rename("transformer.h.{}.attn.c_proj", "blk.{}.attn_output"),
    rename("transformer.h.{}.mlp.c_fc", "blk.{}.ffn_up"),
    rename("transformer.h.{}.mlp.c_proj", "blk.{}.ffn_down"),
    // The causal mask.
    skip("transformer.h.{}.attn.bias"),
    skip("transformer.h.{}.attn.masked_bias"),
];

pub(super) const GPT2: Family = Family {
    classes: &["GPT2LMHeadModel"],
    activations: GELU,
    architecture: "gpt2",
    // Scores are scaled by the size of a head, in every layer alike.
    expected: &[("scale_attn_weights", "true"), ("scale_attn_by_inverse_layer_idx", "false")],
    has_common_keys: false,
    facts: &[
        count("context_length", &["n_ctx", "n_positions"]).required(),
        count("embedding_length", &["n_embd"]).required(),
        count("attention.head_count", &["n_head"]).required(),
        float("attention.layer_norm_epsilon", &["layer_norm_epsilon"]).required(),
    ],
    keys: gpt2,
    rules: &[
        &[
            map("transformer.h.{}.attn.c_attn.weight", "blk.{}.attn_qkv.weight", projection),
            map("transformer.h.{}.attn.c_proj.weight", "blk.{}.attn_output.weight", projection),
            map("transformer.h.{}.mlp.c_fc.weight", "blk.{}.ffn_up.weight", projection),
            map("transformer.h.{}.mlp.c_proj.weight", "blk.{}.ffn_down.weight", projection),
        ],
        GPT2_NAMES,
    ],
    ..Family::DEFAULT
};

/// The matrix of a module `Conv1D`, whose rows are those of the inputs. Quantized ones are those of a linear module.
///
/// **Source**: `integrations/bitsandbytes.py` of transformers, `pack` of `QuantLinear` of AutoGPTQ, GPTQModel and AutoRound.
fn projection(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let is_quantized = |part: &Part| context.sources.quantized(part.source).is_some();
    match tensor.parts.iter().any(is_quantized) {
        true => Ok(tensor),
        false => transposed(context, tensor),
    }
}

fn gpt2(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    keys.count(
        "feed_forward_length",
        config.count_or(&["n_inner"], 4 * config.count(&["n_embd"])?)?,
    );
    Ok(())
}

pub(super) const STARCODER: Family = Family {
    classes: &["GPTBigCodeForCausalLM"],
    architecture: "starcoder",
    facts: &[
        count("context_length", &["n_positions"]).required(),
        count("embedding_length", &["n_embd"]).required(),
        count("attention.head_count", &["n_head"]).required(),
        float("attention.layer_norm_epsilon", &["layer_norm_epsilon"]).required(),
    ],
    keys: |context, keys| {
        context.config.expect_flag("multi_query", true)?;
        keys.count("attention.head_count_kv", 1);
        gpt2(context, keys)
    },
    rules: &[GPT2_NAMES],
    ..GPT2
};

pub(super) const GPT_NEOX: Family = Family {
    classes: &["GPTNeoXForCausalLM"],
    activations: GELU,
    architecture: "gptneox",
    has_common_keys: false,
    facts: &[
        count("context_length", &["max_position_embeddings"]).required(),
        count("embedding_length", &["hidden_size"]).required(),
        count("feed_forward_length", &["intermediate_size"]).required(),
        count("attention.head_count", &["num_attention_heads"]).required(),
        float("attention.layer_norm_epsilon", &["layer_norm_eps"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        keys.rotary(config)?;
        let size = config.count(&["hidden_size"])? / config.num_heads()?.max(1);
        let rope = config.shared_rope().optional_float("partial_rotary_factor")?;
        let share = config.optional_float(&["rotary_pct"])?.or(rope).unwrap_or(0.25);
        keys.count("rope.dimension_count", (share * size as f64) as usize);
        let is_parallel = config.optional_flag(&["use_parallel_residual"])?.unwrap_or(true);
        keys.set("use_parallel_residual", is_parallel);
        Ok(())
    },
    rules: &[&[
        rename("gpt_neox.embed_in", "token_embd"),
        rename("embed_out", "output"),
        rename("gpt_neox.final_layer_norm", "output_norm"),
        rename("gpt_neox.layers.{}.input_layernorm", "blk.{}.attn_norm"),
        rename("gpt_neox.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"),
        map("gpt_neox.layers.{}.attention.query_key_value", "blk.{}.attn_qkv", rows_by_head),
        rename("gpt_neox.layers.{}.attention.dense", "blk.{}.attn_output"),
        rename("gpt_neox.layers.{}.mlp.dense_h_to_4h", "blk.{}.ffn_up"),
        rename("gpt_neox.layers.{}.mlp.dense_4h_to_h", "blk.{}.ffn_down"),
        skip("gpt_neox.layers.{}.attention.bias"),
        skip("gpt_neox.layers.{}.attention.masked_bias"),
        skip("gpt_neox.layers.{}.attention.rotary_emb.inv_freq"),
    ]],
    ..Family::DEFAULT
};

/// The queries, keys and values of each head, to those of all heads one after the other.
fn rows_by_head(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let heads = context.config.num_heads()?;
    let shape = tensor.shape.clone();
    let size = shape[0] / heads.max(1) / 3;
    let split = [&[heads, 3, size], shape.get(1..).unwrap_or_default()].concat();
    Ok(tensor.view(|view| view.reshape(&split)?.transpose(0, 1))?.reshaped(&shape)?)
}

pub(super) const GPTJ: Family = Family {
    classes: &["GPTJForCausalLM"],
    activations: GELU,
    architecture: "gptj",
    keys: |context, keys| {
        let config = context.config;
        keys.count("rope.dimension_count", config.count_or(&["rotary_dim"], config.head_dim()?)?);
        gpt2(context, keys)
    },
    rules: &[&[
        rename("transformer.wte", "token_embd"),
        rename("transformer.ln_f", "output_norm"),
        rename("transformer.h.{}.ln_1", "blk.{}.attn_norm"),
        rename("transformer.h.{}.attn.q_proj", "blk.{}.attn_q"),
        rename("transformer.h.{}.attn.k_proj", "blk.{}.attn_k"),
        rename("transformer.h.{}.attn.v_proj", "blk.{}.attn_v"),
        rename("transformer.h.{}.attn.out_proj", "blk.{}.attn_output"),
        rename("transformer.h.{}.mlp.fc_in", "blk.{}.ffn_up"),
        rename("transformer.h.{}.mlp.fc_out", "blk.{}.ffn_down"),
        // The causal mask.
        skip("transformer.h.{}.attn.bias"),
        skip("transformer.h.{}.attn.masked_bias"),
    ]],
    ..Family::DEFAULT
};

/// The context that BLOOM is trained for, which most of its files do not contain.
const BLOOM_CONTEXT: usize = 2048;

pub(super) const BLOOM: Family = Family {
    classes: &["BloomForCausalLM"],
    architecture: "bloom",
    has_common_keys: false,
    expected: &[("apply_residual_connection_post_layernorm", "false")],
    facts: &[
        count("embedding_length", &["hidden_size", "n_embed"]).required(),
        count("attention.head_count", &["n_head", "num_attention_heads"]).required(),
        count("attention.head_count_kv", &["n_head", "num_attention_heads"]).required(),
        float("attention.layer_norm_epsilon", &["layer_norm_epsilon"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        keys.count("context_length", config.count_or(&["seq_length"], BLOOM_CONTEXT)?);
        keys.count("feed_forward_length", 4 * config.count(&["hidden_size", "n_embed"])?);
        Ok(())
    },
    rules: &[&[
        rename("transformer.word_embeddings", "token_embd"),
        rename("transformer.word_embeddings_layernorm", "token_embd_norm"),
        rename("transformer.ln_f", "output_norm"),
        rename("transformer.h.{}.input_layernorm", "blk.{}.attn_norm"),
        rename("transformer.h.{}.post_attention_layernorm", "blk.{}.ffn_norm"),
        map("transformer.h.{}.self_attention.query_key_value", "blk.{}.attn_qkv", rows_by_head),
        rename("transformer.h.{}.self_attention.dense", "blk.{}.attn_output"),
        rename("transformer.h.{}.mlp.dense_h_to_4h", "blk.{}.ffn_up"),
        rename("transformer.h.{}.mlp.dense_4h_to_h", "blk.{}.ffn_down"),
    ]],
    ..Family::DEFAULT
};

pub(super) const MPT: Family = Family {
    classes: &["MptForCausalLM", "MPTForCausalLM"],
    architecture: "mpt",
    has_common_keys: false,
    defaults: &[("layer_norm_epsilon", "1e-5"), ("expansion_ratio", "4")],
    expected: &[("logit_scale", "null"), ("embedding_fraction", "1.0")],
    facts: &[
        count("context_length", &["max_seq_len"]).required(),
        count("embedding_length", &["d_model"]).required(),
        count("attention.head_count", &["n_heads"]).required(),
        float("attention.layer_norm_epsilon", &["layer_norm_epsilon"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        config.expect_text("norm_type", &["low_precision_layernorm", "layernorm"])?;
        let size = config.count(&["d_model"])?;
        keys.count("feed_forward_length", config.count(&["expansion_ratio"])? * size);
        mpt_attention(config.get("attn_config"), keys)
    },
    rules: &[&[
        rename("transformer.wte", "token_embd"),
        rename("transformer.wpe", "position_embd"),
        rename("transformer.norm_f", "output_norm"),
        rename("transformer.blocks.{}.norm_1", "blk.{}.attn_norm"),
        rename("transformer.blocks.{}.norm_2", "blk.{}.ffn_norm"),
        rename("transformer.blocks.{}.attn.Wqkv", "blk.{}.attn_qkv"),
        rename("transformer.blocks.{}.attn.q_ln", "blk.{}.attn_q_norm"),
        rename("transformer.blocks.{}.attn.k_ln", "blk.{}.attn_k_norm"),
        rename("transformer.blocks.{}.attn.out_proj", "blk.{}.attn_output"),
        rename("transformer.blocks.{}.ffn.up_proj", "blk.{}.ffn_up"),
        rename("transformer.blocks.{}.ffn.down_proj", "blk.{}.ffn_down"),
    ]],
    ..Family::DEFAULT
};

/// The metadata of MPT's attention, from the object `attn_config` or from the defaults of its class in transformers.
fn mpt_attention(options: Option<&Value>, keys: &mut Keys) -> Result<(), ConvertError> {
    let option = |key: &str| options.and_then(|it| it.get(key)).filter(|value| !value.is_null());
    let invalid_option = |key: &str, expected, found: &Value| {
        invalid(&format!("attn_config.{key}"), expected, found)
    };
    let expected = [
        ("prefix_lm", Value::from(false), "false"),
        ("attn_type", Value::from("multihead_attention"), "\"multihead_attention\""),
        ("softmax_scale", Value::Null, "null"),
        ("rope", Value::from(false), "false"),
        ("sliding_window_size", Value::from(-1), "-1"),
    ];
    for (key, value, text) in expected {
        if let Some(found) = option(key).filter(|found| **found != value) {
            return Err(invalid_option(key, text, found));
        }
    }
    let number = |key: &str, default: f64| match option(key) {
        Some(value) => value.as_f64().ok_or_else(|| invalid_option(key, "a number", value)),
        None => Ok(default),
    };
    let bound = number("clip_qkv", 0.0)?;
    if bound != 0.0 {
        keys.float("attention.clamp_kqv", bound);
    }
    let has_bias = option("alibi").is_none_or(|value| value.as_bool() == Some(true));
    let largest = number("alibi_bias_max", 8.0)?;
    keys.float("attention.max_alibi_bias", if has_bias { largest } else { 0.0 });
    Ok(())
}

/// The context of the first Falcon models, whose files do not have it.
const FALCON_CONTEXT: usize = 2048;

pub(super) const FALCON: Family = Family {
    classes: &["FalconForCausalLM", "RWForCausalLM"],
    activations: GELU,
    architecture: "falcon",
    has_common_keys: false,
    facts: &[
        count("embedding_length", &["hidden_size"]).required(),
        count("attention.head_count", &["num_attention_heads", "n_head"]).required(),
        float("attention.layer_norm_epsilon", &["layer_norm_epsilon"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        expect_falcon(config)?;
        let length = config.count_or(&["max_position_embeddings"], FALCON_CONTEXT)?;
        keys.count("context_length", length);
        keys.rotary(config)?;
        keys.set("tensor_data_layout", "jploski");
        let default = 4 * config.count(&["hidden_size"])?;
        keys.count("feed_forward_length", config.count_or(&["ffn_hidden_size"], default)?);
        keys.count("attention.head_count_kv", falcon_kv_heads(context)?);
        Ok(())
    },
    rules: &[&[
        rename("transformer.word_embeddings", "token_embd"),
        rename("transformer.ln_f", "output_norm"),
        rename("transformer.h.{}.input_layernorm", "blk.{}.attn_norm"),
        rename("transformer.h.{}.ln_mlp", "blk.{}.attn_norm"),
        rename("transformer.h.{}.ln_attn", "blk.{}.attn_norm_2"),
        map("transformer.h.{}.self_attention.query_key_value", "blk.{}.attn_qkv", falcon_rows),
        rename("transformer.h.{}.self_attention.dense", "blk.{}.attn_output"),
        rename("transformer.h.{}.mlp.dense_h_to_4h", "blk.{}.ffn_up"),
        rename("transformer.h.{}.mlp.dense_4h_to_h", "blk.{}.ffn_down"),
    ]],
    ..Family::DEFAULT
};

/// Rejects the variant of Falcon-RW: biases by distance, and blocks one after the other.
fn expect_falcon(config: &Config) -> Result<(), ConvertError> {
    config.expect_flag("alibi", false)?;
    match config.is_set("new_decoder_architecture")? {
        true => Ok(()),
        false => config.expect_flag("parallel_attn", true),
    }
}

/// One for all queries, unless the newer form of the architecture has several.
fn falcon_kv_heads(context: &Context<'_>) -> Result<usize, crate::ConvertError> {
    let config = context.config;
    let is_single = config.is_set("multi_query")? && !config.is_set("new_decoder_architecture")?;
    match is_single {
        true => Ok(1),
        false => config.count_or(&["num_kv_heads", "n_head_kv"], 1),
    }
}

/// Queries, keys and values of each group, to those of all groups one after the other.
fn falcon_rows(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let groups = falcon_kv_heads(context)?.max(1);
    let heads = context.config.num_heads()?;
    let size = context.config.count(&["hidden_size"])? / heads.max(1);
    let per_group = heads / groups + 2;
    let shape = tensor.shape.clone();
    let tail = shape.get(1..).unwrap_or_default().to_vec();
    let split = [&[groups, per_group, size], &tail[..]].concat();
    let part = |range: std::ops::Range<usize>| -> Result<Lazy, ViewError> {
        let rows = groups * range.len() * size;
        Ok(tensor
            .clone()
            .view(|view| view.reshape(&split)?.slice(1, range.clone()))?
            .reshaped(&[&[rows], &tail[..]].concat())?)
    };
    let parts = [0..per_group - 2, per_group - 2..per_group - 1, per_group - 1..per_group];
    let parts = parts.into_iter().map(part).collect::<Result<_, _>>()?;
    Ok(Lazy::concat(parts)?.reshaped(&shape)?)
}

pub(super) const STARCODER2: Family = Family {
    classes: &["Starcoder2ForCausalLM"],
    activations: GELU,
    architecture: "starcoder2",
    facts: &[count("attention.sliding_window", &["sliding_window"])],
    rules: &[&[
        rename("model.layers.{}.mlp.c_fc", "blk.{}.ffn_up"),
        rename("model.layers.{}.mlp.c_proj", "blk.{}.ffn_down"),
    ]],
    ..Family::DEFAULT
};

pub(super) const STABLELM: Family = Family {
    classes: &["StableLmForCausalLM", "StableLMEpochForCausalLM"],
    architecture: "stablelm",
    has_common_keys: false,
    defaults: &[("partial_rotary_factor", "0.25"), ("use_parallel_residual", "false")],
    facts: &[
        count("context_length", &["max_position_embeddings"]).required(),
        count("embedding_length", &["hidden_size"]).required(),
        count("feed_forward_length", &["intermediate_size"]).required(),
        count("attention.head_count", &["num_attention_heads"]).required(),
        count("attention.head_count_kv", &["num_key_value_heads"]).required(),
        float("attention.layer_norm_epsilon", &["layer_norm_eps", "norm_eps"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        keys.rotary(config)?;
        let share = config.shared_rope().float("partial_rotary_factor")?;
        let size = config.count(&["hidden_size"])? / config.num_heads()?.max(1);
        keys.count("rope.dimension_count", (share * size as f64) as usize);
        keys.set("use_parallel_residual", config.is_set("use_parallel_residual")?);
        Ok(())
    },
    rules: &[&[
        // A norm for each head.
        rename("model.layers.{}.self_attn.q_layernorm.norms.{}", "blk.{}.attn_q_norm"),
        rename("model.layers.{}.self_attn.k_layernorm.norms.{}", "blk.{}.attn_k_norm"),
    ]],
    ..Family::DEFAULT
};

pub(super) const JAIS2: Family = Family {
    classes: &["Jais2ForCausalLM"],
    activations: &["relu2"],
    architecture: "jais2",
    // By `Jais2Config` of transformers.
    defaults: &[("rope_theta", "10000.0"), ("layer_norm_eps", "1e-5")],
    keys: rotary_dimensions,
    ..Family::DEFAULT
};
