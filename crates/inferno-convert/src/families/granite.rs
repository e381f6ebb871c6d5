//! Granite 3 and 4, dense, with sliding windows, mixtures of experts, and hybrids with Mamba 2; Bamba, which is such a hybrid.

use super::llama::{PAIRED, TOKENIZER};
use super::mamba;
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, TokenizerFacts, count, map, rename, split};
use crate::keys::Keys;
use crate::transforms::{first_half, paired_rows, second_half};

/// Factors of Granite's layers.
const FACTORS: [(&str, &str); 4] = [
    ("attention.scale", "attention_multiplier"),
    ("embedding_scale", "embedding_multiplier"),
    ("residual_scale", "residual_multiplier"),
    ("logit_scale", "logits_scaling"),
];

pub(super) const GRANITE: Family = Family {
    classes: &["GraniteForCausalLM"],
    architecture: "granite",
    facts: &[count("vocab_size", &["vocab_size"]).required()],
    keys: granite,
    rules: &[PAIRED],
    tokenizer: TOKENIZER,
    ..Family::DEFAULT
};

pub(super) const GRANITE_SWA: Family = Family {
    classes: &["GraniteSWAForCausalLM"],
    architecture: "granite_swa",
    // By `GraniteSWAConfig` of transformers.
    defaults: &[("sliding_window", "128"), ("attention_multiplier", "1.0")],
    keys: |context, keys| {
        let config = context.config;
        granite(context, keys)?;
        let windows = match config.layers_of_type(&["sliding_attention"])? {
            Some(windows) => windows,
            None => (0..config.num_layers()?).map(|layer| layer % 4 != 0).collect(),
        };
        keys.count("attention.sliding_window", config.count(&["sliding_window"])?);
        keys.set("attention.sliding_window_pattern", windows);
        rotary_bases(config, keys)
    },
    rules: &[&[rename("model.layers.{}.self_attn.sinks", "blk.{}.attn_sinks.weight")], PAIRED],
    ..GRANITE
};

/// The rotary base, and which layers have rotary embedding: those whose base is not 0.
fn rotary_bases(config: &Config, keys: &mut Keys) -> Result<(), ConvertError> {
    const KEY: &str = "layer_rope_theta";
    let Some(bases) = config.floats(KEY)? else { return Ok(()) };
    let num_layers = config.num_layers()?;
    if bases.len() != num_layers {
        let expected = format!("a number for each of {num_layers} layers");
        return Err(invalid(KEY, &expected, bases.len()));
    }
    let mut rotated = bases.iter().filter(|base| **base != 0.0);
    if let Some(base) = rotated.next() {
        if let Some(other) = rotated.find(|other| *other != base) {
            return Err(invalid(KEY, &format!("{base} or 0 for all layers"), other));
        }
        keys.float("rope.freq_base", *base);
    }
    let is_rotated: Vec<bool> = bases.iter().map(|base| *base != 0.0).collect();
    keys.set("attention.rope_pattern", is_rotated);
    Ok(())
}

