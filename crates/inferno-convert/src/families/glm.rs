//! ChatGLM 3, GLM 4 and 4.5 to 4.7.

use super::{deepseek, prediction};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{
    Context, Family, Rule, TokenizerFacts, ViewError, count, flag, float, map, rename, skip,
};
use crate::keys::Keys;
use crate::lazy::Lazy;
use crate::transforms::{halved_rows, rows};

/// ChatGLM 3, the first GLM 4 and CodeGeeX 4, in the form of their own code or of transformers.
pub(super) const CHATGLM: Family = Family {
    classes: &["GlmForCausalLM", "ChatGLMModel", "ChatGLMForConditionalGeneration"],
    architecture: "chatglm",
    prepare: |config| {
        for (own, key) in [
            ("seq_length", "max_position_embeddings"),
            ("ffn_hidden_size", "intermediate_size"),
            ("layernorm_epsilon", "rms_norm_eps"),
            ("multi_query_group_num", "num_key_value_heads"),
            ("padded_vocab_size", "vocab_size"),
        ] {
            if let Some(value) = config.get(own).cloned() {
                config.set(key, value);
            }
        }
        Ok(())
    },
    // By `GlmConfig` of transformers.
    defaults: &[("rope_theta", "10000.0"), ("rms_norm_eps", "1.5625e-7")],
    expected: &[
        ("rmsnorm", "true"),
        ("multi_query_attention", "true"),
        ("apply_residual_connection_post_layernorm", "false"),
        ("post_layer_norm", "true"),
    ],
    keys: |context, keys| {
        if let Some(ratio) = context.config.optional_float(&["rope_ratio"])? {
            keys.float("rope.freq_base", 10_000.0 * ratio);
        }
        rotary_dimensions(context, keys)
    },
    rules: &[&[
        rename("transformer.embedding.word_embeddings", "token_embd"),
        rename("transformer.encoder.final_layernorm", "output_norm"),
        rename("transformer.output_layer", "output"),
        rename("transformer.encoder.layers.{}.input_layernorm", "blk.{}.attn_norm"),
        rename("transformer.encoder.layers.{}.self_attention.query_key_value", "blk.{}.attn_qkv"),
        rename("transformer.encoder.layers.{}.self_attention.dense", "blk.{}.attn_output"),
        rename("transformer.encoder.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"),
        rename("transformer.encoder.layers.{}.mlp.dense_h_to_4h", "blk.{}.ffn_up"),
        rename("transformer.encoder.layers.{}.mlp.dense_4h_to_h", "blk.{}.ffn_down"),
        skip("transformer.rotary_pos_emb.inv_freq"),
    ]],
    tokenizer: TokenizerFacts {
        add_bos: Some(false),
        pre_tokenizer: Some("chatglm-bpe"),
        tokens: &[("eos", "<|endoftext|>"), ("eot", "<|user|>"), ("unk", "<|endoftext|>")],
        ..TokenizerFacts::DEFAULT
    },
    ..Family::DEFAULT
};

pub(super) const GLM4: Family = Family {
    classes: &[
        "Glm4ForCausalLM",
        "Glm4vForConditionalGeneration",
        "Glm46VForConditionalGeneration",
    ],
    architecture: "glm4",
    keys: |context, keys| {
        // Runtimes rotate halves if there are two sections at least.
        let sections = context.config.shared_rope().floats(SECTIONS)?;
        if let Some(sections) = sections
            && (sections.len() < 2 || sections[..2].iter().any(|&len| len < 1.0))
        {
            let expected = "at least two numbers, which are 1 or more";
            let found = format!("{sections:?}");
            return Err(invalid("rope_parameters.mrope_section", expected, found));
        }
        rotary_dimensions(context, keys)
    },
    rules: &[&[
        map("model.layers.{}.self_attn.q_proj", "blk.{}.attn_q", |context, tensor| {
            rotated_rows(context, tensor, context.config.num_heads()?)
        }),
        map("model.layers.{}.self_attn.k_proj", "blk.{}.attn_k", |context, tensor| {
            rotated_rows(context, tensor, context.config.num_kv_heads()?)
        }),
        rename("model.layers.{}.post_self_attn_layernorm", "blk.{}.post_attention_norm"),
        rename("model.layers.{}.post_mlp_layernorm", "blk.{}.post_ffw_norm"),
    ]],
    tokenizer: TokenizerFacts {
        tokens: &[
            ("eos", "<|endoftext|>"),
            ("eot", "<|user|>"),
            ("unk", "<|endoftext|>"),
            ("bos", "<|endoftext|>"),
        ],
        ..TokenizerFacts::DEFAULT
    },
    ..Family::DEFAULT
};

/// GLM-OCR, which has a layer that predicts further tokens.
pub(super) const GLM_OCR: Family = Family {
    classes: &["GlmOcrForConditionalGeneration"],
    defaults: &[("partial_rotary_factor", "1.0")],
    keys: |context, keys| {
        (GLM4.keys)(context, keys)?;
        prediction::state(keys, prediction::layers_in_files(context)?);
        Ok(())
    },
    prediction_layers: prediction::layers_in_files,
    ..GLM4
};

/// The key of the sections of a head's rotated components, one for each kind of position in images.
const SECTIONS: &str = "mrope_section";

