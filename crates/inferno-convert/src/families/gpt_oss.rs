//! gpt-oss.

use super::layer_patterns::set_windows;
use crate::family::{Action, Context, Family, Rule, ViewError, count, rename, split};
use crate::lazy::Lazy;
use crate::transforms::{same, transposed};

pub(super) const GPT_OSS: Family = Family {
    classes: &["GptOssForCausalLM"],
    architecture: "gpt-oss",
    // By `GptOssConfig` of transformers.
    defaults: &[
        ("rope_theta", "150000.0"),
        (
            "rope_parameters",
            r#"{"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                "truncate": false, "original_max_position_embeddings": 4096}"#,
        ),
    ],
    expected: &[("swiglu_alpha", "1.702"), ("swiglu_limit", "7.0")],
    states_yarn_truncation: true,
    facts: &[
        count("attention.sliding_window", &["sliding_window"]).required(),
        count("expert_feed_forward_length", &["intermediate_size"]).required(),
    ],
    keys: |context, keys| set_windows(context.config, keys, "sliding_window_pattern", 2),
    rules: &[&[
        rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
        rename("model.layers.{}.self_attn.sinks", "blk.{}.attn_sinks.weight"),
        rename("model.layers.{}.mlp.router", "blk.{}.ffn_gate_inp"),
        split(
            "model.layers.{}.mlp.experts.gate_up_proj",
            &[("blk.{}.ffn_gate_exps.weight", even_rows), ("blk.{}.ffn_up_exps.weight", odd_rows)],
        ),
        split(
            "model.layers.{}.mlp.experts.gate_up_proj_bias",
            &[("blk.{}.ffn_gate_exps.bias", even_values), ("blk.{}.ffn_up_exps.bias", odd_values)],
        ),
        split(
            "model.layers.{}.mlp.experts.down_proj",
            &[("blk.{}.ffn_down_exps.weight", transposed)],
        ),
        split("model.layers.{}.mlp.experts.down_proj_bias", &[("blk.{}.ffn_down_exps.bias", same)]),
        Rule {
            source: "model.layers.{}.mlp.experts.gate_up_proj_blocks",
            action: Action::Mxfp4(&["blk.{}.ffn_gate_exps.weight", "blk.{}.ffn_up_exps.weight"]),
        },
        Rule {
            source: "model.layers.{}.mlp.experts.down_proj_blocks",
            action: Action::Mxfp4(&["blk.{}.ffn_down_exps.weight"]),
        },
        // Read with the blocks.
        Rule {
            source: "model.layers.{}.mlp.experts.gate_up_proj_scales",
            action: Action::Consumed,
        },
        Rule { source: "model.layers.{}.mlp.experts.down_proj_scales", action: Action::Consumed },
    ]],
    ..Family::DEFAULT
};

/// Every second value of the last dimension.
fn alternate(tensor: Lazy, first: usize) -> Result<Lazy, ViewError> {
    let [experts, values] = tensor.shape[..] else { return Ok(tensor) };
    Ok(tensor.view(|view| view.reshape(&[experts, values / 2, 2])?.select(2, first))?)
}

fn even_values(_: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    alternate(tensor, 0)
}

fn odd_values(_: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    alternate(tensor, 1)
}

/// Every second column of each expert as rows: `[experts, columns, 2 * rows]`.
fn alternate_columns(tensor: Lazy, first: usize) -> Result<Lazy, ViewError> {
    let [experts, cols, rows] = tensor.shape[..] else { return Ok(tensor) };
    let shape = [experts, cols, rows / 2, 2];
    Ok(tensor.view(|view| view.reshape(&shape)?.select(3, first)?.transpose(1, 2))?)
}

fn even_rows(_: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    alternate_columns(tensor, 0)
}

fn odd_rows(_: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    alternate_columns(tensor, 1)
}
