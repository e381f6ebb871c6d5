//! Rotary embeddings: every configured scaling becomes metadata or a tensor, or is an error.

use inferno_convert::{ConvertError, WeightType};
use inferno_gguf::{Gguf, MetadataValue};
use inferno_tensor::{DType, quant};
use serde_json::{Value, json};

use crate::checkpoint::{self, floats, llama_as};
use crate::published::{self, check, some};

/// Converts the Llama model of the tests as one of another class, with further keys of its configuration.
pub(crate) fn convert(class: &str, keys: Value) -> Result<Gguf, ConvertError> {
    checkpoint::convert(&llama_as(class, &keys), WeightType::Auto)
}

/// The value of a key of rotary embeddings.
pub(crate) fn key(gguf: &Gguf, key: &str) -> Option<MetadataValue> {
    let architecture: &str = gguf.metadata().required("general.architecture").expect("a name");
    gguf.metadata().get(&format!("{architecture}.rope.{key}")).cloned()
}

fn factors(gguf: &Gguf) -> Vec<f32> {
    values(gguf, "rope_freqs.weight")
}

fn values(gguf: &Gguf, name: &str) -> Vec<f32> {
    let info = gguf.tensor(name).expect("the tensor exists");
    let mut values = vec![0.0; info.num_elements()];
    quant::decode_row(DType::F32, &gguf.data(info), &mut values).expect("valid data");
    values
}

pub(crate) fn llama3(kind: &str) -> Value {
    json!({
        "rope_type": kind,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 2048,
    })
}

/// The default frequencies divided by the scaled ones.
///
/// **Source**: `_compute_llama3_parameters` of transformers 5.24, for heads of 8 components of which all are rotated, or half.
const LLAMA3_FACTORS: [f32; 4] = [1.0, 1.0, 1.275_479_6, 8.0];
const LLAMA3_FACTORS_OF_HALF: [f32; 2] = [1.0, 1.275_479_6];

#[track_caller]
fn assert_close(found: &[f32], expected: &[f32]) {
    let is_close = |(a, b): (&f32, &f32)| (a / b - 1.0).abs() < 1e-6;
    let all = found.len() == expected.len() && found.iter().zip(expected).all(is_close);
    assert!(all, "{found:?}, expected {expected:?}");
}

#[test]
fn every_family_has_the_factors_of_llama_3() {
    for (class, keys) in [
        ("LlamaForCausalLM", json!({})),
        ("Qwen2ForCausalLM", json!({})),
        ("Qwen3ForCausalLM", json!({})),
        ("Olmo2ForCausalLM", json!({})),
        ("SeedOssForCausalLM", json!({})),
        ("CohereForCausalLM", json!({"logit_scale": 0.5})),
        ("Exaone4ForCausalLM", json!({})),
        ("Phi3ForCausalLM", json!({"num_key_value_heads": 1})),
        ("GemmaForCausalLM", json!({"hidden_act": "gelu"})),
        ("Starcoder2ForCausalLM", json!({"hidden_act": "gelu"})),
    ] {
        let mut keys = keys;
        (keys["head_dim"], keys["hidden_size"]) = (json!(8), json!(16));
        keys["rope_theta"] = json!(10000.0);
        // Names of kinds are written in several ways.
        for kind in ["llama3", "LLaMA3"] {
            keys["rope_scaling"] = llama3(kind);
            let gguf =
                convert(class, keys.clone()).unwrap_or_else(|error| panic!("{class}: {error}"));
            assert_close(&factors(&gguf), &LLAMA3_FACTORS);
        }
    }
    let keys = json!({"head_dim": 8, "rope_theta": 10000.0, "rope_scaling": llama3("llama3")});
    let gguf = convert("Glm4ForCausalLM", keys).expect("it is converted");
    assert_eq!(key(&gguf, "dimension_count"), some(4_u32));
    assert_close(&factors(&gguf), &LLAMA3_FACTORS_OF_HALF);
}

