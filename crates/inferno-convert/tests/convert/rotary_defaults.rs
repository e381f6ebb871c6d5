//! What follows from a configuration without stating it: contexts of scaled positions, and bases by the class.

use inferno_convert::WeightType;
use serde_json::{Value, json};

use crate::checkpoint::{self, llama_as};
use crate::published::{self, check, some};
use crate::rotary::{convert, key, llama3};

/// The length of contexts that scaled positions are made for.
///
/// **Source**: model cards of Qwen3 (131072 tokens), `config.json` of Vicuna 1.5 16k, DeepSeek Coder and Gemma 3, and `LlamaConfig` of
/// transformers 4, by which linear scaling does not change `max_position_embeddings`.
#[test]
fn scaled_positions_extend_the_context() {
    let yarn = |factor: f64, original: usize| json!({"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original});
    let linear = json!({"type": "linear", "factor": 4.0});
    for (class, stated, scaling, expected) in [
        ("Qwen3ForCausalLM", 40_960, yarn(4.0, 32_768), 131_072_u32),
        // Already extended.
        ("DeepseekV3ForCausalLM", 163_840, yarn(40.0, 4096), 163_840),
        ("LlamaForCausalLM", 16_384, linear.clone(), 16_384),
        ("LlamaForCausalLM", 65_536, yarn(20.0, 4096), 65_536),
        ("Qwen2ForCausalLM", 32_768, json!({"type": "yarn", "factor": 4.0}), 131_072),
        ("LlamaForCausalLM", 4096, linear.clone(), 16_384),
        ("GPTNeoXForCausalLM", 2048, linear.clone(), 8192),
        ("NemotronForCausalLM", 2048, json!({"factor": 2.0}), 4096),
        ("Gemma3ForCausalLM", 131_072, json!({"rope_type": "linear", "factor": 8.0}), 131_072),
        ("LlamaForCausalLM", 131_072, llama3("llama3"), 131_072),
        ("LlamaForCausalLM", 4096, json!({"type": "dynamic", "factor": 4.0}), 4096),
    ] {
        let mut config = json!({
            "architectures": [class],
            "head_dim": 4,
            "hidden_size": 8,
            "intermediate_size": 8,
            "kv_lora_rank": 4,
            "layer_norm_eps": 1e-5,
            "max_position_embeddings": stated,
            "num_attention_heads": 2,
            "num_hidden_layers": 1,
            "qk_nope_head_dim": 4,
            "qk_rope_head_dim": 4,
            "rope_scaling": scaling,
            "rms_norm_eps": 1e-5,
            "v_head_dim": 4,
            "vocab_size": 4,
        });
        if class == "GPTNeoXForCausalLM" {
            config["rotary_pct"] = json!(1.0);
        }
        check(&published::convert(&config), &[("context_length", some(expected))]);
    }
}

/// **Source**: `default_theta` of the configuration classes of transformers 5.24, and their `rope_parameters`.
#[test]
fn bases_that_a_file_omits_are_those_of_its_class() {
    let keys = json!({
        "conv_L_cache": 3,
        "interleave_moe_layer_step": 1,
        "intermediate_size_mlp": 8,
        "logit_scale": 0.5,
        "moe_k": 2,
        "moe_layer_interval": 1,
        "moe_layer_start_index": 1,
        "moe_num_experts": 4,
        "num_dense_layers": 1,
        "moe_intermediate_size": 8,
        "sliding_window": 16,
    });
    for (class, expected) in [
        ("LlamaForCausalLM", 1e4_f32),
        ("MixtralForCausalLM", 1e6),
        ("SmolLM3ForCausalLM", 2e6),
        ("Llama4ForCausalLM", 5e5),
        ("Lfm2ForCausalLM", 1e6),
        ("Lfm2MoeForCausalLM", 1e6),
        ("Ernie4_5ForCausalLM", 5e5),
        ("Ernie4_5_MoeForCausalLM", 5e5),
        ("CohereForCausalLM", 5e5),
        ("GptOssForCausalLM", 1.5e5),
        ("MiniMaxM2ForCausalLM", 5e6),
        ("Olmo3ForCausalLM", 5e5),
        ("Qwen2VLForConditionalGeneration", 1e6),
        ("Qwen3VLForConditionalGeneration", 5e5),
    ] {
        let open = |keys: &Value| {
            let (config, mut tensors) = llama_as(class, keys);
            tensors.retain(|name, _| name.contains("embed_tokens"));
            let gguf = checkpoint::convert(&(config, tensors), WeightType::Auto);
            gguf.unwrap_or_else(|error| panic!("{class}: {error}"))
        };
        let base = |keys: &Value| key(&open(keys), "freq_base");
        assert_eq!(base(&keys), some(expected), "{class}");
        let mut stated = keys.clone();
        stated["rope_theta"] = json!(2e4);
        assert_eq!(base(&stated), some(2e4_f32), "{class}");
        stated["rope_parameters"] = json!({"rope_type": "default", "rope_theta": 3e4});
        assert_eq!(base(&stated), some(3e4_f32), "{class}");
    }
    let found = convert("GptOssForCausalLM", json!({"sliding_window": 16})).expect("converted");
    assert_eq!(key(&found, "scaling.factor"), some(32.0_f32));
    assert_eq!(key(&found, "scaling.yarn_truncate"), some(false));
    // The name of the scaling in older files.
    let scaling = json!({"type": "linear", "factor": 2.0});
    let keys = json!({"rope_scaling": scaling, "sliding_window": 16});
    let found = convert("GptOssForCausalLM", keys).expect("it is converted");
    assert_eq!(key(&found, "scaling.factor"), some(2.0_f32));
}

/// **Source**: `Gemma3TextConfig` and `Olmo3Config` of transformers.
#[test]
fn bases_that_kinds_of_layers_omit_are_those_of_the_class() {
    let kinds = json!({
        "full_attention": {"rope_type": "default"},
        "sliding_attention": {"rope_type": "default"},
    });
    for (class, full, windowed) in
        [("Gemma3ForCausalLM", 1e6_f32, 1e4_f32), ("Olmo3ForCausalLM", 5e5, 5e5)]
    {
        let keys = json!({"head_dim": 4, "rope_parameters": kinds, "sliding_window": 16});
        let (mut config, tensors) = llama_as(class, &keys);
        config["hidden_act"] = json!(if class.starts_with("Gemma") { "gelu" } else { "silu" });
        let gguf = checkpoint::convert(&(config, tensors), WeightType::Auto).expect("converted");
        assert_eq!(key(&gguf, "freq_base"), some(full), "{class}");
        assert_eq!(key(&gguf, "freq_base_swa"), some(windowed), "{class}");
    }
}
