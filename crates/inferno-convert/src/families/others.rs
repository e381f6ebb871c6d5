//! Families with one model each: Seed-OSS, dots.llm1, MiniMax M2, Trinity.

use super::deepseek::SCORING;
use super::glm;
use super::layer_patterns::set_windows;
use super::llama::rotary_dimensions;
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
        count("leading_dense_block_count", &[glm::LEADING_DENSE]).required(),
        count("expert_shared_count", &["n_shared_experts"]).required(),
        float("expert_weights_scale", &["routed_scaling_factor"]).required(),
        flag("expert_weights_norm", &["norm_topk_prob"]),
    ],
    prepare: |config| {
        // The file names the selection of experts, of which the function is a part.
        if config.text(SCORING)?.is_none_or(|function| function == "noaux_tc") {
            config.set(SCORING, "sigmoid");
        }
        Ok(())
    },
    keys: |_, _| Ok(()),
    ..QWEN2_MOE
};

pub(super) const MINIMAX_M2: Family = Family {
    classes: &["MiniMaxM2ForCausalLM"],
    architecture: "minimax-m2",
    // By `MiniMaxM2Config` of transformers.
    defaults: &[("rope_theta", "5000000.0")],
    facts: &[count("expert_feed_forward_length", &["intermediate_size"]).required()],
    keys: |context, keys| {
        let config = context.config;
        let size = config.head_dim()?;
        let rotated = match config.shared_rope().optional_float("partial_rotary_factor")? {
            Some(share) => (share * size as f64) as usize,
            None => config.count_or(&["rotary_dim"], size)?,
        };
        keys.count("rope.dimension_count", rotated);
        Ok(())
    },
    ..Family::DEFAULT
};

pub(super) const AFMOE: Family = Family {
    classes: &["AfmoeForCausalLM"],
    architecture: "afmoe",
    // By `AfmoeConfig` of transformers.
    defaults: &[("mup_enabled", "false"), ("route_norm", "true")],
    // Runtimes multiply the embeddings by the root of their width.
    expected: &[("mup_enabled", "true")],
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("expert_shared_count", &["num_shared_experts"]),
        count("expert_feed_forward_length", &["moe_intermediate_size"]),
        count("leading_dense_block_count", &["num_dense_layers"]),
        flag("expert_weights_norm", &["route_norm"]),
        float("expert_weights_scale", &["route_scale"]),
        count("attention.sliding_window", &["sliding_window"]),
    ],
    keys: |context, keys| {
        set_windows(context.config, keys, "global_attn_every_n_layers", 4)?;
        rotary_dimensions(context, keys)
    },
    rules: &[&[
        rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
        rename("model.layers.{}.pre_mlp_layernorm", "blk.{}.ffn_norm"),
        rename("model.layers.{}.post_mlp_layernorm", "blk.{}.post_ffw_norm"),
        rename("model.layers.{}.self_attn.gate_proj", "blk.{}.attn_gate"),
        rename("model.layers.{}.mlp.router.gate", "blk.{}.ffn_gate_inp"),
        rename("model.layers.{}.mlp.expert_bias", "blk.{}.exp_probs_b.bias"),
    ]],
    tokenizer: TokenizerFacts { copies_space_prefix: true, ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};
