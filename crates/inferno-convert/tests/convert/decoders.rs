//! Logits of converted decoders are those of transformers. `compare/decoders.py` writes the fixtures.

#[allow(dead_code, reason = "shared with the tests of models")]
#[path = "../../../inferno-model/tests/model/support/mod.rs"]
pub mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inferno_backend::ReferenceBackend;
use inferno_convert::{Conversion, ConvertError, ConvertOptions, WeightType};
use inferno_gguf::{Gguf, GgufWriter, Metadata};
use inferno_model::{Model, ModelSpec};
use serde_json::{Value, json};
use tempfile::tempdir;

use self::support::{Feed, ReferenceLogits, logits};
use crate::checkpoint::{Tensors, floats, llama, tokenizer, write, write_tensors};

/// Norm of the difference relative to that of the logits.
const MAX_RELATIVE_ERROR: f64 = 1e-4;

/// The weights of the tensor with this number, in the order of names; those of `compare/decoders.py`.
fn weight(number: usize, index: usize) -> f32 {
    let hashed = ((index + 7919 * (number + 1)) as u32).wrapping_mul(2_654_435_761);
    let hashed = (hashed ^ hashed >> 15).wrapping_mul(2_246_822_519);
    let hashed = hashed ^ hashed >> 13;
    (hashed >> 8) as f32 / (1 << 24) as f32 - 0.5
}

pub fn path(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/decoders");
    Path::new(folder).join(format!("{name}.json"))
}

/// Converts a fixture after a change of its `config.json`.
pub fn convert(name: &str, change: impl Fn(&str) -> String) -> Result<Gguf, ConvertError> {
    convert_with(name, change, |_| ())
}

/// Converts a fixture after a change of its `config.json` and one of its tensors.
fn convert_with(
    name: &str,
    change: impl Fn(&str) -> String,
    change_tensors: impl Fn(&mut Tensors),
) -> Result<Gguf, ConvertError> {
    let text = fs::read_to_string(path(name)).expect("the fixture exists");
    let fixture: Value = serde_json::from_str(&text).expect("valid JSON");
    let shapes = fixture["shapes"].as_object().expect("an object");
    let mut tensors: Tensors = shapes
        .iter()
        .enumerate()
        .map(|(number, (name, shape))| {
            let sizes = shape.as_array().expect("a shape").iter();
            let shape: Vec<usize> =
                sizes.map(|size| size.as_u64().expect("a size") as usize).collect();
            (name.clone(), floats(&shape, |index| weight(number, index)))
        })
        .collect();
    change_tensors(&mut tensors);
    let folder = tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("the file is written");
    };
    write("config.json", &change(fixture["config"].as_str().expect("a text")));
    write("tokenizer.json", &tokenizer().to_string());
    write_tensors(&folder.path().join("model.safetensors"), &tensors);
    let options = ConvertOptions { weight_type: WeightType::F32, ..ConvertOptions::default() };
    Conversion::open(folder.path(), &options)?.into_gguf()
}

/// Converts a fixture and compares the logits.
#[track_caller]
fn check(name: &str) -> Gguf {
    let gguf = convert(name, str::to_owned).expect("it is converted");
    check_logits(name, &gguf);
    gguf
}

#[track_caller]
fn check_logits(name: &str, gguf: &Gguf) {
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load(gguf, backend, None, &mut |_| ()).expect("a model");
    let reference = ReferenceLogits::read(&path(name));
    let found = logits(&model, &reference.tokens, Feed::Chunks(7)).concat();
    let expected = reference.logits.concat();
    assert_eq!(found.len(), expected.len());
    let norm = |values: &mut dyn Iterator<Item = f32>| {
        values.map(|value| f64::from(value).powi(2)).sum::<f64>().sqrt()
    };
    let difference = norm(&mut found.iter().zip(&expected).map(|(a, b)| a - b));
    let error = difference / norm(&mut expected.iter().copied());
    assert!(error < MAX_RELATIVE_ERROR, "relative error {error:.2e}");
}

/// The same tensors with a change of the metadata.
fn with_metadata(gguf: &Gguf, change: impl FnOnce(&mut Metadata)) -> Gguf {
    let mut metadata = gguf.metadata().clone();
    change(&mut metadata);
    let mut writer = GgufWriter::new(&metadata).expect("valid metadata");
    for info in gguf.tensors() {
        writer.add_tensor(info.name(), info.dims(), info.ggml_type()).expect("a valid tensor");
    }
    let mut payloads = writer.in_memory();
    for info in gguf.tensors() {
        payloads.write_tensor(info.name(), &gguf.data(info)).expect("the same payload");
    }
    Gguf::from_bytes(payloads.finish().expect("all payloads")).expect("a valid file")
}

