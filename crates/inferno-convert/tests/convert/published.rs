//! The metadata of published models, whose `config.json` omit what others have. The values are facts of these files.

use inferno_convert::{Conversion, ConvertOptions};
use inferno_gguf::{Metadata, MetadataValue};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{Tensors, floats, write};

/// Converts a checkpoint that has this configuration and embeddings alone.
pub(crate) fn convert(config: &Value) -> Metadata {
    let embeddings = ("model.embed_tokens.weight".to_owned(), floats(&[4, 8], |_| 1.0));
    let folder = tempdir().expect("a folder");
    write(folder.path(), config, &Tensors::from([embeddings]));
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    conversion.into_gguf().expect("a valid file").metadata().clone()
}

/// Checks keys of an architecture; `None` for one that must not exist.
#[track_caller]
pub(crate) fn check(metadata: &Metadata, expected: &[(&str, Option<MetadataValue>)]) {
    let architecture: &str = metadata.required("general.architecture").expect("a name");
    for (key, expected) in expected {
        let key = format!("{architecture}.{key}");
        assert_eq!(metadata.get(&key), expected.as_ref(), "{key}");
    }
}

/// The value that a key must have.
pub(crate) fn some(value: impl Into<MetadataValue>) -> Option<MetadataValue> {
    Some(value.into())
}

#[test]
fn glm_4_7_flash_has_no_key_for_its_gating() {
    let metadata = convert(&json!({
        "architectures": ["Glm4MoeLiteForCausalLM"],
        "attention_bias": false,
        "eos_token_id": [154820, 154827, 154829],
        "first_k_dense_replace": 1,
        "hidden_act": "silu",
        "hidden_size": 2048,
        "intermediate_size": 10240,
        "kv_lora_rank": 512,
        "max_position_embeddings": 202752,
        "model_type": "glm4_moe_lite",
        "moe_intermediate_size": 1536,
        "n_group": 1,
        "n_routed_experts": 64,
        "n_shared_experts": 1,
        "norm_topk_prob": true,
        "num_attention_heads": 20,
        "num_experts_per_tok": 4,
        "num_hidden_layers": 47,
        "num_key_value_heads": 20,
        "num_nextn_predict_layers": 1,
        "pad_token_id": 154820,
        "partial_rotary_factor": 1.0,
        "q_lora_rank": 768,
        "qk_nope_head_dim": 192,
        "qk_rope_head_dim": 64,
        "rms_norm_eps": 1e-5,
        "rope_scaling": null,
        "rope_theta": 1000000,
        "routed_scaling_factor": 1.8,
        "tie_word_embeddings": false,
        "topk_group": 1,
        "topk_method": "noaux_tc",
        "v_head_dim": 256,
        "vocab_size": 154880,
    }));
    assert_eq!(metadata.required::<&str>("general.architecture").unwrap(), "deepseek2");
    check(
        &metadata,
        &[
            ("block_count", some(48_u32)),
            ("nextn_predict_layers", some(1_u32)),
            ("attention.head_count", some(20_u32)),
            ("attention.head_count_kv", some(1_u32)),
            ("attention.key_length", some(576_u32)),
            ("attention.key_length_mla", some(256_u32)),
            ("attention.value_length", some(512_u32)),
            ("attention.value_length_mla", some(256_u32)),
            ("attention.layer_norm_rms_epsilon", some(1e-5_f32)),
            ("expert_count", some(64_u32)),
            ("expert_used_count", some(4_u32)),
            ("expert_gating_func", some(2_u32)),
            ("expert_weights_norm", some(true)),
            ("expert_weights_scale", some(1.8_f32)),
            ("leading_dense_block_count", some(1_u32)),
            ("rope.dimension_count", some(64_u32)),
            ("rope.freq_base", some(1e6_f32)),
            ("rope.scaling.type", None),
        ],
    );
    // The first of several ends of a text, and the next one.
    let id = |role: &str| metadata.required::<u32>(&format!("tokenizer.ggml.{role}_token_id"));
    assert_eq!((id("eos").unwrap(), id("eot").unwrap()), (154820, 154827));
}

