//! ERNIE 4.5, dense and mixtures of experts.

use crate::ConvertError;
use crate::family::{Context, Family, TokenizerFacts, ViewError, count, rename, skip, split};
use crate::lazy::Lazy;
use crate::transforms::{first_half, second_half};

pub(super) const ERNIE4_5: Family = Family {
    classes: &["Ernie4_5_ForCausalLM", "Ernie4_5ForCausalLM"],
    architecture: "ernie4_5",
    defaults: &[("rope_theta", "500000.0")],
    rules: &[&[
        split(
            "model.layers.{}.self_attn.qkv_proj",
            &[
                ("blk.{}.attn_q", |context, tensor| fused_rows(context, tensor, 0)),
                ("blk.{}.attn_k", |context, tensor| fused_rows(context, tensor, 1)),
                ("blk.{}.attn_v", |context, tensor| fused_rows(context, tensor, 2)),
            ],
        ),
        split(
            "model.layers.{}.mlp.up_gate_proj",
            &[("blk.{}.ffn_gate", first_half), ("blk.{}.ffn_up", second_half)],
        ),
    ]],
    tokenizer: TokenizerFacts { copies_space_prefix: true, ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};

/// The rows of queries, keys or values in a fused projection.
fn fused_rows(context: &Context<'_>, tensor: Lazy, part: usize) -> Result<Lazy, ViewError> {
    let config = context.config;
    let size = config.head_dim()?;
    let (queries, keys) = (config.num_heads()? * size, config.num_kv_heads()? * size);
    let starts = [0, queries, queries + keys, queries + 2 * keys];
    Ok(tensor.view(|view| view.slice(0, starts[part]..starts[part + 1]))?)
}

pub(super) const ERNIE4_5_MOE: Family = Family {
    classes: &["Ernie4_5_MoeForCausalLM", "Ernie4_5_MoEForCausalLM"],
    architecture: "ernie4_5-moe",
    facts: &[
        count("expert_count", &["moe_num_experts"]).required(),
        count("expert_used_count", &["moe_k"]).required(),
        count("interleave_moe_layer_step", &["moe_layer_interval"]).required(),
        count("leading_dense_block_count", &["moe_layer_start_index"]).required(),
        count("expert_feed_forward_length", &["moe_intermediate_size"]),
        count("expert_shared_count", &["moe_num_shared_experts"]),
    ],
    keys: |context, keys| {
        let config = context.config;
        let shared = config.count_or(&["moe_num_shared_experts"], 0)?;
        let sizes = (
            config.optional_count(&["intermediate_size"])?,
            config.optional_count(&["num_key_value_heads"])?,
        );
        if let (true, (Some(size), Some(heads))) = (shared > 0, sizes) {
            keys.set("expert_shared_feed_forward_length", size / heads.max(1));
        }
        Ok(())
    },
    rename: |_, name| {
        let predicts = ["mtp_block", "mtp_emb_norm", "mtp_hidden_norm", "mtp_linear_proj"];
        let is_unused = predicts.iter().any(|own| name.starts_with(&format!("model.{own}.")));
        Ok::<_, ConvertError>(if is_unused { UNUSED.to_owned() } else { name })
    },
    rules: &[&[
        rename(
            "model.layers.{}.mlp.moe_statics.e_score_correction_bias",
            "blk.{}.exp_probs_b.bias",
        ),
        // The layers that predict further tokens are not converted.
        skip(UNUSED),
    ]],
    ..ERNIE4_5
};

const UNUSED: &str = "unused";
