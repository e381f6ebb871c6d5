//! The gating of mixtures whose `config.json` does not state it, and the layers that have experts.

use inferno_convert::WeightType;
use serde_json::{Value, json};

use crate::checkpoint::{self, llama_as};
use crate::published::{check, convert, some};

/// **Source**: the configuration classes of transformers 5.24, and `AfmoeTokenChoiceRouter`.
#[test]
fn weights_of_experts_are_normalized_and_scaled_by_the_defaults_of_the_class() {
    let latent = json!({
        "kv_lora_rank": 4,
        "qk_nope_head_dim": 4,
        "qk_rope_head_dim": 4,
        "v_head_dim": 4,
    });
    for (class, model_type, norm, scale) in [
        ("DeepseekV2ForCausalLM", "deepseek_v2", None, None),
        ("DeepseekV3ForCausalLM", "deepseek_v3", Some(true), Some(2.5_f32)),
        ("Glm4MoeForCausalLM", "glm4_moe", Some(true), None),
        ("Glm4MoeLiteForCausalLM", "glm4_moe_lite", Some(true), Some(1.8)),
        ("ExaoneMoeForCausalLM", "exaone_moe", Some(true), Some(2.5)),
        ("Mistral4ForCausalLM", "mistral4", Some(true), None),
        ("AfmoeForCausalLM", "afmoe", Some(true), None),
        ("Lfm2MoeForCausalLM", "lfm2_moe", None, None),
    ] {
        let open = |stated: Value| {
            let mut keys = latent.clone();
            for (key, value) in [
                ("conv_L_cache", json!(3)),
                ("model_type", json!(model_type)),
                ("moe_intermediate_size", json!(8)),
                ("mup_enabled", json!(true)),
                ("n_routed_experts", json!(4)),
                ("num_dense_layers", json!(0)),
                ("num_experts_per_tok", json!(2)),
                ("num_shared_experts", json!(1)),
            ] {
                keys[key] = value;
            }
            keys.as_object_mut().expect("an object").extend(stated.as_object().cloned().unwrap());
            let (config, mut tensors) = llama_as(class, &keys);
            tensors.retain(|name, _| name.contains("embed_tokens"));
            let gguf = checkpoint::convert(&(config, tensors), WeightType::Auto);
            gguf.unwrap_or_else(|error| panic!("{class}: {error}")).metadata().clone()
        };
        let (norm, scale) = (norm.and_then(some), scale.and_then(some));
        let found = open(json!({}));
        check(&found, &[("expert_weights_norm", norm), ("expert_weights_scale", scale)]);
        let stated = json!({"norm_topk_prob": false, "route_norm": false});
        let is_absent = class.starts_with("Deepseek") || class.starts_with("Glm4MoeLite");
        let norm = if is_absent || class.starts_with("Mistral4") { None } else { some(false) };
        check(&open(stated), &[("expert_weights_norm", norm)]);
        if class != "AfmoeForCausalLM" {
            let found = open(json!({"routed_scaling_factor": 1.5}));
            check(&found, &[("expert_weights_scale", some(1.5_f32))]);
        }
    }
}

/// **Source**: `Qwen3MoeDecoderLayer` of transformers.
#[test]
fn layers_of_qwen_without_experts_are_stated() {
    for (class, norm) in [("Qwen2MoeForCausalLM", false), ("Qwen3MoeForCausalLM", true)] {
        let convert = |layers: Value, step: Value| {
            let keys = json!({
                "decoder_sparse_step": step,
                "mlp_only_layers": layers,
                "norm_topk_prob": norm,
                "num_experts": 4,
                "num_experts_per_tok": 2,
            });
            checkpoint::convert(&llama_as(class, &keys), WeightType::Auto)
        };
        for (layers, step, dense, interval) in [
            (json!(null), json!(null), None, None),
            (json!([]), json!(1), None, None),
            (json!([1, 0]), json!(1), some(2_u32), None),
            (json!([]), json!(2), None, some(2_u32)),
        ] {
            let gguf = convert(layers, step).expect("it is converted");
            let expected =
                [("leading_dense_block_count", dense), ("interleave_moe_layer_step", interval)];
            check(gguf.metadata(), &expected);
        }
        let message = convert(json!([0, 2]), json!(1)).expect_err("unsupported").to_string();
        assert!(message.contains("\"mlp_only_layers\": expected the first layers"), "{message}");
    }
}

