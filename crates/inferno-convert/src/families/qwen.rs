//! Qwen 2 to 3.5, dense and mixtures of experts.

use super::{prediction, reranker};
use crate::ConvertError;
use crate::config::{Config, MAX_LAYERS, invalid};
use crate::family::{Context, Family, Rule, ViewError, count, map, rename, split};
use crate::keys::Keys;
use crate::lazy::Lazy;
use crate::transforms::{
    first_half, negative_exp, plus_one, rows, same, second_half, squeezed, transposed,
};

pub(super) const QWEN2: Family = Family {
    classes: &["Qwen2ForCausalLM"],
    architecture: "qwen2",
    defaults: &[("rms_norm_eps", "1e-6")],
    keys: |context, _| expect_no_window(context.config),
    ..Family::DEFAULT
};

/// The text models of Qwen2-VL and Qwen2.5-VL: all positions of a text token are equal.
pub(super) const QWEN2_VL: Family = Family {
    classes: &["Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"],
    defaults: &[("rms_norm_eps", "1e-5"), ("rope_theta", "1000000.0")],
    ..QWEN2
};

/// The text model of Qwen2.5-Omni, which its thinker has.
///
/// **Source**: `Qwen2_5OmniTextConfig` of transformers.
pub(super) const QWEN2_5_OMNI: Family = Family {
    classes: &[
        "Qwen2_5OmniForConditionalGeneration",
        "Qwen2_5OmniModel",
        "Qwen2_5OmniThinkerForConditionalGeneration",
    ],
    defaults: &[("rms_norm_eps", "1e-6"), ("rope_theta", "1000000.0")],
    ..QWEN2
};

/// Checks that no layer has a sliding window, which runtimes do not expect.
fn expect_no_window(config: &Config) -> Result<(), ConvertError> {
    let has_window = config.is_set("use_sliding_window")? && config.get("sliding_window").is_some();
    match has_window && config.count_or(&["max_window_layers"], 28)? < config.num_layers()? {
        true => Err(invalid("use_sliding_window", "false", true)),
        false => Ok(()),
    }
}

/// States which layers have no experts, if there are any: the first ones, and all but every n-th.
fn dense_layers(config: &Config, keys: &mut Keys) -> Result<(), ConvertError> {
    const LISTED: &str = "mlp_only_layers";
    let mut listed = config.floats(LISTED)?.unwrap_or_default();
    listed.sort_by(f64::total_cmp);
    if !(0..listed.len()).map(|layer| layer as f64).eq(listed.iter().copied()) {
        return Err(invalid(LISTED, "the first layers only", format!("{listed:?}")));
    }
    if !listed.is_empty() {
        keys.count("leading_dense_block_count", listed.len());
    }
    let step = config.count_or(&["decoder_sparse_step"], 1)?;
    if step != 1 {
        keys.count("interleave_moe_layer_step", step);
    }
    Ok(())
}

pub(super) const QWEN2_MOE: Family = Family {
    classes: &["Qwen2MoeForCausalLM"],
    architecture: "qwen2moe",
    keys: |context, keys| {
        dense_layers(context.config, keys)?;
        expect_no_window(context.config)?;
        context.config.expect_flag("norm_topk_prob", false)
    },
    facts: &[
        count("expert_feed_forward_length", &["moe_intermediate_size"]),
        count("expert_shared_feed_forward_length", &["shared_expert_intermediate_size"]),
    ],
    ..Family::DEFAULT
};

pub(super) const QWEN3: Family = Family {
    classes: &["Qwen3ForCausalLM"],
    architecture: "qwen3",
    select: Some(|config, folder| match reranker::is_reranker(config, folder) {
        true => Ok(&reranker::QWEN3),
        false => Ok(&QWEN3),
    }),
    ..QWEN2
};

pub(super) const QWEN3_MOE: Family = Family {
    classes: &["Qwen3MoeForCausalLM"],
    architecture: "qwen3moe",
    defaults: &[("norm_topk_prob", "false")],
    keys: |context, keys| {
        dense_layers(context.config, keys)?;
        expect_no_window(context.config)?;
        context.config.expect_flag("norm_topk_prob", true)
    },
    ..QWEN2_MOE
};

/// **Source**: `Qwen3VLTextConfig` of transformers.
pub(super) const QWEN3_VL_DEFAULTS: &[(&str, &str)] =
    &[("rms_norm_eps", "1e-6"), ("rope_theta", "500000.0")];

