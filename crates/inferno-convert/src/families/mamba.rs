//! Mamba 1 and 2; Jamba and Falcon-H1, which combine them with attention.

use serde_json::Value;

use super::tied_head::{self, TIED_HEAD};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, TokenizerFacts, ViewError, count, map, rename, split};
use crate::keys::Keys;
use crate::lazy::{Lazy, Operation};
use crate::transforms::{column, negative_exp, negative_exp_column, rows, squeezed};

/// The context of models whose state has no limit.
pub(super) const CONTEXT_LENGTH: usize = 1 << 20;

/// Mamba 2 under the name `mamba` in a layer.
pub(super) const IN_MAMBA: &[Rule] = &[
    rename("model.layers.{}.mamba.in_proj", "blk.{}.ssm_in"),
    map("model.layers.{}.mamba.conv1d", "blk.{}.ssm_conv1d", squeezed),
    map("model.layers.{}.mamba.A_log", "blk.{}.ssm_a", negative_exp_column),
    map("model.layers.{}.mamba.D", "blk.{}.ssm_d", column),
    rename("model.layers.{}.mamba.dt_bias", "blk.{}.ssm_dt.bias"),
    map("model.layers.{}.mamba.norm", "blk.{}.ssm_norm", grouped_norm),
    rename("model.layers.{}.mamba.out_proj", "blk.{}.ssm_out"),
];

/// A row for each group.
pub(super) fn grouped_norm(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let groups = context.config.count_or(&["n_groups", "mamba_n_groups"], 1)?.max(1);
    let shape = [groups, tensor.len() / groups];
    Ok(tensor.reshaped(&shape)?)
}

/// Mamba under the name `mixer` in a layer.
const IN_MIXER: &[Rule] = &[
    rename("model.embeddings", "token_embd"),
    rename("model.embedding", "token_embd"),
    rename("model.norm_f", "output_norm"),
    rename("model.layers.{}.norm", "blk.{}.attn_norm"),
    rename("model.layers.{}.mixer.in_proj", "blk.{}.ssm_in"),
    map("model.layers.{}.mixer.conv1d", "blk.{}.ssm_conv1d", squeezed),
    rename("model.layers.{}.mixer.x_proj", "blk.{}.ssm_x"),
    rename("model.layers.{}.mixer.dt_proj", "blk.{}.ssm_dt"),
    rename("model.layers.{}.mixer.out_proj", "blk.{}.ssm_out"),
];