/// **Source**: `Qwen3NextSparseMoeBlock` of transformers.
#[test]
fn weights_of_experts_of_qwen3_next_are_normalized_unless_the_file_says_otherwise() {
    for (stated, expected) in
        [(Value::Null, None), (json!(true), None), (json!(false), some(false))]
    {
        let metadata = convert(&json!({
            "architectures": ["Qwen3NextForCausalLM"],
            "head_dim": 8,
            "hidden_size": 8,
            "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 4,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 2,
            "linear_value_head_dim": 4,
            "max_position_embeddings": 64,
            "norm_topk_prob": stated,
            "num_attention_heads": 2,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "num_hidden_layers": 4,
            "vocab_size": 4,
        }));
        check(&metadata, &[("expert_weights_norm", expected)]);
    }
}

/// As transformers 5 saves the model.
#[test]
fn leading_dense_layers_are_counted_in_a_list_of_kinds() {
    let config = |kinds: Value| {
        json!({
            "architectures": ["Glm4MoeLiteForCausalLM"],
            "hidden_size": 8,
            "intermediate_size": 8,
            "max_position_embeddings": 64,
            "mlp_layer_types": kinds,
            "n_routed_experts": 4,
            "num_attention_heads": 2,
            "num_hidden_layers": 3,
            "qk_nope_head_dim": 4,
            "qk_rope_head_dim": 4,
            "v_head_dim": 4,
            "vocab_size": 4,
        })
    };
    for (kinds, expected) in [
        (json!(["dense", "dense", "sparse"]), 2_u32),
        (json!(vec!["sparse"; 3]), 0),
        (Value::Null, 1),
    ] {
        check(&convert(&config(kinds)), &[("leading_dense_block_count", some(expected))]);
    }
}

#[test]
fn deepseek_v3_has_sigmoid_gating_and_deepseek_v2_softmax() {
    let config = |class: &str| {
        json!({
            "architectures": [class],
            "first_k_dense_replace": 3,
            "hidden_size": 7168,
            "intermediate_size": 18432,
            "kv_lora_rank": 512,
            "max_position_embeddings": 163840,
            "moe_intermediate_size": 2048,
            "n_routed_experts": 256,
            "num_attention_heads": 128,
            "num_experts_per_tok": 8,
            "num_hidden_layers": 61,
            "q_lora_rank": 1536,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rms_norm_eps": 1e-6,
            "v_head_dim": 128,
            "vocab_size": 129280,
        })
    };
    check(&convert(&config("DeepseekV3ForCausalLM")), &[("expert_gating_func", some(2_u32))]);
    check(&convert(&config("DeepseekV2ForCausalLM")), &[("expert_gating_func", None)]);
    let mut stated = config("DeepseekV3ForCausalLM");
    stated["scoring_func"] = json!("softmax");
    check(&convert(&stated), &[("expert_gating_func", some(1_u32))]);
}

#[test]
fn dots_llm1_names_the_selection_of_experts_instead_of_the_gating() {
    let mut config = json!({
        "architectures": ["Dots1ForCausalLM"],
        "first_k_dense_replace": 1,
        "hidden_act": "silu",
        "hidden_size": 4096,
        "intermediate_size": 10944,
        "max_position_embeddings": 32768,
        "model_type": "dots1",
        "moe_intermediate_size": 1408,
        "n_group": 1,
        "n_routed_experts": 128,
        "n_shared_experts": 2,
        "norm_topk_prob": true,
        "num_attention_heads": 32,
        "num_experts_per_tok": 6,
        "num_hidden_layers": 62,
        "num_key_value_heads": 32,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000000,
        "routed_scaling_factor": 2.5,
        "scoring_func": "noaux_tc",
        "topk_group": 1,
        "topk_method": "noaux_tc",
        "vocab_size": 152064,
    });
    check(&convert(&config), &[("expert_gating_func", some(2_u32))]);
    config.as_object_mut().expect("an object").remove("scoring_func");
    check(&convert(&config), &[("expert_gating_func", some(2_u32))]);
}