pub(super) const QWEN3_VL: Family = Family {
    classes: &["Qwen3VLForConditionalGeneration"],
    architecture: "qwen3vl",
    defaults: QWEN3_VL_DEFAULTS,
    select: Some(|config, folder| match reranker::is_reranker(config, folder) {
        true => Ok(&reranker::QWEN3_VL),
        false => Ok(&QWEN3_VL),
    }),
    keys: deepstack,
    ..QWEN2
};

pub(super) const QWEN3_VL_MOE: Family = Family {
    classes: &["Qwen3VLMoeForConditionalGeneration"],
    architecture: "qwen3vlmoe",
    defaults: QWEN3_VL_DEFAULTS,
    keys: |context, keys| {
        dense_layers(context.config, keys)?;
        deepstack(context, keys)
    },
    rules: &[&[
        split(
            "model.layers.{}.mlp.experts.gate_up_proj",
            &[
                ("blk.{}.ffn_gate_exps.weight", |context, tensor| {
                    first_half(context, expert_rows(context, tensor, "hidden_size")?)
                }),
                ("blk.{}.ffn_up_exps.weight", |context, tensor| {
                    second_half(context, expert_rows(context, tensor, "hidden_size")?)
                }),
            ],
        ),
        split(
            "model.layers.{}.mlp.experts.down_proj",
            &[("blk.{}.ffn_down_exps.weight", |context, tensor| {
                expert_rows(context, tensor, "moe_intermediate_size")
            })],
        ),
    ]],
    ..QWEN2_MOE
};

/// The text models of Qwen3-Omni, which its thinker has.
///
/// **Source**: `Qwen3OmniMoeTextConfig` of transformers.
pub(super) const QWEN3_OMNI_MOE: Family = Family {
    classes: &[
        "Qwen3OmniMoeForConditionalGeneration",
        "Qwen3OmniMoeThinkerForConditionalGeneration",
    ],
    architecture: "qwen3vlmoe",
    defaults: &[("rms_norm_eps", "1e-6"), ("rope_theta", "1000000.0"), ("norm_topk_prob", "true")],
    keys: |context, keys| {
        dense_layers(context.config, keys)?;
        context.config.expect_flag("norm_topk_prob", true)?;
        deepstack(context, keys)
    },
    ..QWEN2_MOE
};

/// Experts as rows of `inputs` values. Published files store them transposed; files saved by transformers 5 do not. A shape
/// that fits both is that of a published file, as in llama.cpp's converter.
fn expert_rows(
    context: &Context<'_>,
    tensor: Lazy,
    inputs: &'static str,
) -> Result<Lazy, ViewError> {
    let inputs = context.config.count(&[inputs])?;
    match tensor.shape[..] {
        [_, rows, cols] if cols == inputs && rows != inputs => Ok(tensor),
        _ => transposed(context, tensor),
    }
}

/// The layers that add features of images, which text does not have.
pub(super) fn deepstack(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let vision = context.config.get("vision_config");
    let layers = vision.and_then(|vision| vision.get("deepstack_visual_indexes")?.as_array());
    keys.count("n_deepstack_layers", layers.map_or(0, Vec::len));
    Ok(())
}

