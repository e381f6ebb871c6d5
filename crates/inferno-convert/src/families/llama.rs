//! Llama and models with its layers: Mistral, Mixtral, CWM, Helium, SmolLM 3, Arcee, Apertus; Llama 4.

use super::deepseek;
use super::layer_patterns::{expect_rotated, rotated_layers, set_unless_periodic, state_windows};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, TokenizerFacts, count, map, rename, skip, split};
use crate::keys::Keys;
use crate::rope::unsupported_kind;
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
        "InternLM3ForCausalLM",
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
    tokenizer: TOKENIZER,
    ..Family::DEFAULT
};

pub(super) const MIXTRAL: Family =
    Family { classes: &["MixtralForCausalLM"], defaults: &[("rope_theta", "1000000.0")], ..LLAMA };

/// Layers with and without a window.
pub(super) const MINISTRAL: Family = Family {
    classes: &["MinistralForCausalLM"],
    // By `MinistralConfig` of transformers.
    defaults: &[("rope_theta", "10000.0"), ("rms_norm_eps", "1e-6")],
    prepare: |config| {
        if config.get("sliding_window").is_none() && !config.is_null("sliding_window") {
            config.set("sliding_window", 4096);
        }
        Ok(())
    },
    keys: |context, keys| {
        state_windows(context.config, keys, None, None)?;
        rotary_dimensions(context, keys)
    },
    ..LLAMA
};

/// Code World Model: all but the first of four layers have a window.
pub(super) const CWM: Family = Family {
    classes: &["CwmForCausalLM"],
    // By `CwmConfig` of transformers.
    defaults: &[
        ("rope_theta", "1000000.0"),
        ("sliding_window", "8192"),
        ("rms_norm_eps", "1e-5"),
        (
            "rope_parameters",
            r#"{"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192}"#,
        ),
    ],
    prepare: |config| {
        if config.get("layer_types").is_none() {
            let layers = 0..config.num_layers()?;
            let kind = |layer: usize| match layer % 4 {
                0 => "full_attention",
                _ => "sliding_attention",
            };
            config.set("layer_types", layers.map(kind).collect::<Vec<_>>());
        }
        Ok(())
    },
    ..MINISTRAL
};

/// Rotary embeddings of this class rotate neighboring values.
pub(super) const HELIUM: Family = Family {
    classes: &["HeliumForCausalLM"],
    // By `HeliumConfig` of transformers.
    defaults: &[("rope_theta", "100000.0"), ("rms_norm_eps", "1e-8")],
    rules: &[],
    ..LLAMA
};

pub(super) const SMOLLM3: Family = Family {
    classes: &["SmolLM3ForCausalLM"],
    architecture: "smollm3",
    defaults: &[("rope_theta", "2000000.0")],
    keys: |context, keys| {
        let config = context.config;
        if config.get("sliding_window").is_some() {
            config.expect_flag("use_sliding_window", false)?;
        }
        expect_rotated(config, &config.all_but_every(4)?)?;
        rotary_dimensions(context, keys)
    },
    ..LLAMA
};

pub(super) const ARCEE: Family = Family {
    classes: &["ArceeForCausalLM"],
    activations: &["relu2"],
    architecture: "arcee",
    ..LLAMA
};

pub(super) const MISTRAL3: Family = Family {
    classes: &["Mistral3ForConditionalGeneration", "Ministral3ForCausalLM", "Mistral4ForCausalLM"],
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
            if rope.kind().as_deref() != Some("yarn") {
                return Err(unsupported_kind(rope, "yarn"));
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
    defaults: &[
        ("rope_theta", "12000000.0"),
        (
            "rope_parameters",
            r#"{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192}"#,
        ),
    ],
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
    defaults: &[("rope_theta", "500000.0")],
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
        let config = context.config;
        // Runtimes know by the number of experts whether heads are normalized.
        let is_normalized = config.count_or(&["num_local_experts"], 16)? != 128;
        if config.optional_flag(&[QK_NORM])?.unwrap_or(true) != is_normalized {
            return Err(invalid(QK_NORM, &is_normalized.to_string(), !is_normalized));
        }
        rotary_dimensions(context, keys)?;
        chunked_layers(config, keys)
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

/// The key that states whether heads are normalized.
const QK_NORM: &str = "use_qk_norm";

/// Checks that queries without rotary embedding grow with their position as runtimes assume.
fn expect_temperature(config: &Config) -> Result<(), ConvertError> {
    const KEY: &str = "attn_temperature_tuning";
    // A number in the first files.
    if let Some(found) = config.get(KEY).filter(|found| **found == false || **found == 0) {
        return Err(invalid(KEY, "true", found));
    }
    config.expect("floor_scale", "8192")?;
    config.expect("attn_scale", "0.1")
}

/// The length of the parts of a text that most layers of Llama 4 attend to, unless a file states it.
const CHUNK_LEN: usize = 8192;

/// Sets the layers of Llama 4 whose attention is limited to parts of a text, which are those with rotary embedding; if
/// there are none, all layers have it.
fn chunked_layers(config: &Config, keys: &mut Keys) -> Result<(), ConvertError> {
    const CHUNK: &str = "attention_chunk_size";
    let len = match config.is_null(CHUNK) {
        true => 0,
        false => config.count_or(&[CHUNK], CHUNK_LEN)?,
    };
    let rotated = rotated_layers(config)?;
    let chunked = match config.layers_of_type(&["chunked_attention"])? {
        _ if len == 0 => vec![false; rotated.len()],
        Some(chunked) => chunked,
        None => rotated,
    };
    if !chunked.contains(&true) {
        keys.count("attention.sliding_window", 0);
        return expect_rotated(config, &vec![true; config.num_layers()?]);
    }
    expect_temperature(config)?;
    if len != CHUNK_LEN {
        keys.count("attention.sliding_window", len);
    }
    expect_rotated(config, &chunked)?;
    set_unless_periodic(config, keys, chunked, 4)
}

/// All dimensions of a head are rotated.
pub(super) fn rotary_dimensions(
    context: &Context<'_>,
    keys: &mut Keys,
) -> Result<(), ConvertError> {
    keys.count("rope.dimension_count", context.config.head_dim()?);
    Ok(())
}
