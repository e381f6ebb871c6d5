//! Phi 2 to 4.

use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Family, GELU, TokenizerFacts, count, float, rename};
use crate::rope::unsupported_kind;

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

/// The rotated part of a head; the share is that of the hidden size.
fn rotary_dimensions(config: &Config) -> Result<usize, ConvertError> {
    let share = config.shared_rope().optional_float("partial_rotary_factor")?.unwrap_or(1.0);
    let size = config.count(&["hidden_size", "n_embd"])?;
    Ok((share * size as f64) as usize / config.num_heads()?.max(1))
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
        float("attention.layer_norm_rms_epsilon", &["rms_norm_eps"]).required(),
    ],
    keys: |context, keys| {
        let (config, rope) = (context.config, context.config.shared_rope());
        let original = rope.float("original_max_position_embeddings")?;
        keys.count("rope.scaling.original_context_length", original as usize);
        keys.count("rope.dimension_count", rotary_dimensions(config)?);
        keys.float("rope.freq_base", config.rope().float("rope_theta")?);
        keys.count("attention.sliding_window", config.count_or(&["sliding_window"], 0)?);
        if factors(config)?.is_none() {
            keys.rotary(config)?;
        } else {
            let scale = match rope.optional_float("factor")? {
                Some(scale) => scale,
                None => {
                    config.count(&["n_positions", "max_position_embeddings"])? as f64 / original
                }
            };
            let factor = match rope.kind().as_deref() {
                _ if scale <= 1.0 => 1.0,
                Some("su" | "longrope") => (1.0 + scale.ln() / original.ln()).sqrt(),
                Some("yarn") => 0.1 * scale.ln() + 1.0,
                _ => return Err(unsupported_kind(rope, "longrope or yarn")),
            };
            let stated = rope.optional_float("attention_factor")?;
            keys.float("rope.scaling.attn_factor", stated.unwrap_or(factor));
        }
        Ok(())
    },
    constants: |context| {
        let Some((long, short)) = factors(context.config)? else { return Ok(Vec::new()) };
        let expected = rotary_dimensions(context.config)? / 2;
        if long.len() != expected || short.len() != expected {
            let found = format!("{} and {} numbers", long.len(), short.len());
            return Err(invalid("rope_scaling.long_factor", &format!("{expected} numbers"), found));
        }
        Ok(vec![("rope_factors_long.weight", long), ("rope_factors_short.weight", short)])
    },
    tokenizer: TokenizerFacts { reads_added_tokens: true, ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};

type Factors = (Vec<f32>, Vec<f32>);

/// The divisors of rotary frequencies for long and short contexts.
fn factors(config: &Config) -> Result<Option<Factors>, ConvertError> {
    let rope = config.shared_rope();
    let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
    match (rope.floats("long_factor")?, rope.floats("short_factor")?) {
        (Some(long), Some(short)) => Ok(Some((single(long), single(short)))),
        (None, None) => Ok(None),
        _ => Err(ConvertError::MissingKey {
            key: "rope_scaling.long_factor\" and \"short_factor".to_owned(),
            expected: "both or none",
        }),
    }
}