#[test]
fn families_that_are_usually_unscaled_have_the_scaling_of_their_file() {
    for (class, keys) in [
        ("CohereForCausalLM", json!({"logit_scale": 0.5})),
        ("Cohere2ForCausalLM", json!({"logit_scale": 0.5, "sliding_window": 16})),
        (
            "ExaoneMoeForCausalLM",
            json!({"moe_intermediate_size": 8, "num_shared_experts": 1, "routed_scaling_factor": 1.0}),
        ),
        ("EuroBertModel", json!({})),
        ("NemotronForCausalLM", json!({"hidden_act": "relu2", "layer_norm_eps": 1e-5})),
    ] {
        let mut keys = keys;
        keys["rope_theta"] = json!(10000.0);
        let open = |keys: &Value| {
            convert(class, keys.clone()).unwrap_or_else(|error| panic!("{class}: {error}"))
        };
        assert_eq!(key(&open(&keys), "scaling.type"), some("none"), "{class}");
        keys["rope_scaling"] = json!({"type": "linear", "factor": 4.0});
        let gguf = open(&keys);
        assert_eq!(key(&gguf, "scaling.type"), some("linear"), "{class}");
        assert_eq!(key(&gguf, "scaling.factor"), some(4.0_f32), "{class}");
        keys["rope_scaling"] = json!({
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 16,
        });
        let gguf = open(&keys);
        assert_eq!(key(&gguf, "scaling.type"), some("yarn"), "{class}");
        assert_eq!(key(&gguf, "scaling.original_context_length"), some(16_u32), "{class}");
    }
}

#[test]
fn gemma_1_and_2_have_the_base_and_the_scaling_of_their_file() {
    let gemma2 = json!({
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
        "sliding_window": 16,
    });
    for (class, keys) in [("GemmaForCausalLM", json!({})), ("Gemma2ForCausalLM", gemma2)] {
        let mut keys = keys;
        (keys["head_dim"], keys["hidden_act"]) = (json!(4), json!("gelu_pytorch_tanh"));
        keys["rope_theta"] = json!(500000.0);
        keys["rope_scaling"] = json!({"rope_type": "linear", "factor": 2.0});
        let gguf = convert(class, keys).expect("it is converted");
        assert_eq!(key(&gguf, "freq_base"), some(500_000.0_f32));
        assert_eq!(key(&gguf, "scaling.type"), some("linear"));
        assert_eq!(key(&gguf, "scaling.factor"), some(2.0_f32));
    }
}

#[test]
fn phi_3_without_factors_has_the_scaling_of_its_file() {
    let keys = json!({
        "num_key_value_heads": 1,
        "rope_scaling": {"type": "yarn", "factor": 16.0},
        "rope_theta": 10000.0,
    });
    let gguf = convert("Phi3ForCausalLM", keys).expect("it is converted");
    assert_eq!(key(&gguf, "scaling.type"), some("yarn"));
    assert_eq!(key(&gguf, "scaling.factor"), some(16.0_f32));
    assert_eq!(key(&gguf, "scaling.original_context_length"), some(4096_u32));
}

/// **Source**: `standardize_rope_params` of transformers, and `_compute_yarn_parameters`.
#[test]
fn yarn_without_an_original_context_has_the_context_of_the_model() {
    let scaling = json!({"rope_type": "yarn", "factor": 4.0});
    let gguf = convert("LlamaForCausalLM", json!({"rope_scaling": scaling}));
    let gguf = gguf.expect("it is converted");
    assert_eq!(key(&gguf, "scaling.original_context_length"), some(64_u32));
    let scaling = json!({"rope_type": "yarn", "original_max_position_embeddings": 16});
    let gguf = convert("LlamaForCausalLM", json!({"rope_scaling": scaling}));
    assert_eq!(key(&gguf.expect("it is converted"), "scaling.factor"), some(4.0_f32));
}

