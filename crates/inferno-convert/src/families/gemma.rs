//! Gemma 1 to 4, Gemma 3n.

use super::layer_patterns::set_windows;
use super::normal_distribution::normal_quantile;
use super::tied_head;
use crate::ConvertError;
use crate::config::{Config, head_dim, invalid};
use crate::dense;
use crate::family::{
    Context, Family, GELU, Rule, TokenizerFacts, ViewError, count, float, map, rename,
};
use crate::keys::Keys;
use crate::lazy::Lazy;
use crate::rope::unsupported_kind;
use crate::transforms::{plus_one, rows};

const TOKENIZER: TokenizerFacts =
    TokenizerFacts { add_space_prefix: Some(false), ..TokenizerFacts::DEFAULT };

/// Norms of the layers, which are around attention and the feed-forward block from Gemma 2 on.
const NORMS_AROUND: &[Rule] = &[
    map("model.norm", "output_norm", plus_one),
    map("model.layers.{}.input_layernorm", "blk.{}.attn_norm", plus_one),
    map("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm", plus_one),
    map("model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm", plus_one),
    map("model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm", plus_one),
    map("model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm", plus_one),
    map("model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm", plus_one),
];

/// These decoders attend to earlier tokens alone: in both directions, their windows have another length as well.
const CAUSAL: &[(&str, &str)] = &[("use_bidirectional_attention", "false")];

pub(super) const GEMMA: Family = Family {
    classes: &["GemmaForCausalLM"],
    activations: GELU,
    architecture: "gemma",
    defaults: &[("tie_word_embeddings", "true")],
    expected: CAUSAL,
    has_common_keys: false,
    facts: &[
        count("context_length", &["max_position_embeddings"]).required(),
        count("embedding_length", &["hidden_size"]).required(),
        count("feed_forward_length", &["intermediate_size"]).required(),
        count("attention.head_count", &["num_attention_heads"]).required(),
        count("attention.head_count_kv", &["num_key_value_heads", "num_attention_heads"])
            .required(),
        float("attention.layer_norm_rms_epsilon", &["rms_norm_eps"]).required(),
        count("attention.key_length", &["head_dim"]).required(),
        count("attention.value_length", &["head_dim"]).required(),
    ],
    keys: |context, keys| keys.rotary(context.config),
    rename: tied_head::rename,
    rules: &[
        &[
            map("model.norm", "output_norm", plus_one),
            map("model.layers.{}.input_layernorm", "blk.{}.attn_norm", plus_one),
            map("model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm", plus_one),
        ],
        tied_head::RULES,
    ],
    tokenizer: TokenizerFacts { ids: &[("eot", 107)], ..TOKENIZER },
    ..Family::DEFAULT
};

pub(super) const GEMMA2: Family = Family {
    classes: &["Gemma2ForCausalLM"],
    architecture: "gemma2",
    keys: |context, keys| {
        keys.rotary(context.config)?;
        for key in ["attn_logit_softcapping", "final_logit_softcapping"] {
            keys.float(key, context.config.float(&[key])?);
        }
        keys.count("attention.sliding_window", context.config.count(&["sliding_window"])?);
        window_pattern(context.config, keys, 2)?;
        attention_scale(context.config, keys, 46)
    },
    rules: &[NORMS_AROUND, tied_head::RULES],
    tokenizer: TOKENIZER,
    ..GEMMA
};

pub(super) const GEMMA3: Family = Family {
    classes: &["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"],
    activations: GELU,
    architecture: "gemma3",
    // Published files of the larger models omit what has the default.
    defaults: &[
        ("vocab_size", "262208"),
        ("num_attention_heads", "8"),
        ("num_key_value_heads", "4"),
        ("head_dim", "256"),
        ("rms_norm_eps", "1e-6"),
        ("max_position_embeddings", "131072"),
        ("rope_theta", "1000000.0"),
        ("rope_local_base_freq", "10000.0"),
        ("sliding_window", "4096"),
    ],
    expected: CAUSAL,
    // The length that published files state is that of the scaled positions.
    keys: |context, keys| {
        common(context, keys)?;
        windows_and_scale(context.config, keys)
    },
    rules: &[NORMS_AROUND],
    tokenizer: TOKENIZER,
    ..Family::DEFAULT
};

