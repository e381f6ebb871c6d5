//! The gating of mixtures whose `config.json` does not state it, and the layers that have experts.

use serde_json::{Value, json};

use crate::published::{check, convert, some};

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