/// **Source**: `MiniMaxM2Config` of transformers.
#[test]
fn the_rotated_part_of_minimax_m2_is_a_number_or_a_share() {
    for (keys, expected) in [
        (json!({"rotary_dim": 4}), 4_u32),
        (json!({"rope_parameters": {"partial_rotary_factor": 0.5}}), 4),
        (json!({"rope_parameters": {"partial_rotary_factor": 0.25}, "rotary_dim": 4}), 2),
        (json!({}), 8),
    ] {
        let mut keys = keys;
        keys["head_dim"] = json!(8);
        let gguf = convert("MiniMaxM2ForCausalLM", keys).expect("it is converted");
        assert_eq!(key(&gguf, "dimension_count"), some(expected));
    }
}

/// **Source**: `_compute_longrope_parameters` of transformers: `sqrt(1 + ln(factor) / ln(4096))`.
#[test]
fn the_amplitude_of_longrope_is_that_of_its_file_or_follows_from_its_factor() {
    for (stated, expected) in [
        (json!({}), 1.118_034_f32),
        (json!({"factor": 4.0}), 1.080_123_4),
        (json!({"factor": 4.0, "attention_factor": 1.5}), 1.5),
    ] {
        let mut scaling =
            json!({"type": "longrope", "long_factor": [2.0, 2.0], "short_factor": [1.0, 1.0]});
        scaling.as_object_mut().expect("an object").extend(stated.as_object().cloned().unwrap());
        let gguf = convert(
            "Phi3ForCausalLM",
            json!({
                "max_position_embeddings": 32768,
                "original_max_position_embeddings": 4096,
                "rope_scaling": scaling,
            }),
        );
        let found = key(&gguf.expect("it is converted"), "scaling.attn_factor");
        assert_eq!(found, some(expected));
    }
}

/// **Source**: `compute_ntk_alpha_rope_parameters` of transformers: `10000 * 1000^(8 / 6)`.
#[test]
fn the_base_of_hunyuan_follows_from_the_size_of_its_heads() {
    let gguf = convert(
        "HunYuanMoEV1ForCausalLM",
        json!({
            "head_dim": 8,
            "max_position_embeddings": 32768,
            "moe_intermediate_size": 8,
            "moe_topk": 1,
            "num_shared_expert": 1,
            "rope_scaling": {"type": "dynamic", "alpha": 1000.0},
            "rope_theta": 10000.0,
        }),
    );
    assert_eq!(key(&gguf.expect("it is converted"), "freq_base"), some(1e8_f32));
}

/// **Source**: the second result of `_compute_yarn_parameters` of transformers 5.24.
#[test]
fn the_amplitude_of_yarn_follows_from_its_two_scales() {
    for (own, all, expected) in
        [(1.0, 1.0, Some(1.0_f32)), (0.707, 1.0, Some(0.921_042_4)), (1.0, 0.0, None)]
    {
        let scaling = json!({
            "rope_type": "yarn",
            "factor": 40.0,
            "mscale": own,
            "mscale_all_dim": all,
            "original_max_position_embeddings": 64,
        });
        let gguf = convert("LlamaForCausalLM", json!({"rope_scaling": scaling}));
        let found = key(&gguf.expect("it is converted"), "scaling.yarn_attn_factor");
        assert_eq!(found, expected.map(MetadataValue::from));
    }
}

/// With scores scaled by `yarn_log_multiplier`, runtimes do not assume the amplitude that `get_mscale(factor)` gives.
///
/// **Source**: `get_mscale` of `_compute_yarn_parameters` of transformers 5.24: `0.1 * ln(40) + 1`.
#[test]
fn latent_attention_with_one_of_the_two_scales_has_the_usual_amplitude() {
    let metadata = |scales: Value| {
        let mut scaling = json!({
            "rope_type": "yarn",
            "factor": 40.0,
            "original_max_position_embeddings": 64,
        });
        scaling.as_object_mut().expect("an object").extend(scales.as_object().cloned().unwrap());
        published::convert(&json!({
            "architectures": ["DeepseekV3ForCausalLM"],
            "hidden_size": 8,
            "intermediate_size": 8,
            "kv_lora_rank": 4,
            "max_position_embeddings": 64,
            "num_attention_heads": 2,
            "num_hidden_layers": 1,
            "qk_nope_head_dim": 4,
            "qk_rope_head_dim": 4,
            "rope_scaling": scaling,
            "v_head_dim": 4,
            "vocab_size": 4,
        }))
    };
    for (scales, multiplier, amplitude) in [
        (json!({"mscale_all_dim": 1.0}), Some(0.1_f32), Some(1.368_887_9_f32)),
        (json!({"mscale": 0.0, "mscale_all_dim": 1.0}), Some(0.1), Some(1.368_887_9)),
        (json!({"mscale": 1.0, "mscale_all_dim": 1.0}), Some(0.1), None),
        (json!({"mscale": 1.0}), None, None),
        (json!({"mscale_all_dim": 0.0}), None, None),
        (json!({}), None, None),
    ] {
        let key =
            |name: &str, value: Option<f32>| (name.to_owned(), value.map(MetadataValue::from));
        let expected = [
            key("rope.scaling.yarn_log_multiplier", multiplier),
            key("rope.scaling.yarn_attn_factor", amplitude),
        ];
        let expected = expected.each_ref().map(|(name, value)| (&name[..], value.clone()));
        check(&metadata(scales), &expected);
    }
}