pub(super) const MAMBA: Family = Family {
    classes: &["MambaForCausalLM", "FalconMambaForCausalLM"],
    architecture: "mamba",
    has_common_keys: false,
    keys: |context, keys| {
        let Context { config, .. } = context;
        let size = config.count(&["hidden_size", "d_model"])?;
        let inner = config.count_or(&["intermediate_size", "d_inner"], 2 * size)?;
        if inner != 2 * size {
            return Err(invalid("intermediate_size", &format!("{}", 2 * size), inner));
        }
        recurrent(keys, size);
        keys.count("ssm.conv_kernel", config.count_or(&["conv_kernel", "d_conv"], 4)?);
        keys.count("ssm.inner_size", inner);
        keys.count("ssm.state_size", config.count_or(&["state_size", "d_state"], 16)?);
        let rank = match config.get("time_step_rank").is_some_and(|rank| rank == "auto") {
            true => size.div_ceil(16),
            false => config.count_or(&["time_step_rank", "dt_rank"], size.div_ceil(16))?,
        };
        keys.count("ssm.time_step_rank", rank);
        let epsilon = config.optional_float(&["layer_norm_epsilon", "rms_norm_eps"])?;
        keys.float("attention.layer_norm_rms_epsilon", epsilon.unwrap_or(1e-5));
        let is_falcon = config.text("model_type")? == Some("falcon_mamba");
        keys.set("ssm.dt_b_c_rms", is_falcon);
        Ok(())
    },
    rename: tied_head::rename,
    rules: &[
        &[
            map("model.layers.{}.mixer.A_log", "blk.{}.ssm_a", negative_exp),
            rename("model.layers.{}.mixer.D", "blk.{}.ssm_d"),
        ],
        IN_MIXER,
        tied_head::RULES,
    ],
    tokenizer: TokenizerFacts { padding: 8, ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};

/// Metadata that have no meaning without attention, but are expected.
fn recurrent(keys: &mut Keys, size: usize) {
    keys.count("context_length", CONTEXT_LENGTH);
    keys.count("embedding_length", size);
    keys.count("feed_forward_length", 0);
    keys.count("attention.head_count", 0);
}

pub(super) const MAMBA2: Family = Family {
    classes: &["Mamba2ForCausalLM"],
    architecture: "mamba2",
    keys: |context, keys| {
        let Context { config, .. } = context;
        let size = config.count(&["hidden_size", "d_model", "dim"])?;
        let expand = config.count_or(&["mamba_expand", "expand"], 2)?;
        let inner =
            config.count_or(&["mamba_d_ssm", "intermediate_size", "d_inner"], expand * size)?;
        if inner != expand * size {
            return Err(invalid("intermediate_size", &format!("{}", expand * size), inner));
        }
        mamba2(context, keys, size, inner)
    },
    rules: &[
        &[
            map("model.layers.{}.mixer.A_log", "blk.{}.ssm_a", negative_exp_column),
            map("model.layers.{}.mixer.D", "blk.{}.ssm_d", column),
            rename("model.layers.{}.mixer.dt_bias", "blk.{}.ssm_dt.bias"),
            map("model.layers.{}.mixer.norm", "blk.{}.ssm_norm", grouped_norm),
        ],
        IN_MIXER,
        tied_head::RULES,
    ],
    tokenizer: TokenizerFacts { padding: 16, ..TokenizerFacts::DEFAULT },
    ..MAMBA
};

/// Checks that the time steps of Mamba 2, which are positive, have no limits: files have no key for them.
pub(super) fn expect_unlimited_time_steps(config: &Config) -> Result<(), ConvertError> {
    // Infinity is a string here, as in other software (an object with this string).
    let is_infinite = |limit: &Value, name: &str| {
        limit == name || limit.get("__float__").is_some_and(|limit| limit == name)
    };
    for key in ["time_step_limit", "mamba_dt_limit"] {
        let Some(limits) = config.get(key) else { continue };
        let has_none = limits.as_array().is_some_and(|limits| match &limits[..] {
            [low, high] => {
                let is_low = low.as_f64().is_some_and(|low| low <= 0.0);
                (is_low || is_infinite(low, "-Infinity")) && is_infinite(high, "Infinity")
            }
            _ => false,
        });
        if !has_none {
            return Err(invalid(
                key,
                "[0, Infinity], as limits of time steps cannot be stored",
                limits,
            ));
        }
    }
    Ok(())
}

fn mamba2(
    context: &Context<'_>,
    keys: &mut Keys,
    size: usize,
    inner: usize,
) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    expect_unlimited_time_steps(config)?;
    recurrent(keys, size);
    let head = config.count_or(&["mamba_d_head", "head_dim"], 64)?.max(1);
    keys.count("ssm.conv_kernel", config.count_or(&["conv_kernel", "d_conv", "mamba_d_conv"], 4)?);
    keys.count("ssm.inner_size", inner);
    keys.count(
        "ssm.state_size",
        config.count_or(&["state_size", "d_state", "mamba_d_state"], 128)?,
    );
    keys.count("ssm.time_step_rank", inner / head);
    keys.count("ssm.group_count", config.count_or(&["n_groups", "mamba_n_groups"], 1)?);
    let epsilon = config.optional_float(&["layer_norm_epsilon", "rms_norm_eps"])?;
    keys.float("attention.layer_norm_rms_epsilon", epsilon.unwrap_or(1e-5));
    Ok(())
}