fn gpt_oss_20b() -> Value {
    let layers = ["sliding_attention", "full_attention"].into_iter().cycle().take(24);
    json!({
        "architectures": ["GptOssForCausalLM"],
        "attention_bias": true,
        "eos_token_id": 200002,
        "experts_per_token": 4,
        "head_dim": 64,
        "hidden_act": "silu",
        "hidden_size": 2880,
        "initial_context_length": 4096,
        "intermediate_size": 2880,
        "layer_types": layers.collect::<Vec<_>>(),
        "max_position_embeddings": 131072,
        "model_type": "gpt_oss",
        "num_attention_heads": 64,
        "num_experts_per_tok": 4,
        "num_hidden_layers": 24,
        "num_key_value_heads": 8,
        "num_local_experts": 32,
        "pad_token_id": 199999,
        "quantization_config": {"quant_method": "mxfp4"},
        "rms_norm_eps": 1e-5,
        "rope_scaling": {
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "rope_type": "yarn",
            "truncate": false,
        },
        "rope_theta": 150000,
        "sliding_window": 128,
        "swiglu_limit": 7.0,
        "tie_word_embeddings": false,
        "vocab_size": 201088,
    })
}

#[test]
fn the_ends_of_the_ramp_of_gpt_oss_are_not_rounded() {
    let mut config = gpt_oss_20b();
    let expected = [
        ("block_count", some(24_u32)),
        ("context_length", some(131_072_u32)),
        ("embedding_length", some(2880_u32)),
        ("expert_count", some(32_u32)),
        ("expert_used_count", some(4_u32)),
        ("attention.head_count", some(64_u32)),
        ("attention.head_count_kv", some(8_u32)),
        ("attention.key_length", some(64_u32)),
        ("attention.sliding_window", some(128_u32)),
        ("attention.sliding_window_pattern", None),
        ("rope.freq_base", some(150_000.0_f32)),
        ("rope.scaling.type", some("yarn")),
        ("rope.scaling.factor", some(32.0_f32)),
        ("rope.scaling.original_context_length", some(4096_u32)),
        ("rope.scaling.yarn_attn_factor", None),
        ("rope.scaling.yarn_truncate", some(false)),
    ];
    check(&convert(&config), &expected);
    // The default of transformers, which runtimes do not assume for models of this size.
    config["rope_scaling"].as_object_mut().expect("an object").remove("truncate");
    check(&convert(&config), &[("rope.scaling.yarn_truncate", some(true))]);
}

#[test]
fn the_first_form_of_lfm2_numbers_the_layers_with_attention() {
    let metadata = convert(&json!({
        "architectures": ["Lfm2ForCausalLM"],
        "block_auto_adjust_ff_dim": true,
        "block_dim": 2048,
        "block_ff_dim": 12288,
        "block_ffn_dim_multiplier": 1.0,
        "block_multiple_of": 256,
        "block_norm_eps": 1e-5,
        "conv_L_cache": 3,
        "conv_bias": false,
        "conv_dim": 2048,
        "eos_token_id": 7,
        "full_attn_idxs": [2, 5, 8, 10, 12, 14],
        "hidden_size": 2048,
        "max_position_embeddings": 128000,
        "model_type": "lfm2",
        "norm_eps": 1e-5,
        "num_attention_heads": 32,
        "num_heads": 32,
        "num_hidden_layers": 16,
        "num_key_value_heads": 8,
        "rope_theta": 1000000.0,
        "vocab_size": 65536,
    }));
    let heads = vec![0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0];
    check(
        &metadata,
        &[
            ("attention.head_count_kv", some(heads)),
            ("feed_forward_length", some(8192_u32)),
            ("shortconv.l_cache", some(3_u32)),
        ],
    );
}

#[test]
fn the_size_of_feed_forward_blocks_of_lfm2_is_adjusted_by_default() {
    let mut config = json!({
        "architectures": ["Lfm2ForCausalLM"],
        "conv_L_cache": 3,
        "hidden_size": 2560,
        "intermediate_size": 12288,
        "layer_types": ["conv"],
        "max_position_embeddings": 128000,
        "num_attention_heads": 32,
        "num_hidden_layers": 1,
        "num_key_value_heads": 8,
        "vocab_size": 65536,
    });
    check(&convert(&config), &[("feed_forward_length", some(8192_u32))]);
    config["block_auto_adjust_ff_dim"] = json!(false);
    check(&convert(&config), &[("feed_forward_length", some(12288_u32))]);
}

