//! GLM 4 and 4.5 to 4.7.

use inferno_tensor::TensorError;

use super::deepseek;
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{
    Context, Family, Rule, TokenizerFacts, ViewError, count, flag, float, map, rename,
};
use crate::keys::Keys;
use crate::lazy::Lazy;

pub(super) const GLM4: Family = Family {
    classes: &["Glm4ForCausalLM", "Glm4vForConditionalGeneration"],
    architecture: "glm4",
    keys: |context, keys| {
        // Runtimes rotate halves if there are two sections at least.
        let sections = context.config.shared_rope().floats(SECTIONS)?;
        if sections.is_some_and(|it| it.len() < 2 || it[..2].iter().any(|&len| len < 1.0)) {
            let expected = "two numbers above 0 or more";
            return Err(invalid("rope_parameters.mrope_section", expected, "others"));
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
    let (shape, heads) = (tensor.shape.clone(), heads.max(1));
    let (size, rotated) = (shape[0] / heads, rotated_size(context.config)?);
    let with_tail = |rows: &[usize]| [rows, &shape[1..]].concat();
    let by_head = tensor.view(|view| view.reshape(&with_tail(&[heads, size])))?;
    let rows_of = |head: usize| {
        let rows = by_head.clone().view(|view| view.select(0, head))?;
        let pairs = rows.clone().view(|view| {
            view.slice(0, 0..rotated)?.reshape(&with_tail(&[rotated / 2, 2]))?.transpose(0, 1)
        })?;
        let rest = rows.view(|view| view.slice(0, rotated..size))?;
        Ok([pairs.reshaped(&with_tail(&[rotated]))?, rest])
    };
    let rows: Vec<_> = (0..heads).map(rows_of).collect::<Result<_, TensorError>>()?;
    Ok(Lazy::concat(rows.into_iter().flatten().collect())?)
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
    classes: &["Glm4MoeForCausalLM"],
    architecture: "glm4moe",
    facts: &[
        count("expert_count", &["n_routed_experts"]),
        count("expert_feed_forward_length", &["moe_intermediate_size"]),
        count("expert_shared_count", &["n_shared_experts"]),
        count("leading_dense_block_count", &["first_k_dense_replace"]),
        float("expert_weights_scale", &["routed_scaling_factor"]),
        flag("expert_weights_norm", &["norm_topk_prob"]),
        count("nextn_predict_layers", &["num_nextn_predict_layers"]),
    ],
    keys: |context, keys| {
        keys.set("expert_gating_func", 2_u32);
        rotary_dimensions(context, keys)
    },
    prediction_layers: |context| context.config.count_or(&["num_nextn_predict_layers"], 0),
    rules: &[NORMS],
    tokenizer: MOE_TOKENIZER,
    ..Family::DEFAULT
};

pub(super) const GLM4_MOE_LITE: Family = Family {
    classes: &["Glm4MoeLiteForCausalLM"],
    defaults: &[("rms_norm_eps", "1e-5"), ("kv_lora_rank", "512")],
    prepare: |config| {
        (deepseek::DEEPSEEK2.prepare)(config)?;
        deepseek::sigmoid_by_default(config);
        leading_dense_layers(config)
    },
    prediction_layers: |context| context.config.count_or(&["num_nextn_predict_layers"], 0),
    keys: |context, keys| {
        deepseek::latent(context, keys)?;
        let predicted = context.config.count_or(&["num_nextn_predict_layers"], 0)?;
        if predicted > 0 {
            keys.count("nextn_predict_layers", predicted);
        }
        Ok(())
    },
    rename: |_, name| Ok(name),
    tokenizer: MOE_TOKENIZER,
    ..deepseek::DEEPSEEK2
};

/// Counts the layers without experts at the beginning, for files that list the kinds of layers instead.
fn leading_dense_layers(config: &mut Config) -> Result<(), ConvertError> {
    const COUNT: &str = "first_k_dense_replace";
    if config.get(COUNT).is_some() {
        return Ok(());
    }
    let kinds = config.texts("mlp_layer_types")?.unwrap_or_else(|| vec!["dense"]);
    let dense = kinds.iter().take_while(|kind| **kind == "dense").count();
    if kinds[dense..].contains(&"dense") {
        let expected = "\"dense\" for the first layers only";
        return Err(invalid("mlp_layer_types", expected, "another order"));
    }
    config.set(COUNT, dense);
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