/// What Gemma 3 and its encoder share, and others with their common keys do not.
fn windows_and_scale(config: &Config, keys: &mut Keys) -> Result<(), ConvertError> {
    window_pattern(config, keys, 6)?;
    attention_scale(config, keys, 62)
}

/// Sets which layers have a window, unless all but every `period`-th have one, as runtimes assume.
fn window_pattern(config: &Config, keys: &mut Keys, period: usize) -> Result<(), ConvertError> {
    match has_windows(config)? {
        true => set_windows(config, keys, PERIOD, period),
        false => Ok(()),
    }
}

/// The key of the number of layers of which the last has no window.
const PERIOD: &str = "sliding_window_pattern";

/// Whether some layers have a window. The result has no length of it if none has.
fn has_windows(config: &Config) -> Result<bool, ConvertError> {
    Ok(config.optional_count(&[PERIOD])? != Some(1))
}

/// Sets the factor on scores, unless it is that of the architecture: by the size of a head, or, in models with
/// `hidden_scale_layers` layers, by the part of the hidden state for a head.
fn attention_scale(
    config: &Config,
    keys: &mut Keys,
    hidden_scale_layers: usize,
) -> Result<(), ConvertError> {
    let usual = match config.num_layers()? == hidden_scale_layers {
        true => config.count(&["hidden_size"])? / config.num_heads()?.max(1),
        false => config.head_dim()?,
    };
    let divisor = config.count_or(&["query_pre_attn_scalar"], 256)?.max(1);
    if divisor != usual {
        keys.float("attention.scale", 1.0 / (divisor as f64).sqrt());
    }
    Ok(())
}

fn common(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    if config.get("attn_logit_softcapping").is_some() {
        let found = config.float(&["attn_logit_softcapping"])?;
        return Err(invalid("attn_logit_softcapping", "no value", found));
    }
    if let Some(softcap) = config.optional_float(&["final_logit_softcapping"])?
        && softcap != 0.0
    {
        keys.float("final_logit_softcapping", softcap);
    }
    if has_windows(config)? {
        keys.count("attention.sliding_window", config.count(&["sliding_window"])?);
    }
    Ok(())
}

/// Gemma 3 as an encoder.
pub(super) const GEMMA_EMBEDDING: Family = Family {
    classes: &["Gemma3TextModel"],
    architecture: "gemma-embedding",
    expected: &[],
    keys: |context, keys| {
        common(context, keys)?;
        windows_and_scale(context.config, keys)?;
        keys.count("attention.sliding_window", context.config.count(&["sliding_window"])?);
        for projection in dense::projections(context.folder)? {
            keys.count(&format!("{}_feat_in", projection.name), projection.num_inputs);
            keys.count(&format!("{}_feat_out", projection.name), projection.num_outputs);
        }
        // Without the key, files of this architecture attend in both directions.
        if !context.config.is_set("use_bidirectional_attention")? {
            keys.set("attention.causal", true);
        }
        Ok(())
    },
    rules: &[
        NORMS_AROUND,
        &[rename("dense_2.linear", "dense_2"), rename("dense_3.linear", "dense_3")],
    ],
    has_projections: true,
    ..GEMMA3
};

