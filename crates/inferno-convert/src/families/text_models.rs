//! The text models of larger ones, such as models that read images: they are often described by their `model_type` and what
//! differs from the defaults of its class.

use super::{cohere, lfm2, llama, qwen};
use crate::config::invalid;
use crate::family::Family;

/// Models whose text model is Llama's unless they state another type.
pub(super) const LLAVA: Family = Family {
    classes: &[
        "Idefics3ForConditionalGeneration",
        "LlavaForConditionalGeneration",
        "SmolVLMForConditionalGeneration",
    ],
    select: Some(|config, _| match config.text_type() {
        None => Ok(&LLAMA),
        Some(name) => of_type(name).ok_or_else(|| {
            let names: Vec<_> = TYPES.iter().map(|(name, _)| *name).collect();
            invalid("text_config.model_type", &names.join(" or "), name)
        }),
    }),
    ..llama::LLAMA
};

/// The families of text models by their type. Sizes of LFM2 are always stated.
const TYPES: &[(&str, &Family)] = &[
    ("cohere2", &COHERE2),
    ("lfm2", &lfm2::LFM2),
    ("llama", &LLAMA),
    ("mistral", &MISTRAL),
    ("qwen2", &QWEN2),
    ("qwen3", &QWEN3),
];

/// The family of a text model of this `model_type`.
pub(super) fn of_type(name: &str) -> Option<&'static Family> {
    TYPES.iter().find(|(known, _)| *known == name).map(|(_, family)| *family)
}

/// **Source**: `LlamaConfig` of transformers.
const LLAMA: Family = Family {
    classes: &[],
    defaults: &[
        ("vocab_size", "32000"),
        ("hidden_size", "4096"),
        ("intermediate_size", "11008"),
        ("num_hidden_layers", "32"),
        ("num_attention_heads", "32"),
        ("max_position_embeddings", "2048"),
        ("rms_norm_eps", "1e-6"),
        ("rope_theta", "10000.0"),
    ],
    ..llama::LLAMA
};

/// **Source**: `MistralConfig` of transformers.
const MISTRAL: Family = Family {
    classes: &[],
    defaults: &[
        ("vocab_size", "32000"),
        ("hidden_size", "4096"),
        ("intermediate_size", "14336"),
        ("num_hidden_layers", "32"),
        ("num_attention_heads", "32"),
        ("num_key_value_heads", "8"),
        ("max_position_embeddings", "131072"),
        ("rms_norm_eps", "1e-6"),
        ("rope_theta", "10000.0"),
    ],
    ..llama::LLAMA
};

/// **Source**: `Qwen2Config` of transformers.
const QWEN2: Family = Family {
    classes: &[],
    defaults: &[
        ("vocab_size", "151936"),
        ("hidden_size", "4096"),
        ("intermediate_size", "22016"),
        ("num_hidden_layers", "32"),
        ("num_attention_heads", "32"),
        ("num_key_value_heads", "32"),
        ("max_position_embeddings", "32768"),
        ("rms_norm_eps", "1e-6"),
        ("rope_theta", "10000.0"),
    ],
    ..qwen::QWEN2
};

/// **Source**: `Qwen3Config` of transformers.
const QWEN3: Family = Family {
    classes: &[],
    defaults: &[
        ("vocab_size", "151936"),
        ("hidden_size", "4096"),
        ("intermediate_size", "22016"),
        ("num_hidden_layers", "32"),
        ("num_attention_heads", "32"),
        ("num_key_value_heads", "32"),
        ("head_dim", "128"),
        ("max_position_embeddings", "32768"),
        ("rms_norm_eps", "1e-6"),
        ("rope_theta", "10000.0"),
    ],
    ..qwen::QWEN3
};

/// **Source**: `Cohere2Config` of transformers.
const COHERE2: Family = Family {
    classes: &[],
    defaults: &[
        ("vocab_size", "256000"),
        ("hidden_size", "8192"),
        ("intermediate_size", "22528"),
        ("num_hidden_layers", "40"),
        ("num_attention_heads", "64"),
        ("num_key_value_heads", "64"),
        ("max_position_embeddings", "8192"),
        ("layer_norm_eps", "1e-5"),
        ("logit_scale", "0.0625"),
        ("rope_theta", "10000.0"),
        ("rotary_pct", "1.0"),
        ("sliding_window", "4096"),
    ],
    ..cohere::COHERE2
};