pub(super) const JAMBA: Family = Family {
    classes: &["JambaForCausalLM"],
    architecture: "jamba",
    has_common_keys: false,
    facts: &[
        count("context_length", &["max_position_embeddings", "n_ctx"]).required(),
        count("embedding_length", &["hidden_size", "mamba_d_model"]).required(),
        count("feed_forward_length", &["intermediate_size"]).required(),
        count("attention.head_count", &["num_attention_heads"]).required(),
        count("expert_count", &["num_local_experts", "num_experts"]).required(),
        count("expert_used_count", &["num_experts_per_tok", "num_experts_per_token"]).required(),
    ],
    defaults: &[("max_position_embeddings", "262144")],
    keys: |context, keys| {
        let Context { config, .. } = context;
        let size = config.count(&["hidden_size", "mamba_d_model"])?;
        let (heads, offset) = (config.num_kv_heads()?, config.count(&["attn_layer_offset"])?);
        let period = config.count(&["attn_layer_period"])?.max(1);
        let is_attention =
            |layer: usize| layer >= offset && (layer - offset).is_multiple_of(period);
        let layers = 0..config.num_layers()?;
        let counts = layers.map(|layer| if is_attention(layer) { heads } else { 0 });
        keys.counts("attention.head_count_kv", counts);
        keys.count("ssm.conv_kernel", config.count_or(&["mamba_d_conv"], 4)?);
        keys.count("ssm.inner_size", config.count(&["mamba_expand"])? * size);
        keys.count("ssm.state_size", config.count_or(&["mamba_d_state"], 16)?);
        let rank = match config.get("mamba_dt_rank").is_some_and(|rank| rank == "auto") {
            true => size.div_ceil(16),
            false => config.count_or(&["mamba_dt_rank"], size.div_ceil(16))?,
        };
        keys.count("ssm.time_step_rank", rank);
        let epsilon = config.optional_float(&["layer_norm_epsilon", "rms_norm_eps"])?;
        keys.float("attention.layer_norm_rms_epsilon", epsilon.unwrap_or(1e-6));
        Ok(())
    },
    rename: |config, name| {
        let name = name.replace(".moe.", ".feed_forward.");
        let layer = name.strip_prefix("model.layers.").and_then(|rest| rest.split('.').next());
        let Some(layer) = layer.and_then(|layer| layer.parse::<usize>().ok()) else {
            return Ok(name);
        };
        let offset = config.count(&["expert_layer_offset"])?;
        let period = config.count(&["expert_layer_period"])?.max(1);
        // Old files have one expert in the layers that are not mixtures.
        match layer >= offset && (layer - offset).is_multiple_of(period) {
            true => Ok(name),
            false => Ok(name.replace(".experts.0.", ".")),
        }
    },
    rules: &[
        &[
            rename("model.final_layernorm", "output_norm"),
            rename("model.layers.{}.pre_ff_layernorm", "blk.{}.ffn_norm"),
            rename("model.layers.{}.pre_moe_layernorm", "blk.{}.ffn_norm"),
            rename("model.layers.{}.feed_forward.router", "blk.{}.ffn_gate_inp"),
            rename("model.layers.{}.feed_forward.gate_proj", "blk.{}.ffn_gate"),
            rename("model.layers.{}.feed_forward.up_proj", "blk.{}.ffn_up"),
            rename("model.layers.{}.feed_forward.down_proj", "blk.{}.ffn_down"),
            rename("model.layers.{}.feed_forward.experts.{}.gate_proj", "blk.{}.ffn_gate_exps"),
            rename("model.layers.{}.feed_forward.experts.{}.up_proj", "blk.{}.ffn_up_exps"),
            rename("model.layers.{}.feed_forward.experts.{}.down_proj", "blk.{}.ffn_down_exps"),
            rename("model.layers.{}.mamba.x_proj", "blk.{}.ssm_x"),
            rename("model.layers.{}.mamba.dt_proj", "blk.{}.ssm_dt"),
            rename("model.layers.{}.mamba.dt_layernorm", "blk.{}.ssm_dt_norm"),
            rename("model.layers.{}.mamba.b_layernorm", "blk.{}.ssm_b_norm"),
            rename("model.layers.{}.mamba.c_layernorm", "blk.{}.ssm_c_norm"),
            map("model.layers.{}.mamba.A_log", "blk.{}.ssm_a", negative_exp),
            rename("model.layers.{}.mamba.D", "blk.{}.ssm_d"),
        ],
        IN_MAMBA,
    ],
    ..Family::DEFAULT
};

/// Applies factors of the configuration, one after the other.
fn scaled(context: &Context<'_>, tensor: Lazy, keys: &[&str]) -> Result<Lazy, ViewError> {
    keys.iter().try_fold(tensor, |tensor, key| {
        let factor = context.config.float(&[key])? as f32;
        Ok(tensor.map(Operation::Multiply(factor)))
    })
}

/// The factor with this number in a list of the configuration.
fn listed_factor(context: &Context<'_>, key: &str, index: usize) -> Result<f32, ConvertError> {
    let found = context.config.floats(key)?.and_then(|factors| factors.get(index).copied());
    found.map(|factor| factor as f32).ok_or_else(|| ConvertError::MissingKey {
        key: key.to_owned(),
        expected: "a list of factors",
    })
}

/// The name of embeddings that are the output head as well: both have factors of their own.
const TIED_EMBEDDINGS: &str = "tied_embed_tokens";