pub(super) const GEMMA3N: Family = Family {
    classes: &["Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"],
    architecture: "gemma3n",
    facts: &[
        count("altup.active_idx", &["altup_active_idx"]).required(),
        count("altup.num_inputs", &["altup_num_inputs"]).required(),
        count("embedding_length_per_layer_input", &["hidden_size_per_layer_input"]).required(),
        count("attention.shared_kv_layers", &["num_kv_shared_layers"]).required(),
    ],
    defaults: &[
        ("vocab_size", "262400"),
        ("rope_theta", "1000000.0"),
        ("rope_local_base_freq", "10000.0"),
    ],
    expected: &[("altup_correct_scale", "true")],
    keys: |context, keys| {
        let Context { config, .. } = context;
        common(context, keys)?;
        let inputs = config.count(&["altup_num_inputs"])?;
        if inputs != 4 {
            return Err(invalid("altup_num_inputs", "4", inputs));
        }
        let sparsity = config.floats("activation_sparsity_pattern")?;
        let Some(sparsity) = sparsity else {
            let (key, expected) = ("activation_sparsity_pattern".to_owned(), "a list of numbers");
            return Err(ConvertError::MissingKey { key, expected });
        };
        let scales: Vec<f32> = sparsity.into_iter().map(normal_quantile).collect();
        keys.set("activation_sparsity_scale", scales);
        windows(config, keys)
    },
    rules: &[&[
        rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
        rename("model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm"),
        rename("model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"),
        map("model.embed_tokens_per_layer", "per_layer_token_embd", layer_embeddings),
        rename("model.per_layer_model_projection", "per_layer_model_proj"),
        rename("model.per_layer_projection_norm", "per_layer_proj_norm"),
        // One for each further stream.
        rename("model.altup_projections.{}", "altup_proj"),
        rename("model.altup_unembed_projections.{}", "altup_unembd_proj"),
        rename("model.layers.{}.per_layer_input_gate", "blk.{}.inp_gate"),
        rename("model.layers.{}.per_layer_projection", "blk.{}.proj"),
        rename("model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm"),
        rename("model.layers.{}.altup.correction_coefs", "blk.{}.altup_correct_coef"),
        rename("model.layers.{}.altup.correct_output_scale", "blk.{}.altup_correct_scale.weight"),
        rename("model.layers.{}.altup.prediction_coefs", "blk.{}.altup_predict_coef"),
        rename("model.layers.{}.altup.modality_router", "blk.{}.altup_router"),
        rename("model.layers.{}.altup.router_norm", "blk.{}.altup_router_norm"),
        rename("model.layers.{}.laurel.linear_left", "blk.{}.laurel_l"),
        rename("model.layers.{}.laurel.linear_right", "blk.{}.laurel_r"),
        rename("model.layers.{}.laurel.post_laurel_norm", "blk.{}.laurel_post_norm"),
    ]],
    ..GEMMA3
};

/// The embeddings of the layers. Tokens of images and audio, which the table does not have, have those of the first token.
///
/// **Source**: `Gemma3nTextModel.get_per_layer_inputs` of transformers.
fn layer_embeddings(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let (found, expected) = (tensor.shape[0], context.config.count(&["vocab_size"])?);
    let known = rows(&tensor, 0..found.min(expected))?;
    match expected.saturating_sub(found) {
        0 => Ok(known),
        missing => Ok(Lazy::concat(vec![known, rows(&tensor, 0..1)?.repeated(missing)?])?),
    }
}

fn windows(config: &Config, keys: &mut Keys) -> Result<(), ConvertError> {
    match config.layers_of_type(&["sliding_attention"])? {
        Some(layers) => {
            keys.set("attention.sliding_window_pattern", layers);
            Ok(())
        }
        None => Err(ConvertError::MissingKey {
            key: "layer_types".to_owned(),
            expected: "the kind of attention of each layer",
        }),
    }
}

