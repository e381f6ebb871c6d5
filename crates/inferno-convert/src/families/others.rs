//! Families with one model each: Seed-OSS, dots.llm1, MiniMax M2, Trinity.

use super::llama::{llama3_factors, rotary_dimensions};
use super::qwen::QWEN2_MOE;
use crate::family::{Family, TokenizerFacts, count, flag, float, rename};

pub(super) const SEED_OSS: Family = Family {
    classes: &["SeedOssForCausalLM"],
    architecture: "seed_oss",
    rules: &[&[rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm")]],
    ..Family::DEFAULT
};

pub(super) const DOTS1: Family = Family {
    classes: &["Dots1ForCausalLM"],
    architecture: "dots1",
    facts: &[
        count("expert_feed_forward_length", &["moe_intermediate_size"]),
        count("expert_shared_feed_forward_length", &["shared_expert_intermediate_size"]),
        count("leading_dense_block_count", &["first_k_dense_replace"]).required(),
        count("expert_shared_count", &["n_shared_experts"]).required(),
        float("expert_weights_scale", &["routed_scaling_factor"]).required(),
        flag("expert_weights_norm", &["norm_topk_prob"]),
    ],
    keys: |_, _| Ok(()),
    ..QWEN2_MOE
};

pub(super) const MINIMAX_M2: Family = Family {
    classes: &["MiniMaxM2ForCausalLM"],
    architecture: "minimax-m2",
    facts: &[
        count("expert_feed_forward_length", &["intermediate_size"]).required(),
        count("rope.dimension_count", &["rotary_dim"]).required(),
    ],
    ..Family::DEFAULT
};

pub(super) const AFMOE: Family = Family {
    classes: &["AfmoeForCausalLM"],
    architecture: "afmoe",
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("expert_shared_count", &["num_shared_experts"]),
        count("expert_feed_forward_length", &["moe_intermediate_size"]),
        count("leading_dense_block_count", &["num_dense_layers"]),
        flag("expert_weights_norm", &["route_norm"]),
        float("expert_weights_scale", &["route_scale"]),
        count("attention.sliding_window", &["sliding_window"]),
    ],
    keys: rotary_dimensions,
    rules: &[&[
        rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
        rename("model.layers.{}.pre_mlp_layernorm", "blk.{}.ffn_norm"),
        rename("model.layers.{}.post_mlp_layernorm", "blk.{}.post_ffw_norm"),
        rename("model.layers.{}.self_attn.gate_proj", "blk.{}.attn_gate"),
        rename("model.layers.{}.mlp.router.gate", "blk.{}.ffn_gate_inp"),
        rename("model.layers.{}.mlp.expert_bias", "blk.{}.exp_probs_b.bias"),
    ]],
    constants: llama3_factors,
    tokenizer: TokenizerFacts { copies_space_prefix: true, ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};