#[test]
fn the_text_model_of_llava_1_5_has_the_defaults_of_its_class() {
    let metadata = convert(&json!({
        "architectures": ["LlavaForConditionalGeneration"],
        "ignore_index": -100,
        "image_token_index": 32000,
        "model_type": "llava",
        "pad_token_id": 32001,
        "projector_hidden_act": "gelu",
        "text_config": {
            "_name_or_path": "lmsys/vicuna-7b-v1.5",
            "architectures": ["LlamaForCausalLM"],
            "max_position_embeddings": 4096,
            "model_type": "llama",
            "rms_norm_eps": 1e-5,
            "torch_dtype": "float16",
            "vocab_size": 32064,
        },
        "tie_word_embeddings": false,
        "torch_dtype": "float16",
        "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24},
    }));
    check(
        &metadata,
        &[
            ("block_count", some(32_u32)),
            ("context_length", some(4096_u32)),
            ("embedding_length", some(4096_u32)),
            ("feed_forward_length", some(11008_u32)),
            ("attention.head_count", some(32_u32)),
            ("attention.sliding_window", None),
            ("attention.layer_norm_rms_epsilon", some(1e-5_f32)),
            ("rope.dimension_count", some(128_u32)),
            ("vocab_size", some(32064_u32)),
        ],
    );
}

#[test]
fn the_text_model_of_pixtral_has_the_defaults_of_its_class() {
    let metadata = convert(&json!({
        "architectures": ["LlavaForConditionalGeneration"],
        "model_type": "llava",
        "text_config": {
            "head_dim": 128,
            "hidden_size": 5120,
            "intermediate_size": 14336,
            "is_composition": true,
            "max_position_embeddings": 1024000,
            "model_type": "mistral",
            "num_hidden_layers": 40,
            "rms_norm_eps": 1e-5,
            "rope_theta": 1000000000.0,
            "sliding_window": null,
            "vocab_size": 131072,
        },
        "vision_config": {"model_type": "pixtral"},
    }));
    check(
        &metadata,
        &[
            ("block_count", some(40_u32)),
            ("embedding_length", some(5120_u32)),
            ("attention.head_count", some(32_u32)),
            ("attention.head_count_kv", some(8_u32)),
            ("attention.key_length", some(128_u32)),
            ("attention.sliding_window", None),
            ("rope.freq_base", some(1e9_f32)),
        ],
    );
}

/// The parameters of the text model are the defaults of `Mistral4Config` of transformers.
#[test]
fn queries_of_mistral_4_grow_with_their_position() {
    let metadata = convert(&json!({
        "architectures": ["Mistral3ForConditionalGeneration"],
        "model_type": "mistral3",
        "text_config": {
            "first_k_dense_replace": 0,
            "head_dim": 128,
            "hidden_act": "silu",
            "hidden_size": 4096,
            "intermediate_size": 12288,
            "kv_lora_rank": 256,
            "max_position_embeddings": 1048576,
            "model_type": "mistral4",
            "moe_intermediate_size": 2048,
            "n_group": 1,
            "n_routed_experts": 128,
            "n_shared_experts": 1,
            "norm_topk_prob": true,
            "num_attention_heads": 32,
            "num_experts_per_tok": 4,
            "num_hidden_layers": 36,
            "num_key_value_heads": 32,
            "q_lora_rank": 1024,
            "qk_nope_head_dim": 64,
            "qk_rope_head_dim": 64,
            "rms_norm_eps": 1e-6,
            "rope_parameters": {
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "factor": 128.0,
                "llama_4_scaling_beta": 0.1,
                "max_position_embeddings": 1048576,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 8192,
                "partial_rotary_factor": 0.5,
                "rope_theta": 10000.0,
                "rope_type": "yarn",
                "type": "yarn",
            },
            "routed_scaling_factor": 1.0,
            "topk_group": 1,
            "v_head_dim": 128,
            "vocab_size": 131072,
        },
    }));
    check(
        &metadata,
        &[
            ("attention.key_length", some(320_u32)),
            ("attention.key_length_mla", some(128_u32)),
            ("attention.temperature_scale", some(0.1_f32)),
            ("expert_count", some(128_u32)),
            // Softmax.
            ("expert_gating_func", None),
            ("leading_dense_block_count", some(0_u32)),
            ("rope.dimension_count", some(64_u32)),
            ("rope.scaling.factor", some(128.0_f32)),
            ("rope.scaling.original_context_length", some(8192_u32)),
            ("rope.scaling.yarn_log_multiplier", some(0.1_f32)),
            ("rope.scaling.yarn_attn_factor", None),
            ("rope.scaling.yarn_truncate", None),
        ],
    );
}
