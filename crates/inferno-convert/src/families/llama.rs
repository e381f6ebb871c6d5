//! Llama and models with its layers: Mistral, Mixtral, SmolLM 3, Arcee, Apertus; Llama 4.

use std::f64::consts::PI;

use super::deepseek;
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, TokenizerFacts, count, map, rename, skip, split};
use crate::keys::Keys;
use crate::transforms::{
    first_half_transposed, paired_keys, paired_queries, second_half_transposed, transposed,
};

/// Rotary embeddings rotate neighboring values in these architectures.
pub(super) const PAIRED: &[Rule] = &[
    map("model.layers.{}.self_attn.q_proj", "blk.{}.attn_q", paired_queries),
    map("model.layers.{}.self_attn.k_proj", "blk.{}.attn_k", paired_keys),
];

pub(super) const TOKENIZER: TokenizerFacts =
    TokenizerFacts { copies_space_prefix: true, ..TokenizerFacts::DEFAULT };

pub(super) const LLAMA: Family = Family {
    classes: &[
        "LlamaForCausalLM",
        "LLaMAForCausalLM",
        "MistralForCausalLM",
        "MixtralForCausalLM",
        "LlamaModel",
        "LlavaForConditionalGeneration",
    ],
    architecture: "llama",
    defaults: &[("rope_theta", "10000.0")],
    prepare: |config| {
        // Two of the classes derive what old files do not have.
        if ["LlamaForCausalLM", "MistralForCausalLM"].contains(&config.architecture()?) {
            let (size, heads) = (config.head_dim()?, config.num_kv_heads()?);
            config.set("head_dim", size);
            config.set("num_key_value_heads", heads);
        }
        // The default of the class of Mistral; `null` is no window.
        let has_window = config.get("sliding_window").is_some() || config.is_null("sliding_window");
        if config.text("model_type")? == Some("mistral") && !has_window {
            config.set("sliding_window", 4096);
        }
        Ok(())
    },
    facts: &[count("vocab_size", &["vocab_size"]).required()],
    keys: |context, keys| {
        // Layers of the class of Llama have no window, even if the file has the key.
        if let Some("mistral" | "mixtral") = context.config.text("model_type")? {
            keys.sliding_window(context.config)?;
        }
        rotary_dimensions(context, keys)
    },
    rules: &[PAIRED],
    constants: llama3_factors,
    tokenizer: TOKENIZER,
    ..Family::DEFAULT
};

pub(super) const SMOLLM3: Family =
    Family { classes: &["SmolLM3ForCausalLM"], architecture: "smollm3", ..LLAMA };

pub(super) const ARCEE: Family = Family {
    classes: &["ArceeForCausalLM"],
    activations: &["relu2"],
    architecture: "arcee",
    ..LLAMA
};

pub(super) const MISTRAL3: Family = Family {
    classes: &["Mistral3ForConditionalGeneration", "Ministral3ForCausalLM"],
    select: Some(|config, _| match config.text("model_type")? {
        Some("mistral4") => Ok(&deepseek::MISTRAL4),
        _ => Ok(&MINISTRAL3),
    }),
    ..MINISTRAL3
};

const MINISTRAL3: Family = Family {
    architecture: "mistral3",
    select: None,
    keys: |context, keys| {
        rotary_dimensions(context, keys)?;
        keys.sliding_window(context.config)?;
        if context.config.text("model_type")? == Some("ministral3") {
            let rope = context.config.shared_rope();
            if rope.kind() != Some("yarn") {
                let found = rope.kind().unwrap_or("nothing");
                return Err(invalid("rope_parameters.rope_type", "yarn", found));
            }
            keys.float("rope.scaling.yarn_log_multiplier", rope.float("mscale_all_dim")?);
            keys.float("attention.temperature_scale", rope.float("llama_4_scaling_beta")?);
        }
        Ok(())
    },
    ..LLAMA
};

pub(super) const APERTUS: Family = Family {
    classes: &["ApertusForCausalLM"],
    activations: &["xielu"],
    architecture: "apertus",
    keys: |context, keys| {
        rotary_dimensions(context, keys)?;
        for name in ["alpha_n", "alpha_p", "beta", "eps"] {
            let mut values: Vec<f32> = Vec::new();
            for layer in 0..context.config.num_layers()? {
                let tensor = format!("model.layers.{layer}.mlp.act_fn.{name}");
                let Some(number) = context.sources.find(&tensor) else {
                    return Err(ConvertError::MissingTensor { name: tensor });
                };
                let floats = context.sources.floats(number);
                values.extend(floats.first());
            }
            keys.set_global(&format!("xielu.{name}"), values);
        }
        Ok(())
    },
    rules: &[&[
        rename("model.layers.{}.attention_layernorm", "blk.{}.attn_norm"),
        rename("model.layers.{}.feedforward_layernorm", "blk.{}.ffn_norm"),
        skip("model.layers.{}.mlp.act_fn.alpha_n"),
        skip("model.layers.{}.mlp.act_fn.alpha_p"),
        skip("model.layers.{}.mlp.act_fn.beta"),
        skip("model.layers.{}.mlp.act_fn.eps"),
    ]],
    ..LLAMA
};