/// Layers of linear attention (gated delta nets).
const LINEAR_ATTENTION: &[Rule] = &[
    map("model.layers.{}.input_layernorm", "blk.{}.attn_norm", plus_one),
    map("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm", plus_one),
    map("model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm", plus_one),
    map("model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm", plus_one),
    map("model.norm", "output_norm", plus_one),
    map("model.layers.{}.linear_attn.A_log", "blk.{}.ssm_a", |context, tensor| {
        negative_exp(context, tiled_rows(context, tensor, 1)?)
    }),
    map("model.layers.{}.linear_attn.dt_bias", "blk.{}.ssm_dt.bias", |context, tensor| {
        tiled_rows(context, tensor, 1)
    }),
    map("model.layers.{}.linear_attn.conv1d", "blk.{}.ssm_conv1d", |context, tensor| {
        tiled_values(context, squeezed(context, tensor)?)
    }),
    rename("model.layers.{}.linear_attn.norm", "blk.{}.ssm_norm"),
    map("model.layers.{}.linear_attn.out_proj", "blk.{}.ssm_out", tiled_columns),
    rename("model.layers.{}.linear_attn.in_proj_ba", "blk.{}.ssm_ba"),
    map("model.layers.{}.linear_attn.in_proj_a", "blk.{}.ssm_alpha", |context, tensor| {
        tiled_rows(context, tensor, 1)
    }),
    map("model.layers.{}.linear_attn.in_proj_b", "blk.{}.ssm_beta", |context, tensor| {
        tiled_rows(context, tensor, 1)
    }),
    map("model.layers.{}.linear_attn.in_proj_qkv", "blk.{}.attn_qkv", tiled_values),
    map("model.layers.{}.linear_attn.in_proj_z", "blk.{}.attn_gate", |context, tensor| {
        let size = context.config.count(&["linear_value_head_dim"])?;
        tiled_rows(context, tensor, size)
    }),
    // The layers that predict further tokens.
    map("model.layers.{}.enorm", "blk.{}.nextn.enorm", plus_one),
    map("model.layers.{}.hnorm", "blk.{}.nextn.hnorm", plus_one),
    map("model.layers.{}.shared_head.norm", "blk.{}.nextn.shared_head_norm", plus_one),
];

pub(super) const QWEN3_NEXT: Family = Family {
    classes: &["Qwen3NextForCausalLM"],
    architecture: "qwen3next",
    keys: |context, keys| {
        keys.unnormalized_experts(context.config)?;
        dense_layers(context.config, keys)?;
        linear_attention(context, keys, Grouping::ByKey)
    },
    prediction_layers,
    rename: prediction::names,
    rules: &[
        &[
            split(
                "model.layers.{}.linear_attn.in_proj_qkvz",
                &[
                    ("blk.{}.attn_qkv", |context, tensor| {
                        let parts = [Part::Query, Part::Key, Part::Value];
                        let parts = parts.map(|part| grouped_rows(context, &tensor, part));
                        Ok(Lazy::concat(parts.into_iter().collect::<Result<_, _>>()?)?)
                    }),
                    ("blk.{}.attn_gate", |context, tensor| {
                        grouped_rows(context, &tensor, Part::Gate)
                    }),
                ],
            ),
            // Value heads keep their order, next to those with the same key.
            map("model.layers.{}.linear_attn.A_log", "blk.{}.ssm_a", negative_exp),
            rename("model.layers.{}.linear_attn.dt_bias", "blk.{}.ssm_dt.bias"),
            map("model.layers.{}.linear_attn.conv1d", "blk.{}.ssm_conv1d", squeezed),
            map("model.layers.{}.linear_attn.out_proj", "blk.{}.ssm_out", same),
        ],
        LINEAR_ATTENTION,
    ],
    ..QWEN2_MOE
};

pub(super) const QWEN35: Family = Family {
    classes: &["Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"],
    architecture: "qwen35",
    keys: |context, keys| linear_attention(context, keys, Grouping::Tiled),
    rules: &[LINEAR_ATTENTION],
    ..QWEN3_NEXT
};

pub(super) const QWEN35_MOE: Family = Family {
    classes: &["Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"],
    architecture: "qwen35moe",
    ..QWEN35
};

/// The order of value heads, of which several share a key head.
#[derive(PartialEq)]
enum Grouping {
    ByKey,
    Tiled,
}

/// How often full attention occurs if a file does not state it.
const DEFAULT_INTERVAL: usize = 4;

fn linear_attention(
    context: &Context<'_>,
    keys: &mut Keys,
    grouping: Grouping,
) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    let values = config.count(&["linear_num_value_heads"])?;
    keys.count("ssm.conv_kernel", config.count(&["linear_conv_kernel_dim"])?);
    keys.count("ssm.state_size", config.count(&["linear_key_head_dim"])?);
    keys.count("ssm.group_count", config.count(&["linear_num_key_heads"])?);
    keys.count("ssm.time_step_rank", values);
    keys.count("ssm.inner_size", config.count(&["linear_value_head_dim"])? * values);
    if let Some(mut recurrent) = config.layers_of_type(&["linear_attention"])? {
        recurrent.resize(config.num_layers()? + prediction_layers(context)?, false);
        keys.set("attention.recurrent_layers", recurrent);
    }
    let interval = config.count_or(&["full_attention_interval"], DEFAULT_INTERVAL)?;
    keys.count("full_attention_interval", interval);
    let rotated = config.shared_rope().optional_float("partial_rotary_factor")?.unwrap_or(0.25);
    keys.count("rope.dimension_count", (config.head_dim()? as f64 * rotated) as usize);
    prediction::state(keys, prediction_layers(context)?);
    if grouping == Grouping::Tiled && config.shared_rope().get("mrope_section").is_none() {
        keys.counts("rope.dimension_sections", [11, 11, 10, 0]);
    }
    Ok(())
}

