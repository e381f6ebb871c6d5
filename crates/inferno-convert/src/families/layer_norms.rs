//! Models with layer norms and biases: GPT-2, GPT-NeoX, Falcon, StarCoder 1 and 2, StableLM.

use crate::ConvertError;
use crate::config::Config;
use crate::family::{Context, Family, GELU, Rule, ViewError, count, float, map, rename, skip};
use crate::keys::Keys;
use crate::lazy::Lazy;
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
            map("transformer.h.{}.attn.c_attn.weight", "blk.{}.attn_qkv.weight", transposed),
            map("transformer.h.{}.attn.c_proj.weight", "blk.{}.attn_output.weight", transposed),
            map("transformer.h.{}.mlp.c_fc.weight", "blk.{}.ffn_up.weight", transposed),
            map("transformer.h.{}.mlp.c_proj.weight", "blk.{}.ffn_down.weight", transposed),
        ],
        GPT2_NAMES,
    ],
    ..Family::DEFAULT
};

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
        map(
            "gpt_neox.layers.{}.attention.query_key_value",
            "blk.{}.attn_qkv",
            |context, tensor| {
                let heads = context.config.num_heads()?;
                let shape = tensor.shape.clone();
                let size = shape[0] / heads.max(1) / 3;
                let split = [&[heads, 3, size], shape.get(1..).unwrap_or_default()].concat();
                Ok(tensor.view(|view| view.reshape(&split)?.transpose(0, 1))?.reshaped(&shape)?)
            },
        ),
        rename("gpt_neox.layers.{}.attention.dense", "blk.{}.attn_output"),
        rename("gpt_neox.layers.{}.mlp.dense_h_to_4h", "blk.{}.ffn_up"),
        rename("gpt_neox.layers.{}.mlp.dense_4h_to_h", "blk.{}.ffn_down"),
        skip("gpt_neox.layers.{}.attention.bias"),
        skip("gpt_neox.layers.{}.attention.masked_bias"),
        skip("gpt_neox.layers.{}.attention.rotary_emb.inv_freq"),
    ]],
    ..Family::DEFAULT
};

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
