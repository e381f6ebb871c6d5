//! Text models of larger ones, and base models, whose files are those of a decoder without its head.

use inferno_convert::WeightType;
use inferno_gguf::Gguf;
use serde_json::{Value, json};

use crate::checkpoint::{self, Tensors, floats, llama};

fn architecture(gguf: &Gguf) -> &str {
    gguf.metadata().required("general.architecture").expect("a name")
}

/// The tensors with another beginning instead of `model.`.
fn renamed(tensors: Tensors, beginning: &str) -> Tensors {
    let renamed = tensors.into_iter().map(|(name, tensor)| {
        (format!("{beginning}{}", name.strip_prefix("model.").expect("it begins so")), tensor)
    });
    renamed.collect()
}

/// In published files, the keys of the text model are on top, and its tensors have the names of a decoder; transformers 5
/// saves both as parts.
#[test]
fn qwen_2_vl_is_converted_as_its_text_model() {
    for class in ["Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"] {
        let (mut text, tensors) = llama();
        text["rope_scaling"] = json!({"type": "mrope", "mrope_section": [1, 1, 0]});
        let mut published = text.clone();
        (published["architectures"], published["model_type"]) = (json!([class]), json!("qwen2_vl"));
        published["vision_config"] = json!({"hidden_size": 2});
        text["model_type"] = json!("qwen2_vl_text");
        let saved =
            json!({"architectures": [class], "model_type": "qwen2_vl", "text_config": text});
        for (config, beginning, vision) in
            [(published, "model.", "visual."), (saved, "model.language_model.", "model.visual.")]
        {
            let mut tensors = renamed(tensors.clone(), beginning);
            tensors.insert(format!("{vision}merger.ln_q.weight"), floats(&[2], |_| 0.0));
            let gguf = checkpoint::convert(&(config, tensors), WeightType::F32);
            let gguf = gguf.unwrap_or_else(|error| panic!("{class}: {error}"));
            assert_eq!(architecture(&gguf), "qwen2");
            assert_eq!(gguf.tensors().len(), 11);
            let base: f32 = gguf.metadata().required("qwen2.rope.freq_base").expect("a number");
            assert_eq!(base, 1e6);
        }
    }
}

#[test]
fn models_that_read_images_are_converted_as_their_text_models() {
    for (class, model_type, expected) in [
        ("Gemma4UnifiedForCausalLM", "gemma4_unified_text", "gemma4"),
        ("Glm4vMoeForConditionalGeneration", "glm4v_moe_text", "glm4moe"),
        ("GlmOcrForConditionalGeneration", "glm_ocr_text", "glm4"),
        ("Idefics3ForConditionalGeneration", "llama", "llama"),
        ("SmolVLMForConditionalGeneration", "llama", "llama"),
    ] {
        let (mut text, mut tensors) = llama();
        tensors.retain(|name, _| name.contains("embed_tokens"));
        text["architectures"] = json!(["VLlama3ForCausalLM"]);
        text["model_type"] = json!(model_type);
        if class.starts_with("Gemma4") {
            text.as_object_mut().expect("an object").extend(
                json!({
                    "global_head_dim": 4,
                    "head_dim": 4,
                    "hidden_activation": "gelu_pytorch_tanh",
                    "layer_types": ["full_attention"],
                    "num_kv_shared_layers": 0,
                    "rope_parameters": {
                        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5},
                    },
                    "sliding_window": 8,
                })
                .as_object()
                .cloned()
                .expect("an object"),
            );
        }
        let config = json!({"architectures": [class], "text_config": text});
        let gguf = checkpoint::convert(&(config, tensors), WeightType::F32);
        let gguf = gguf.unwrap_or_else(|error| panic!("{class}: {error}"));
        assert_eq!(architecture(&gguf), expected, "{class}");
    }
    let config = json!({
        "architectures": ["SmolVLMForConditionalGeneration"],
        "text_config": {"model_type": "phi"},
    });
    let message = checkpoint::convert(&(config, llama().1), WeightType::F32).expect_err("unknown");
    let message = message.to_string();
    assert!(message.contains("lfm2 or llama or mistral or qwen2 or qwen3, found phi"), "{message}");
}