pub(super) const GEMMA4: Family = Family {
    classes: &[
        "Gemma4ForConditionalGeneration",
        "Gemma4ForCausalLM",
        "Gemma4UnifiedForCausalLM",
        "Gemma4UnifiedForConditionalGeneration",
    ],
    architecture: "gemma4",
    defaults: &[],
    expected: &[],
    facts: &[
        count("attention.shared_kv_layers", &["num_kv_shared_layers"]).required(),
        count("expert_feed_forward_length", &["expert_intermediate_size", "moe_intermediate_size"]),
    ],
    keys: gemma4,
    own_scalings: &["proportional"],
    rules: &[&[
        rename("model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"),
        rename("model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm"),
        rename("model.layers.{}.pre_feedforward_layernorm_2", "blk.{}.pre_ffw_norm_2"),
        rename("model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"),
        rename("model.layers.{}.post_feedforward_layernorm_1", "blk.{}.post_ffw_norm_1"),
        rename("model.layers.{}.post_feedforward_layernorm_2", "blk.{}.post_ffw_norm_2"),
        rename("model.embed_tokens_per_layer", "per_layer_token_embd"),
        rename("model.per_layer_model_projection", "per_layer_model_proj"),
        rename("model.per_layer_projection_norm", "per_layer_proj_norm"),
        rename("model.layers.{}.per_layer_input_gate", "blk.{}.inp_gate"),
        rename("model.layers.{}.per_layer_projection", "blk.{}.proj"),
        rename("model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm"),
        rename("model.layers.{}.layer_scalar", "blk.{}.layer_output_scale.weight"),
        rename("model.layers.{}.router.proj", "blk.{}.ffn_gate_inp"),
        rename("model.layers.{}.router.scale", "blk.{}.ffn_gate_inp.scale"),
        rename("model.layers.{}.router.per_expert_scale", "blk.{}.ffn_down_exps.scale"),
        rename("model.layers.{}.experts.gate_up_proj", "blk.{}.ffn_gate_up_exps.weight"),
        rename("model.layers.{}.experts.down_proj", "blk.{}.ffn_down_exps.weight"),
    ]],
    constants: |context| {
        let (config, rope) = (context.config, context.config.rope());
        if rope.kind().as_deref() != Some("proportional") {
            return Err(unsupported_kind(rope, "proportional for layers with full attention"));
        }
        let size = global_head_dim(config)?;
        let rotated = (size as f64 * rope.float("partial_rotary_factor")? / 2.0) as usize;
        let mut divisors = vec![1.0; rotated.min(size / 2)];
        // Pairs with this divisor do not move.
        divisors.resize(size / 2, 1e30);
        Ok(vec![("rope_freqs.weight", divisors)])
    },
    tokenizer: TokenizerFacts {
        merges_model: Some("gemma4"),
        visible: &[
            "<|channel>",
            "<channel|>",
            "<|tool_call>",
            "<tool_call|>",
            "<|tool_response>",
            "<tool_response|>",
            "<|\"|>",
        ],
        add_bos: Some(true),
        ..TOKENIZER
    },
    ..GEMMA3
};

/// The size of a head of the layers with full attention.
fn global_head_dim(config: &Config) -> Result<usize, ConvertError> {
    head_dim("global_head_dim", full_size(config, "global_head_dim", "head_dim")?)
}

/// A number of the layers with full attention: a key of its own, or the value of the first such layer.
fn full_size(config: &Config, key: &str, in_layer: &str) -> Result<usize, ConvertError> {
    if let Some(size) = config.optional_count(&[key])? {
        return Ok(size as usize);
    }
    let windows = config.layers_of_type(&["sliding_attention"])?.unwrap_or_default();
    let layers = config.get("per_layer_config");
    let sizes = windows.iter().enumerate().filter(|(_, is_windowed)| !**is_windowed);
    let found = sizes.map(|(layer, _)| layers?.get(layer.to_string())?.get(in_layer)?.as_u64());
    match found.flatten().next() {
        Some(size) => Ok(size as usize),
        None => Err(ConvertError::MissingKey { key: key.to_owned(), expected: "a number" }),
    }
}

fn gemma4(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    common(context, keys)?;
    let per_layer = config.count_or(&["hidden_size_per_layer_input"], 0)?;
    keys.count("embedding_length_per_layer_input", per_layer);
    windows(config, keys)?;
    let full = global_head_dim(config)?;
    let windowed = config.count(&["head_dim"])?;
    for (key, size) in [("key_length", full), ("value_length", full)] {
        keys.count(&format!("attention.{key}"), size);
    }
    for key in ["key_length_swa", "value_length_swa"] {
        keys.count(&format!("attention.{key}"), windowed);
    }
    let layers = config.num_layers()?;
    let shared = config.count(&["num_kv_shared_layers"])?;
    if config.is_set("use_double_wide_mlp")? {
        let size = config.count(&["intermediate_size"])?;
        let first = layers.saturating_sub(shared);
        let sizes = (0..layers).map(|layer| if layer < first { size } else { 2 * size });
        keys.counts("feed_forward_length", sizes);
    }
    let heads = full_size(config, "num_global_key_value_heads", "num_key_value_heads").ok();
    let windows = config.layers_of_type(&["sliding_attention"])?.unwrap_or_default();
    if let Some(heads) = heads {
        let own = config.num_kv_heads()?;
        let counts = windows.into_iter().map(|is_windowed| if is_windowed { own } else { heads });
        keys.counts("attention.head_count_kv", counts);
    }
    keys.count("rope.dimension_count", full);
    // The share of rotated dimensions is that of layers with full attention only.
    let share = config.shared_rope().optional_float("partial_rotary_factor")?.unwrap_or(1.0);
    keys.count("rope.dimension_count_swa", (windowed as f64 * share) as usize);
    Ok(())
}