#[test]
fn the_rotary_base_of_gpt_neox_is_that_of_its_file() {
    check("gpt-neox");
}

#[test]
fn the_rotary_base_and_the_context_of_falcon_are_those_of_its_file() {
    let gguf = check("falcon");
    assert_eq!(gguf.metadata().get("falcon.context_length"), Some(&8192_u32.into()));
}

#[test]
fn the_rotary_base_of_stablelm_is_that_of_its_file_and_blocks_are_not_parallel_by_default() {
    let gguf = check("stablelm");
    // By llama.cpp's converter, which sets the key if config.json does not have it.
    let other = with_metadata(&gguf, |metadata| {
        metadata.insert("stablelm.use_parallel_residual", true);
    });
    check_logits("stablelm", &other);
}

#[test]
fn the_rotary_base_of_phi_2_is_that_of_its_file() {
    check("phi");
}

#[test]
fn mistral_has_a_sliding_window() {
    check("mistral");
}

#[test]
fn starcoder_2_has_a_sliding_window() {
    check("starcoder2");
}

#[test]
fn tied_embeddings_and_the_head_of_falcon_h1_have_factors_of_their_own() {
    check("falcon-h1-tied");
    let usual = "\"mamba_rms_norm\": false, \"mamba_norm_before_gate\": false";
    let setting = "\"mamba_norm_before_gate\": true, \"mamba_rms_norm\": true";
    check_rejected("falcon-h1-tied", usual, setting);
}

#[test]
fn the_scale_of_scores_and_the_layers_with_a_window_of_gemma_are_those_of_its_file() {
    for name in ["gemma2", "gemma3"] {
        let gguf = check(name);
        let has = |key: &str| gguf.metadata().get(&format!("{name}.attention.{key}")).is_some();
        assert!(has("scale") && has("sliding_window_pattern"), "{name}");
    }
}

#[test]
fn a_head_of_gemma_that_is_not_its_embeddings_is_used() {
    check("gemma-untied");
}

#[test]
fn tokens_beyond_the_table_of_gemma_3n_have_the_embeddings_of_the_first_one() {
    let gguf = check("gemma3n");
    let dims = gguf.tensor("per_layer_token_embd.weight").map(|info| info.dims().to_vec());
    assert_eq!(dims, Some(vec![32, 24]));
    check_rejected("gemma3n", "\"laurel_rank\": 4", "\"altup_correct_scale\": false");
}

#[test]
fn the_rotated_part_of_a_head_follows_from_its_size() {
    check("nemotron");
    check("cohere2");
}

#[test]
fn the_activation_of_bitnet_is_that_of_its_file() {
    check("bitnet");
}

#[test]
fn the_factors_of_minicpm_3_are_those_of_its_file() {
    check("minicpm3");
}

#[test]
fn layers_of_granite_have_windows_and_no_rotary_embedding_as_its_file_lists() {
    check("granite-swa");
    check_rejected(
        "granite-swa",
        "\"layer_rope_theta\": [0, 5000.0",
        "\"layer_rope_theta\": [7, 5000.0",
    );
}

#[test]
fn vaultgemma_is_gemma_2_without_norms_of_outputs() {
    check("vaultgemma");
}

#[test]
fn distances_lower_the_scores_of_bloom_and_mpt() {
    check("bloom");
    check("mpt");
    for setting in [
        "\"prefix_lm\": true",
        "\"softmax_scale\": 0.5",
        "\"rope\": true",
        "\"sliding_window_size\": 16",
    ] {
        let change = |config: &str| config.replacen("\"clip_qkv\": 0.5", setting, 1);
        let message = convert("mpt", change).expect_err("an unsupported value").to_string();
        assert!(message.contains("attn_config."), "{message}");
    }
    check_rejected("mpt", "\"d_model\": 48", "\"norm_type\": \"rmsnorm\", \"d_model\": 48");
}

#[test]
fn neighboring_components_of_gpt_j_are_rotated() {
    check("gptj");
}

#[test]
fn biases_of_falcon_h1_have_no_factors_of_the_inputs_of_products() {
    check("falcon-h1-biases");
}

#[test]
fn classes_that_rotate_neighbors_are_converted() {
    for name in ["glm", "helium", "olmo"] {
        check(name);
    }
}

#[test]
fn layers_of_cwm_and_ministral_have_a_window_or_none() {
    check("cwm");
    check("ministral");
}

#[test]
fn jais_2_has_biases_everywhere() {
    check("jais2");
}