pub(super) const LLAMA4: Family = Family {
    classes: &["Llama4ForConditionalGeneration", "Llama4ForCausalLM"],
    architecture: "llama4",
    prepare: |config| {
        if let (Some(experts), Some(dense)) =
            (config.get("intermediate_size").cloned(), config.get("intermediate_size_mlp").cloned())
        {
            config.set("intermediate_size_moe", experts);
            config.set("intermediate_size", dense);
        }
        Ok(())
    },
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("interleave_moe_layer_step", &["interleave_moe_layer_step"]).required(),
        count("expert_feed_forward_length", &["intermediate_size_moe"]).required(),
    ],
    keys: |context, keys| {
        rotary_dimensions(context, keys)?;
        let full = context.config.layers_of_type(&["full_attention"])?;
        if full.is_some_and(|full| full.into_iter().all(|is_full| is_full)) {
            keys.count("attention.sliding_window", 0);
        }
        Ok(())
    },
    rules: &[&[
        rename("model.layers.{}.feed_forward.router", "blk.{}.ffn_gate_inp"),
        rename("model.layers.{}.feed_forward.gate_proj", "blk.{}.ffn_gate"),
        rename("model.layers.{}.feed_forward.up_proj", "blk.{}.ffn_up"),
        rename("model.layers.{}.feed_forward.down_proj", "blk.{}.ffn_down"),
        rename("model.layers.{}.feed_forward.shared_expert.gate_proj", "blk.{}.ffn_gate_shexp"),
        rename("model.layers.{}.feed_forward.shared_expert.up_proj", "blk.{}.ffn_up_shexp"),
        rename("model.layers.{}.feed_forward.shared_expert.down_proj", "blk.{}.ffn_down_shexp"),
        split(
            "model.layers.{}.feed_forward.experts.gate_up_proj",
            &[
                ("blk.{}.ffn_gate_exps.weight", first_half_transposed),
                ("blk.{}.ffn_up_exps.weight", second_half_transposed),
            ],
        ),
        split(
            "model.layers.{}.feed_forward.experts.down_proj",
            &[("blk.{}.ffn_down_exps.weight", transposed)],
        ),
    ]],
    ..LLAMA
};

/// All dimensions of a head are rotated.
pub(super) fn rotary_dimensions(
    context: &Context<'_>,
    keys: &mut Keys,
) -> Result<(), ConvertError> {
    keys.count("rope.dimension_count", context.config.head_dim()?);
    Ok(())
}

/// Llama 3's divisors of the rotary frequencies.
///
/// **Source**: `modeling_rope_utils.py` of transformers.
pub(super) fn llama3_factors(
    context: &Context<'_>,
) -> Result<Vec<(&'static str, Vec<f32>)>, ConvertError> {
    let Context { config, .. } = context;
    match config.rope().kind() {
        Some(kind) if kind.eq_ignore_ascii_case("llama3") => {
            Ok(vec![("rope_freqs.weight", frequency_divisors(config, 8.0)?)])
        }
        _ => Ok(Vec::new()),
    }
}

/// The divisors; `default_factor` is the one of low frequencies if the file does not have it.
pub(super) fn frequency_divisors(
    config: &Config,
    default_factor: f64,
) -> Result<Vec<f32>, ConvertError> {
    let rope = config.rope();
    let number = |key, default| Ok::<_, ConvertError>(rope.optional_float(key)?.unwrap_or(default));
    let base = number("rope_theta", 10_000.0)?;
    let (factor, low) = (number("factor", default_factor)?, number("low_freq_factor", 1.0)?);
    let (high, original) =
        (number("high_freq_factor", 4.0)?, number("original_max_position_embeddings", 8192.0)?);
    let dims = config.head_dim()?;
    let divisors = (0..dims).step_by(2).map(|dim| {
        // In single precision, as the reference computes them.
        let exponent = dim as f32 / dims as f32;
        let frequency = 1.0 / (base as f32).powf(exponent);
        let wavelength = (2.0 * PI) as f32 / frequency;
        if f64::from(wavelength) < original / high {
            1.0
        } else if f64::from(wavelength) > original / low {
            factor as f32
        } else {
            let smooth = (original as f32 / wavelength - low as f32) / (high - low) as f32;
            1.0 / ((1.0 - smooth) / factor as f32 + smooth)
        }
    });
    Ok(divisors.collect())
}