#[test]
fn the_text_model_of_an_unknown_model_is_recognized_by_its_type() {
    let convert = |model_type: &str, keys: Value| {
        let (mut text, mut tensors) = llama();
        tensors.retain(|name, _| name.contains("embed_tokens"));
        text.as_object_mut().expect("an object").remove("architectures");
        text["model_type"] = json!(model_type);
        text.as_object_mut().expect("an object").extend(keys.as_object().cloned().unwrap());
        let config = json!({"architectures": ["NewVisionModel"], "text_config": text});
        checkpoint::convert(&(config, tensors), WeightType::Auto)
    };
    for (model_type, expected) in [
        ("lfm2", "lfm2"),
        ("llama", "llama"),
        ("mistral", "llama"),
        ("qwen2", "qwen2"),
        ("qwen3", "qwen3"),
    ] {
        let gguf = convert(model_type, json!({"conv_L_cache": 3})).expect("it is converted");
        let found: &str = gguf.metadata().required("general.architecture").expect("a name");
        assert_eq!(found, expected);
    }
    // What the configuration omits has the default of the class.
    let gguf = convert("mistral", json!({"num_key_value_heads": null})).expect("it is converted");
    let heads: u32 = gguf.metadata().required("llama.attention.head_count_kv").expect("a number");
    assert_eq!(heads, 8);
    let message = convert("gemma2", json!({})).expect_err("unknown").to_string();
    assert!(message.contains("architecture NewVisionModel is not supported"), "{message}");
}

#[test]
fn base_models_are_converted_like_those_with_a_head() {
    for (class, expected) in [
        ("GemmaModel", "gemma"),
        ("Gemma2Model", "gemma2"),
        ("LlamaModel", "llama"),
        ("MistralModel", "llama"),
        ("Phi3Model", "phi3"),
        ("Qwen3Model", "qwen3"),
    ] {
        let (mut config, tensors) = llama();
        config["architectures"] = json!([class]);
        if class.starts_with("Gemma") {
            (config["head_dim"], config["hidden_act"]) = (json!(4), json!("gelu"));
            (config["sliding_window"], config["attn_logit_softcapping"]) = (json!(8), json!(50.0));
            config["final_logit_softcapping"] = json!(30.0);
        }
        let gguf = checkpoint::convert(&(config, renamed(tensors, "")), WeightType::F32);
        let gguf = gguf.unwrap_or_else(|error| panic!("{class}: {error}"));
        assert_eq!(architecture(&gguf), expected, "{class}");
        assert!(gguf.tensor("blk.0.attn_q.weight").is_some(), "{class}");
    }
}

/// transformers neither computes nor saves the layer of GLM-OCR that predicts further tokens.
#[test]
fn the_prediction_layer_of_glm_ocr_is_optional() {
    for has_layer in [true, false] {
        let (mut text, mut tensors) = llama();
        text["num_nextn_predict_layers"] = json!(1);
        tensors = renamed(tensors, "model.language_model.");
        if has_layer {
            let name = "model.language_model.layers.1.eh_proj.weight".to_owned();
            tensors.insert(name, floats(&[8, 16], |_| 1.0));
        }
        let config =
            json!({"architectures": ["GlmOcrForConditionalGeneration"], "text_config": text});
        let gguf = checkpoint::convert(&(config, tensors), WeightType::F32).expect("converted");
        let count = |key: &str| gguf.metadata().optional::<u32>(key).expect("a number");
        let predicted = has_layer.then_some(1);
        assert_eq!(count("glm4.nextn_predict_layers"), predicted);
        assert_eq!(count("glm4.block_count"), Some(1 + predicted.unwrap_or(0)));
        // All components of a head, unlike in GLM 4.
        assert_eq!(count("glm4.rope.dimension_count"), Some(4));
    }
}