#[test]
fn text_models_of_models_that_read_images_are_converted() {
    for name in [
        "aya-vision",
        "cohere2-vision",
        "internvl",
        "lfm2-vl",
        "llava-next",
        "llava-onevision",
        "ovis2",
        "qwen2-5-omni",
    ] {
        check(name);
    }
}

/// The reference computes an equivalent model of transformers.
#[test]
fn classes_outside_transformers_are_converted() {
    for name in ["minicpm", "internlm2", "chatglm", "exaone"] {
        check(name);
    }
}

#[test]
fn gpt_2_has_feed_forward_blocks_of_another_size() {
    check("gpt2");
}

#[test]
fn kimi_linear_has_delta_nets_and_latent_attention_without_rotary_embedding() {
    let gguf = check("kimi-linear");
    let dims = gguf.tensor("blk.0.ssm_conv1d_q.weight").map(|info| info.dims().to_vec());
    assert_eq!(dims, Some(vec![4, 1, 24, 1]));
    check_rejected("kimi-linear", "\"mla_use_nope\": true", "\"mla_use_nope\": false");
    let other_heads = |config: &str| config.replacen("\"num_heads\": 4", "\"num_heads\": 2", 1);
    let message = convert("kimi-linear", other_heads).expect_err("another number of heads");
    assert!(message.to_string().contains("linear_num_heads"), "{message}");
}

#[test]
fn kimi_linear_is_the_same_model_in_the_form_of_transformers_5() {
    let lists = "\"linear_attn_config\": {\"full_attn_layers\": [2], \"head_dim\": 6, \"kda_layers\": [1, 3], \
                 \"num_heads\": 4, \"short_conv_kernel_size\": 4}";
    let types = "\"layer_types\": [\"linear_attention\", \"full_attention\", \"linear_attention\"], \
                 \"mlp_layer_types\": [\"dense\", \"sparse\", \"sparse\"], \"linear_head_dim\": 6, \
                 \"linear_num_heads\": 4, \"linear_conv_kernel_dim\": 4";
    let gguf = convert("kimi-linear", |config| {
        assert!(config.contains(lists), "{config}");
        config.replacen(lists, types, 1).replacen("\"first_k_dense_replace\": 1, ", "", 1)
    });
    check_logits("kimi-linear", &gguf.expect("it is converted"));
}

/// Checks that a setting, in the place of another one, is an error that names its key.
#[track_caller]
fn check_rejected(name: &str, usual: &str, setting: &str) {
    let change = |config: &str| config.replacen(usual, setting, 1);
    let message = convert(name, change).expect_err("an unsupported value").to_string();
    let key = setting.split(':').next().unwrap_or_default();
    assert!(message.contains(key), "{message:?} does not contain {key}");
}

#[test]
fn other_scales_of_scores_of_gpt_2_are_rejected() {
    let usual = "\"n_inner\": 48";
    check_rejected("gpt2", usual, "\"scale_attn_weights\": false");
    check_rejected("gpt2", usual, "\"scale_attn_by_inverse_layer_idx\": true");
}

#[test]
fn biases_by_distance_of_falcon_are_rejected() {
    check_rejected("falcon", "\"alibi\": false", "\"alibi\": true");
}

#[test]
fn bamba_rotates_half_of_each_head() {
    check("bamba");
}

#[test]
fn the_window_of_mistral_has_the_default_of_its_class() {
    let (mut config, tensors) = llama();
    let mut window = |model_type: &str, window: Option<Value>| {
        config["model_type"] = json!(model_type);
        config.as_object_mut().unwrap().remove("sliding_window");
        if let Some(window) = window {
            config["sliding_window"] = window;
        }
        let folder = tempdir().expect("a folder");
        write(folder.path(), &config, &tensors);
        let conversion = Conversion::open(folder.path(), &ConvertOptions::default());
        let gguf = conversion.expect("it is converted").into_gguf().expect("a valid file");
        gguf.metadata().optional::<u32>("llama.attention.sliding_window").unwrap()
    };
    assert_eq!(window("mistral", None), Some(4096));
    assert_eq!(window("mistral", Some(Value::Null)), None);
    assert_eq!(window("mistral", Some(json!(16))), Some(16));
    assert_eq!(window("mixtral", None), None);
    assert_eq!(window("llama", Some(json!(16))), None);
}

#[test]
fn mixtures_of_experts_have_the_logits_of_transformers() {
    for name in [
        "phimoe",
        "mellum",
        "hy-v3",
        "mimo-v2",
        "dbrx",
        "laguna",
        "cohere2-moe",
        "solar-open",
        "flex-olmo",
    ] {
        println!("{name}");
        check(name);
    }
}