/// **Source**: `Glm4Model` of llama.cpp's converter.
#[test]
fn sections_of_glm_rotate_halves_of_the_rotated_components() {
    let keys = json!({
        "head_dim": 8,
        "rope_parameters": {"mrope_section": [1, 1], "partial_rotary_factor": 0.5},
    });
    let (config, mut tensors) = llama_as("Glm4vForConditionalGeneration", &keys);
    let name = |end: &str| format!("model.language_model.layers.0.self_attn.{end}");
    tensors.retain(|name, _| !name.contains("self_attn"));
    tensors.insert(name("q_proj.weight"), floats(&[16, 8], |index| (index / 8) as f32));
    tensors.insert(name("q_proj.bias"), floats(&[16], |index| index as f32));
    tensors.insert(name("k_proj.weight"), floats(&[8, 8], |index| (index / 8) as f32));
    let gguf = checkpoint::convert(&(config, tensors), WeightType::F32).expect("it is converted");
    assert_eq!(key(&gguf, "dimension_sections"), some(vec![1_i32, 1, 0, 0]));
    assert_eq!(key(&gguf, "dimension_count"), some(4_u32));
    let rows = [0, 2, 1, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12, 13, 14, 15].map(|row| row as f32);
    assert_eq!(values(&gguf, "blk.0.attn_q.bias"), rows);
    let first_of_rows = |name| values(&gguf, name).into_iter().step_by(8).collect::<Vec<_>>();
    assert_eq!(first_of_rows("blk.0.attn_q.weight"), rows);
    assert_eq!(first_of_rows("blk.0.attn_k.weight"), rows[..8]);
    for sections in [json!([4]), json!([0, 4, 4])] {
        let keys = json!({"rope_parameters": {"mrope_section": sections}});
        let message = convert("Glm4vForConditionalGeneration", keys).expect_err("unknown");
        assert!(message.to_string().contains("mrope_section"), "{message}");
    }
}

#[test]
fn scalings_that_the_family_does_not_have_are_errors() {
    for (scaling, part) in [
        (json!({"rope_type": "longrope", "factor": 4.0}), "found longrope"),
        (json!({"type": "su", "factor": 4.0}), "found su"),
        (json!({"rope_type": "proportional"}), "found proportional"),
        (json!({"rope_type": "xdrope", "alpha": 100.0}), "found xdrope"),
        (json!({"rope_type": "linear"}), "\"rope_parameters.factor\" is missing"),
        (json!({"rope_type": "yarn", "factor": 4.0, "truncate": false}), "truncate"),
    ] {
        let keys = json!({"rope_scaling": scaling});
        let message = convert("LlamaForCausalLM", keys).expect_err("unsupported").to_string();
        assert!(message.contains(part), "{message}");
    }
    let keys = json!({
        "head_dim": 4,
        "hidden_act": "gelu",
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
            "sliding_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0},
        },
    });
    let message = convert("Gemma3ForCausalLM", keys).expect_err("unsupported").to_string();
    assert!(message.contains("sliding window, found linear"), "{message}");
}
