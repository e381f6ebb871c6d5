//! Logits of converted decoders are those of transformers. `compare/decoders.py` writes the fixtures.

#[allow(dead_code, reason = "shared with the tests of models")]
#[path = "../../../inferno-model/tests/model/support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inferno_backend::ReferenceBackend;
use inferno_convert::{Conversion, ConvertError, ConvertOptions, WeightType};
use inferno_gguf::{Gguf, GgufWriter, Metadata};
use inferno_model::Model;
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

fn path(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/decoders");
    Path::new(folder).join(format!("{name}.json"))
}

/// Converts a fixture after a change of its `config.json`.
fn convert(name: &str, change: impl Fn(&str) -> String) -> Result<Gguf, ConvertError> {
    let text = fs::read_to_string(path(name)).expect("the fixture exists");
    let fixture: Value = serde_json::from_str(&text).expect("valid JSON");
    let shapes = fixture["shapes"].as_object().expect("an object");
    let tensors: Tensors = shapes
        .iter()
        .enumerate()
        .map(|(number, (name, shape))| {
            let sizes = shape.as_array().expect("a shape").iter();
            let shape: Vec<usize> =
                sizes.map(|size| size.as_u64().expect("a size") as usize).collect();
            (name.clone(), floats(&shape, |index| weight(number, index)))
        })
        .collect();
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
fn biases_of_falcon_h1_have_no_factors_of_the_inputs_of_products() {
    check("falcon-h1-biases");
}

#[test]
fn gpt_2_has_feed_forward_blocks_of_another_size() {
    check("gpt2");
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