#[test]
fn text_models_of_larger_ones_have_the_logits_of_transformers() {
    for name in ["glm46v", "qwen3-omni"] {
        println!("{name}");
        check(name);
    }
}

/// Adds copies of the tensors of layer `from`, in `model.layers.`, under another prefix.
fn copy_layer(tensors: &mut Tensors, from: usize, to: &str) {
    let prefix = format!("model.layers.{from}.");
    let copies = tensors.iter().filter_map(|(name, tensor)| {
        Some((format!("{to}{}", name.strip_prefix(&prefix)?), tensor.clone()))
    });
    let copies: Vec<_> = copies.collect();
    assert!(!copies.is_empty());
    tensors.extend(copies);
}

#[test]
fn the_prediction_head_of_hy3_is_converted() {
    let head = |tensors: &mut Tensors| {
        copy_layer(tensors, 1, "model.layers.3.");
        let size = tensors["model.norm.weight"].1[0];
        for norm in ["enorm", "hnorm", "final_layernorm"] {
            let name = format!("model.layers.3.{norm}.weight");
            tensors.insert(name, floats(&[size], |index| weight(0, index)));
        }
        let projection = floats(&[size, 2 * size], |index| weight(1, index));
        tensors.insert("model.layers.3.eh_proj.weight".to_owned(), projection);
    };
    let change = |config: &str| config.replacen('{', "{\"num_nextn_predict_layers\": 1, ", 1);
    let gguf = convert_with("hy-v3", change, head).expect("it is converted");
    check_logits("hy-v3", &gguf);
    ModelSpec::prediction_head(&gguf).expect("a valid head").expect("a head");
    assert!(gguf.tensor("blk.3.nextn.shared_head_norm.weight").is_some());
}

#[test]
fn the_prediction_head_of_mellum_is_left_out() {
    let head = |tensors: &mut Tensors| copy_layer(tensors, 1, "mtp.layers.0.");
    let gguf = convert_with("mellum", str::to_owned, head).expect("it is converted");
    check_logits("mellum", &gguf);
}

/// **Source**: `MellumConfig` of transformers.
#[test]
fn layers_of_mellum_have_no_window_unless_they_are_listed() {
    let gguf = convert("mellum", |config| {
        let mut config: Value = serde_json::from_str(config).expect("valid JSON");
        let keys = config.as_object_mut().expect("an object");
        keys.remove("layer_types");
        keys.remove("rope_parameters");
        config.to_string()
    });
    let gguf = gguf.expect("it is converted");
    let float = |key: &str| gguf.metadata().optional::<f32>(key).expect("a number");
    assert_eq!(float("mellum.rope.freq_base"), Some(500_000.0));
    assert!(!gguf.metadata().contains("mellum.attention.sliding_window"));
}

/// **Source**: `MiMoV2Attention` and `MiniCPM3Config` of transformers.
#[test]
fn factors_that_are_null_have_no_effect_and_missing_ones_have_their_default() {
    for (name, key, written, default) in [
        ("mimo-v2", "attention_value_scale", "mimo2.attention.value_scale", 0.707),
        ("minicpm3", "scale_depth", "minicpm3.residual_scale", 1.4 / 2.0_f64.sqrt()),
        ("minicpm3", "dim_model_base", "minicpm3.logit_scale", 32.0 / 256.0),
    ] {
        let factor = |value: Option<Value>| {
            let gguf = convert(name, |config| {
                let mut config: Value = serde_json::from_str(config).expect("valid JSON");
                let keys = config.as_object_mut().expect("an object");
                keys.remove(key);
                keys.extend(value.clone().map(|value| (key.to_owned(), value)));
                config.to_string()
            });
            let gguf = gguf.expect("it is converted");
            gguf.metadata().required::<f32>(written).expect("a number")
        };
        assert_eq!(factor(Some(Value::Null)), 1.0, "{key}");
        assert!((f64::from(factor(None)) - default).abs() < 1e-6, "{key}");
    }
}

#[test]
fn the_size_of_heads_of_phi_moe_is_that_of_its_file() {
    let change = |config: &str| {
        // The factors are those of heads of another size.
        config.replacen('{', "{\"head_dim\": 6, ", 1).replace("\"rope_scaling\"", "\"other\"")
    };
    let gguf = convert("phimoe", change).expect("it is converted");
    for key in ["attention.key_length", "attention.value_length", "rope.dimension_count"] {
        let size = gguf.metadata().required::<u32>(&format!("phimoe.{key}"));
        assert_eq!(size.expect("a size"), 6, "{key}");
    }
}