/// The rows of a projection whose heads are rotated. With sections, rotary embeddings of the result rotate halves instead of
/// neighboring rows.
///
/// **Source**: `Glm4Model.normal_to_neox` of llama.cpp's converter.
fn rotated_rows(context: &Context<'_>, tensor: Lazy, heads: usize) -> Result<Lazy, ViewError> {
    if context.config.shared_rope().get(SECTIONS).is_none() {
        return Ok(tensor);
    }
    let (size, rotated) = (tensor.shape[0] / heads.max(1), rotated_size(context.config)?);
    let mut parts = Vec::new();
    for first in (0..heads).map(|head| head * size) {
        parts.push(halved_rows(rows(&tensor, first..first + rotated)?, 1)?);
        parts.push(rows(&tensor, first + rotated..first + size)?);
    }
    Ok(Lazy::concat(parts)?)
}

const MOE_TOKENIZER: TokenizerFacts = TokenizerFacts {
    tokens: &[
        ("bos", "[gMASK]"),
        ("eot", "<|user|>"),
        ("unk", "<|endoftext|>"),
        ("eom", "<|observation|>"),
    ],
    ..TokenizerFacts::DEFAULT
};

/// The names of GLM's mixtures.
const NORMS: &[Rule] =
    &[rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm")];

pub(super) const GLM4_MOE: Family = Family {
    classes: &["Glm4MoeForCausalLM", "Glm4vMoeForConditionalGeneration"],
    architecture: "glm4moe",
    // By `Glm4MoeConfig` of transformers.
    defaults: &[("norm_topk_prob", "true")],
    facts: &[
        count("expert_count", &["n_routed_experts"]),
        count("expert_feed_forward_length", &["moe_intermediate_size"]),
        count("expert_shared_count", &["n_shared_experts"]),
        count("leading_dense_block_count", &[LEADING_DENSE]),
        float("expert_weights_scale", &["routed_scaling_factor"]),
        flag("expert_weights_norm", &["norm_topk_prob"]),
        count("nextn_predict_layers", &["num_nextn_predict_layers"]),
    ],
    keys: |context, keys| {
        keys.set("expert_gating_func", 2_u32);
        rotary_dimensions(context, keys)
    },
    prediction_layers: |context| prediction::stated(context.config),
    rules: &[NORMS],
    tokenizer: MOE_TOKENIZER,
    ..Family::DEFAULT
};

/// Solar Open, which has the layers of GLM's mixtures.
pub(super) const SOLAR_OPEN: Family = Family {
    classes: &["SolarOpenForCausalLM"],
    // By `SolarOpenConfig` of transformers.
    defaults: &[
        ("rms_norm_eps", "1e-5"),
        ("norm_topk_prob", "true"),
        ("routed_scaling_factor", "1.0"),
        ("rope_theta", "1000000.0"),
        ("partial_rotary_factor", "1.0"),
    ],
    tokenizer: TokenizerFacts::DEFAULT,
    ..GLM4_MOE
};

pub(super) const GLM4_MOE_LITE: Family = Family {
    classes: &["Glm4MoeLiteForCausalLM"],
    // By `Glm4MoeLiteConfig` of transformers.
    defaults: &[
        ("rms_norm_eps", "1e-5"),
        ("kv_lora_rank", "512"),
        ("norm_topk_prob", "true"),
        ("routed_scaling_factor", "1.8"),
    ],
    prepare: |config| {
        (deepseek::DEEPSEEK2.prepare)(config)?;
        deepseek::sigmoid_by_default(config);
        leading_dense_layers(config)
    },
    prediction_layers: |context| prediction::stated(context.config),
    keys: |context, keys| {
        deepseek::latent(context, keys)?;
        prediction::state(keys, prediction::stated(context.config)?);
        Ok(())
    },
    rename: |_, name| Ok(name),
    tokenizer: MOE_TOKENIZER,
    ..deepseek::DEEPSEEK2
};

/// The key of the number of layers without experts at the beginning.
pub(super) const LEADING_DENSE: &str = "first_k_dense_replace";

/// Counts the layers without experts at the beginning, for files that list the kinds of layers instead.
pub(super) fn leading_dense_layers(config: &mut Config) -> Result<(), ConvertError> {
    if config.get(LEADING_DENSE).is_some() {
        return Ok(());
    }
    let kinds = config.texts("mlp_layer_types")?.unwrap_or_else(|| vec!["dense"]);
    let dense = kinds.iter().take_while(|kind| **kind == "dense").count();
    if kinds[dense..].contains(&"dense") {
        let expected = "\"dense\" for the first layers only";
        return Err(invalid("mlp_layer_types", expected, "another order"));
    }
    config.set(LEADING_DENSE, dense);
    Ok(())
}

fn rotary_dimensions(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    keys.count("rope.dimension_count", rotated_size(context.config)?);
    Ok(())
}

/// Number of rotated components of a head: half of them, unless the file states another share.
fn rotated_size(config: &Config) -> Result<usize, ConvertError> {
    let share = config.shared_rope().optional_float("partial_rotary_factor")?.unwrap_or(0.5);
    Ok((config.head_dim()? as f64 * share) as usize)
}
