//! Phi 2 to 4, and Phi 3.5 with experts.

use super::long_rope;
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Family, GELU, TokenizerFacts, count, float, rename};

pub(super) const PHI2: Family = Family {
    classes: &["PhiForCausalLM"],
    activations: GELU,
    architecture: "phi2",
    has_common_keys: false,
    defaults: &[("partial_rotary_factor", "0.5")],
    facts: &[
        count("context_length", &["n_positions", "max_position_embeddings"]).required(),
        count("embedding_length", &["hidden_size", "n_embd"]).required(),
        count("attention.head_count", &["num_attention_heads", "n_head"]).required(),
        count("attention.head_count_kv", &["num_attention_heads", "n_head"]).required(),
        float("attention.layer_norm_epsilon", &["layer_norm_epsilon", "layer_norm_eps"]).required(),
    ],
    keys: |context, keys| {
        keys.rotary(context.config)?;
        let size = context.config.count(&["hidden_size", "n_embd"])?;
        keys.count("feed_forward_length", 4 * size);
        keys.count("rope.dimension_count", rotary_dimensions(context.config)?);
        Ok(())
    },
    rules: &[&[
        rename("model.final_layernorm", "output_norm"),
        rename("model.layers.{}.self_attn.dense", "blk.{}.attn_output"),
        rename("model.layers.{}.mlp.fc1", "blk.{}.ffn_up"),
        rename("model.layers.{}.mlp.fc2", "blk.{}.ffn_down"),
    ]],
    tokenizer: TokenizerFacts { add_bos: Some(false), ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};

/// The rotated part of a head.
fn rotary_dimensions(config: &Config) -> Result<usize, ConvertError> {
    let share = config.shared_rope().optional_float("partial_rotary_factor")?.unwrap_or(1.0);
    Ok((share * config.head_dim()? as f64) as usize)
}

pub(super) const PHI3: Family = Family {
    classes: &["Phi3ForCausalLM", "Phi4ForCausalLM"],
    architecture: "phi3",
    has_common_keys: false,
    defaults: &[("original_max_position_embeddings", "4096"), ("rope_theta", "10000.0")],
    facts: &[
        count("context_length", &["n_positions", "max_position_embeddings"]).required(),
        count("embedding_length", &["hidden_size", "n_embd"]).required(),
        count("feed_forward_length", &["intermediate_size"]).required(),
        count("attention.head_count", &["num_attention_heads", "n_head"]).required(),
        count("attention.head_count_kv", &["num_key_value_heads", "n_head_kv"]).required(),
        count("attention.key_length", &["head_dim"]),
        count("attention.value_length", &["head_dim"]),
        float("attention.layer_norm_rms_epsilon", &["rms_norm_eps"]).required(),
    ],
    keys: |context, keys| {
        let config = context.config;
        let original = config.shared_rope().float("original_max_position_embeddings")?;
        keys.count("rope.dimension_count", rotary_dimensions(config)?);
        keys.count("attention.sliding_window", config.count_or(&["sliding_window"], 0)?);
        keys.rotary_with_long_factors(config, original)
    },
    constants: |context| long_rope::tensors(context.config, rotary_dimensions(context.config)?),
    tokenizer: TokenizerFacts { reads_added_tokens: true, ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};

/// **Source**: `PhimoeConfig` and `sparsemixer` of transformers.
pub(super) const PHI_MOE: Family = Family {
    classes: &["PhimoeForCausalLM", "PhiMoEForCausalLM"],
    architecture: "phimoe",
    defaults: &[
        ("original_max_position_embeddings", "4096"),
        ("rope_theta", "1000000.0"),
        ("rms_norm_eps", "1e-5"),
    ],
    // The sparse mixer chooses two experts, and its tolerance is that of this noise.
    expected: &[("num_experts_per_tok", "2"), ("router_jitter_noise", "0.01")],
    keys: |context, keys| {
        let (config, rope) = (context.config, context.config.shared_rope());
        (PHI3.keys)(context, keys)?;
        keys.count("expert_count", config.count(&["num_local_experts"])?);
        keys.count("expert_used_count", 2);
        let scales = ["short_mscale", "long_mscale"].map(|key| rope.optional_float(key));
        match scales {
            [Ok(Some(short)), Ok(Some(long))] if short == long => {
                keys.float("rope.scaling.attn_factor", short);
                Ok(())
            }
            [Ok(None), Ok(None)] => Ok(()),
            [Err(error), _] | [_, Err(error)] => Err(error),
            [Ok(short), Ok(long)] => {
                let found = format!("{short:?} and {long:?}");
                Err(invalid("rope_scaling.long_mscale", "the value of short_mscale", found))
            }
        }
    },
    ..PHI3
};
