//! InternLM 2 and 2.5.

use super::llama;
use crate::family::{Context, Family, ViewError, rename, split};
use crate::lazy::Lazy;

pub(super) const INTERN_LM2: Family = Family {
    classes: &["InternLM2ForCausalLM"],
    architecture: "internlm2",
    // By `configuration_internlm2.py` of published models.
    defaults: &[("rope_theta", "10000.0")],
    prepare: |_| Ok(()),
    rules: &[&[
        rename("model.tok_embeddings", "token_embd"),
        rename("model.output", "output"),
        rename("model.layers.{}.attention_norm", "blk.{}.attn_norm"),
        rename("model.layers.{}.ffn_norm", "blk.{}.ffn_norm"),
        split(
            "model.layers.{}.attention.wqkv",
            &[
                ("blk.{}.attn_q", |context, tensor| grouped_rows(context, tensor, Part::Queries)),
                ("blk.{}.attn_k", |context, tensor| grouped_rows(context, tensor, Part::Key)),
                ("blk.{}.attn_v", |context, tensor| grouped_rows(context, tensor, Part::Value)),
            ],
        ),
        rename("model.layers.{}.attention.wo", "blk.{}.attn_output"),
        rename("model.layers.{}.feed_forward.w1", "blk.{}.ffn_gate"),
        rename("model.layers.{}.feed_forward.w2", "blk.{}.ffn_down"),
        rename("model.layers.{}.feed_forward.w3", "blk.{}.ffn_up"),
    ]],
    ..llama::LLAMA
};

/// A part of the rows of each key head.
enum Part {
    Queries,
    Key,
    Value,
}

/// The rows of one kind, of the queries that share a key, the key and the value for each key head. Those of queries and keys are
/// reordered for rotary embeddings that rotate neighboring rows.
fn grouped_rows(context: &Context<'_>, tensor: Lazy, part: Part) -> Result<Lazy, ViewError> {
    let (size, groups) = (context.config.head_dim()?, context.config.num_kv_heads()?.max(1));
    let queries = context.config.num_heads()? / groups;
    let (heads, is_rotated) = match part {
        Part::Queries => (0..queries, true),
        Part::Key => (queries..queries + 1, true),
        Part::Value => (queries + 1..queries + 2, false),
    };
    let tail = tensor.shape.get(1..).unwrap_or_default().to_vec();
    let split = [&[groups, queries + 2, 2, size / 2], &tail[..]].concat();
    let shape = [&[groups * heads.len() * size], &tail[..]].concat();
    let view = tensor.view(|view| {
        let view = view.reshape(&split)?.slice(1, heads.clone())?;
        if is_rotated { view.transpose(2, 3) } else { Ok(view) }
    })?;
    Ok(view.reshaped(&shape)?)
}