/// Number of layers that predict further tokens: as in llama.cpp, what the configuration states, even if the files do not have
/// them.
fn prediction_layers(context: &Context<'_>) -> Result<usize, ConvertError> {
    let layers = context.sources.tensors().filter_map(|(_, source)| {
        let name = source.name.strip_prefix("model.").unwrap_or(&source.name);
        let number = name.strip_prefix("mtp.layers.")?.split('.').next()?;
        number.parse::<u16>().ok()
    });
    let found = layers.max().map_or(0, |last| usize::from(last) + 1);
    let stated = context.config.optional_count_up_to(MAX_LAYERS, &["mtp_num_hidden_layers"])?;
    Ok(stated.map_or(found, |stated| stated.max(found)))
}

/// Numbers of key heads and of value heads for each.
fn heads(config: &Config) -> Result<(usize, usize), ConvertError> {
    let keys = config.count(&["linear_num_key_heads"])?.max(1);
    Ok((keys, config.count(&["linear_num_value_heads"])? / keys))
}

/// Value heads of `size` rows, from those of each key side by side to those of all keys one after the other.
fn tiled_rows(context: &Context<'_>, tensor: Lazy, size: usize) -> Result<Lazy, ViewError> {
    let (keys, values) = heads(context.config)?;
    let shape = tensor.shape.clone();
    let split: Vec<usize> = [keys, values, size]
        .into_iter()
        .chain(shape.get(1..).unwrap_or_default().iter().copied())
        .collect();
    Ok(tensor.view(|view| view.reshape(&split)?.transpose(0, 1))?.reshaped(&shape)?)
}

/// The columns of value heads, in the order of [`tiled_rows`].
fn tiled_columns(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let (keys, values) = heads(context.config)?;
    let size = context.config.count(&["linear_value_head_dim"])?;
    let shape = tensor.shape.clone();
    let split = [shape[0], keys, values, size];
    Ok(tensor.view(|view| view.reshape(&split)?.transpose(1, 2))?.reshaped(&shape)?)
}

/// Rows of queries and keys, then those of values in the order of [`tiled_rows`].
fn tiled_values(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let (keys, _) = heads(context.config)?;
    let first = 2 * keys * context.config.count(&["linear_key_head_dim"])?;
    let size = context.config.count(&["linear_value_head_dim"])?;
    let (len, shape) = (tensor.shape[0], tensor.shape.clone());
    // After a squeeze, views start from the original shape.
    let tensor = tensor.view(|view| view.reshape(&shape))?;
    let values = tiled_rows(context, rows(&tensor, first.min(len)..len)?, size)?;
    Ok(Lazy::concat(vec![rows(&tensor, 0..first.min(len))?, values])?)
}

/// A part of the rows of each key head.
#[derive(Clone, Copy)]
enum Part {
    Query,
    Key,
    Value,
    Gate,
}

/// The rows of one kind, of `[queries, keys, values, gates]` for each key head.
fn grouped_rows(context: &Context<'_>, tensor: &Lazy, part: Part) -> Result<Lazy, ViewError> {
    let (keys, values) = heads(context.config)?;
    let key = context.config.count(&["linear_key_head_dim"])?;
    let value = values * context.config.count(&["linear_value_head_dim"])?;
    let range = match part {
        Part::Query => 0..key,
        Part::Key => key..2 * key,
        Part::Value => 2 * key..2 * key + value,
        Part::Gate => 2 * key + value..2 * (key + value),
    };
    let cols = tensor.shape.get(1).copied().unwrap_or(1);
    let per_key = 2 * (key + value);
    let shape = [keys * range.len(), cols];
    Ok(tensor
        .clone()
        .view(|view| view.reshape(&[keys, per_key, cols])?.slice(1, range.clone()))?
        .reshaped(&shape)?)
}