pub(super) const FALCON_H1: Family = Family {
    classes: &["FalconH1ForCausalLM"],
    architecture: "falcon-h1",
    has_common_keys: false,
    keys: |context, keys| {
        let Context { config, .. } = context;
        let inner = config.count(&["mamba_d_ssm"])?;
        mamba2(context, keys, config.count(&["hidden_size"])?, inner)?;
        keys.count("vocab_size", config.count(&["vocab_size"])?);
        keys.count("context_length", config.count_or(&["max_position_embeddings"], 0)?);
        keys.count("feed_forward_length", config.count(&["intermediate_size"])?);
        keys.count("attention.head_count", config.num_heads()?);
        keys.count("attention.head_count_kv", config.num_kv_heads()?);
        keys.count("attention.key_length", config.head_dim()?);
        keys.count("attention.value_length", config.head_dim()?);
        keys.float("rope.freq_base", config.shared_rope().float("rope_theta")?);
        keys.rotary(config)?;
        let is_normalized_first =
            config.optional_flag(&["mamba_norm_before_gate"])?.unwrap_or(true);
        if config.is_set("mamba_rms_norm")? && is_normalized_first {
            return Err(invalid("mamba_norm_before_gate", "false", is_normalized_first));
        }
        Ok(())
    },
    rename: |config, name| {
        let is_tied = config.is_set("tie_word_embeddings")?;
        Ok(match name.as_str() {
            "model.embed_tokens.weight" if is_tied => format!("{TIED_EMBEDDINGS}.weight"),
            "lm_head.weight" if is_tied => format!("{TIED_HEAD}.weight"),
            _ => name,
        })
    },
    rules: &[
        &[
            map("model.embed_tokens", "token_embd", |context, tensor| {
                scaled(context, tensor, &["embedding_multiplier"])
            }),
            split(
                TIED_EMBEDDINGS,
                &[
                    ("token_embd", |context, tensor| {
                        scaled(context, tensor, &["embedding_multiplier"])
                    }),
                    ("output", |context, tensor| scaled(context, tensor, &["lm_head_multiplier"])),
                ],
            ),
            map("lm_head", "output", |context, tensor| {
                scaled(context, tensor, &["lm_head_multiplier"])
            }),
            rename("model.final_layernorm", "output_norm"),
            // Without `.weight`, as runtimes expect it.
            rename("model.layers.{}.pre_ff_layernorm.weight", "blk.{}.ffn_norm"),
            map("model.layers.{}.feed_forward.gate_proj", "blk.{}.ffn_gate", |context, tensor| {
                Ok(tensor.map(Operation::Multiply(listed_factor(context, "mlp_multipliers", 0)?)))
            }),
            rename("model.layers.{}.feed_forward.up_proj", "blk.{}.ffn_up"),
            map("model.layers.{}.feed_forward.down_proj", "blk.{}.ffn_down", |context, tensor| {
                Ok(tensor.map(Operation::Multiply(listed_factor(context, "mlp_multipliers", 1)?)))
            }),
            // Factors on inputs of products, which their biases do not have.
            map(
                "model.layers.{}.self_attn.q_proj.weight",
                "blk.{}.attn_q.weight",
                |context, tensor| scaled(context, tensor, &["attention_in_multiplier"]),
            ),
            map(
                "model.layers.{}.self_attn.k_proj.weight",
                "blk.{}.attn_k.weight",
                |context, tensor| {
                    scaled(context, tensor, &["key_multiplier", "attention_in_multiplier"])
                },
            ),
            map(
                "model.layers.{}.self_attn.k_proj.bias",
                "blk.{}.attn_k.bias",
                |context, tensor| scaled(context, tensor, &["key_multiplier"]),
            ),
            map(
                "model.layers.{}.self_attn.v_proj.weight",
                "blk.{}.attn_v.weight",
                |context, tensor| scaled(context, tensor, &["attention_in_multiplier"]),
            ),
            map("model.layers.{}.self_attn.o_proj", "blk.{}.attn_output", |context, tensor| {
                scaled(context, tensor, &["attention_out_multiplier"])
            }),
            map("model.layers.{}.mamba.out_proj", "blk.{}.ssm_out", |context, tensor| {
                scaled(context, tensor, &["ssm_out_multiplier"])
            }),
            map(
                "model.layers.{}.mamba.in_proj.weight",
                "blk.{}.ssm_in.weight",
                |context, tensor| {
                    scaled_outputs(context, scaled(context, tensor, &["ssm_in_multiplier"])?)
                },
            ),
            map("model.layers.{}.mamba.in_proj.bias", "blk.{}.ssm_in.bias", scaled_outputs),
        ],
        IN_MAMBA,
        tied_head::RULES,
    ],
    ..Family::DEFAULT
};

/// The rows of the input projection: a factor for each of gates, inputs, B, C and time steps.
fn scaled_outputs(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let Context { config, .. } = context;
    let inner = config.count(&["mamba_d_ssm"])?;
    let states = config.count(&["mamba_n_groups"])? * config.count(&["mamba_d_state"])?;
    let ends = [inner, 2 * inner, 2 * inner + states, 2 * (inner + states), tensor.shape[0]];
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, end) in ends.into_iter().enumerate() {
        let factor = listed_factor(context, "ssm_multipliers", index)?;
        parts.push(rows(&tensor, start..end)?.map(Operation::Multiply(factor)));
        start = end;
    }
    Ok(Lazy::concat(parts)?)
}