/// The metadata of all Granite models.
pub(super) fn granite(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    // The size of a head follows from the hidden size.
    keys.remove("attention.key_length");
    keys.remove("attention.value_length");
    let size = config.count(&["hidden_size"])? / config.num_heads()?.max(1);
    keys.count("rope.dimension_count", size);
    for (key, from) in FACTORS {
        match config.optional_float(&[from])? {
            Some(factor) if factor != 0.0 => keys.float(key, factor),
            _ => {}
        }
    }
    match config.optional_count(&["shared_intermediate_size"])? {
        Some(size) if size > 0 && has_shared_size(config) => {
            keys.set("expert_shared_feed_forward_length", size);
            // Without experts, the shared one is the feed-forward block.
            if !has_experts(config)? {
                keys.set("feed_forward_length", size);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether the class of the model has a size of shared experts.
fn has_shared_size(config: &Config) -> bool {
    config.architecture().is_ok_and(|class| class != "GraniteForCausalLM")
}

/// The experts, whose gates and inputs are one matrix.
const EXPERTS: &[Rule] = &[
    split(
        "model.layers.{}.block_sparse_moe.input_linear",
        &[("blk.{}.ffn_gate_exps", first_half), ("blk.{}.ffn_up_exps", second_half)],
    ),
    rename("model.layers.{}.block_sparse_moe.output_linear", "blk.{}.ffn_down_exps"),
    rename("model.layers.{}.block_sparse_moe.router.layer", "blk.{}.ffn_gate_inp"),
    split(
        "model.layers.{}.shared_mlp.input_linear",
        &[("blk.{}.ffn_gate_shexp", first_half), ("blk.{}.ffn_up_shexp", second_half)],
    ),
    rename("model.layers.{}.shared_mlp.output_linear", "blk.{}.ffn_down_shexp"),
    // Without experts, the shared one is the feed-forward block.
    split(
        "model.layers.{}.only_mlp.input_linear",
        &[("blk.{}.ffn_gate", first_half), ("blk.{}.ffn_up", second_half)],
    ),
    rename("model.layers.{}.only_mlp.output_linear", "blk.{}.ffn_down"),
];

/// Renames the shared expert of models that have no other.
fn without_experts(config: &Config, name: String) -> Result<String, ConvertError> {
    match has_experts(config)? {
        true => Ok(name),
        false => Ok(name.replace(".shared_mlp.", ".only_mlp.")),
    }
}

fn has_experts(config: &Config) -> Result<bool, ConvertError> {
    Ok(config.count_or(&["num_local_experts"], 0)? > 0)
}

pub(super) const GRANITE_MOE: Family = Family {
    classes: &["GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"],
    architecture: "granitemoe",
    rename: without_experts,
    rules: &[EXPERTS, PAIRED],
    ..GRANITE
};

pub(super) const GRANITE_HYBRID: Family = Family {
    classes: &["GraniteMoeHybridForCausalLM"],
    select: Some(|config, _| {
        let recurrent = attention_layers(config)?.into_iter().any(|is_attention| !is_attention);
        Ok(match (recurrent, config.count_or(&["num_experts_per_tok"], 0)? > 0) {
            (true, _) => &HYBRID,
            (false, true) => &ATTENTION_MOE,
            (false, false) => &ATTENTION_ONLY,
        })
    }),
    ..HYBRID
};

const HYBRID: Family = Family {
    architecture: "granitehybrid",
    select: None,
    keys: hybrid,
    rename: without_experts,
    rules: &[EXPERTS, PAIRED, mamba::IN_MAMBA],
    tokenizer: TokenizerFacts { padding: 8, ..TokenizerFacts::DEFAULT },
    ..GRANITE
};

/// Hybrids all of whose layers are attention.
const ATTENTION_MOE: Family = Family { architecture: "granitemoe", ..HYBRID_WITHOUT_PADDING };
const ATTENTION_ONLY: Family = Family { architecture: "granite", ..HYBRID_WITHOUT_PADDING };
const HYBRID_WITHOUT_PADDING: Family = Family { tokenizer: TokenizerFacts::DEFAULT, ..HYBRID };

/// Whether each layer is attention.
fn attention_layers(config: &Config) -> Result<Vec<bool>, ConvertError> {
    if let Some(layers) = config.layers_of_type(&["attention", "full_attention"])? {
        return Ok(layers);
    }
    let layers = 0..config.num_layers()?;
    if let Some(indices) = config.floats("attn_layer_indices")? {
        return Ok(layers.map(|layer| indices.contains(&(layer as f64))).collect());
    }
    let (period, offset) =
        (config.count(&["attn_layer_period"])?.max(1), config.count(&["attn_layer_offset"])?);
    Ok(layers.map(|layer| layer % period == offset).collect())
}

/// The key of the kind of positions; without it, there are none.
const POSITIONS: &str = "position_embedding_type";

fn hybrid(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    granite(context, keys)?;
    mamba::expect_unlimited_time_steps(config)?;
    let size = config.count(&["hidden_size"])?;
    keys.count("ssm.conv_kernel", config.count(&["mamba_d_conv"])?);
    keys.count("ssm.state_size", config.count(&["mamba_d_state"])?);
    keys.count("ssm.group_count", config.count(&["mamba_n_groups"])?);
    keys.count("ssm.inner_size", config.count(&["mamba_expand"])? * size);
    keys.count("ssm.time_step_rank", config.count(&["mamba_n_heads"])?);
    let heads = config.num_kv_heads()?;
    let attention = attention_layers(config)?;
    config.expect_text(POSITIONS, &["rope", "nope"])?;
    let is_rotated = config.text(POSITIONS)? == Some("rope");
    keys.counts("attention.head_count_kv", attention.iter().map(|&is| if is { heads } else { 0 }));
    if let Some(dimensions) = config.optional_count(&["attn_rotary_emb"])? {
        keys.set("rope.dimension_count", dimensions);
    }
    keys.set("rope.scaling.finetuned", is_rotated);
    if !is_rotated {
        keys.count("context_length", mamba::CONTEXT_LENGTH);
    }
    Ok(())
}

/// Hybrids with rotary embeddings of half of each head, which the configuration class does not allow to change.
pub(super) const BAMBA: Family = Family {
    classes: &["BambaForCausalLM"],
    select: None,
    keys: |context, keys| {
        hybrid(context, keys)?;
        keys.set("rope.scaling.finetuned", true);
        keys.count("rope.dimension_count", context.config.head_dim()? / 2);
        let length = context.config.count_or(&["max_position_embeddings"], BAMBA_CONTEXT)?;
        keys.count("context_length", length);
        Ok(())
    },
    rules: &[
        &[
            rename("model.final_layernorm", "output_norm"),
            rename("model.layers.{}.pre_ff_layernorm", "blk.{}.ffn_norm"),
            rename("model.layers.{}.feed_forward.gate_proj", "blk.{}.ffn_gate"),
            rename("model.layers.{}.feed_forward.up_proj", "blk.{}.ffn_up"),
            rename("model.layers.{}.feed_forward.down_proj", "blk.{}.ffn_down"),
            // Half of a head is rotated. The other one has the same order in queries and keys, whichever it is.
            map("model.layers.{}.self_attn.q_proj", "blk.{}.attn_q", |context, tensor| {
                paired_rows(tensor, 2 * context.config.num_heads()?)
            }),
            map("model.layers.{}.self_attn.k_proj", "blk.{}.attn_k", |context, tensor| {
                paired_rows(tensor, 2 * context.config.num_kv_heads()?)
            }),
        ],
        mamba::IN_MAMBA,
    ],
    ..HYBRID
};

/// The default of the configuration class.
const BAMBA_CONTEXT: usize = 262_144;
