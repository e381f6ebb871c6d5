//! Prediction heads: layers after the last one that predict further tokens.

use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions};
use inferno_gguf::Gguf;
use safetensors::SafeTensors;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{Tensors, write};

const CHECKPOINT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/deepseek2-mtp");
/// The same model, whose head computes what `MtpLayer` of transformers computes (a test of inferno-model).
const EXPECTED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../inferno-model/tests/fixtures/heads/deepseek2-mtp.gguf"
);

/// Converts the checkpoint of DeepSeek V3 after a change.
fn convert(change: impl Fn(&mut Value, &mut Tensors)) -> Gguf {
    let read = |name: &str| fs::read(Path::new(CHECKPOINT).join(name)).expect("a fixture");
    let mut config = serde_json::from_slice(&read("config.json")).expect("valid JSON");
    let bytes = read("model.safetensors");
    let tensors = SafeTensors::deserialize(&bytes).expect("valid tensors");
    let tensors = tensors.iter().map(|(name, view)| {
        (name.to_owned(), (view.dtype(), view.shape().to_vec(), view.data().to_vec()))
    });
    let mut tensors = tensors.collect();
    change(&mut config, &mut tensors);
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    conversion.into_gguf().expect("a valid file")
}

#[test]
fn the_head_of_deepseek_v3_is_converted() {
    let converted = convert(|_, _| {});
    let expected = Gguf::open(EXPECTED).expect("a fixture");
    for tensor in expected.tensors() {
        let found = converted.tensor(tensor.name()).expect("the tensor exists");
        assert_eq!(found.dims(), tensor.dims(), "{tensor}");
        assert_eq!(found.ggml_type(), tensor.ggml_type(), "{tensor}");
        assert!(converted.data(found) == expected.data(tensor), "{tensor}");
    }
    for (repeated, original) in [
        ("blk.2.nextn.embed_tokens.weight", "token_embd.weight"),
        ("blk.2.nextn.shared_head_head.weight", "output.weight"),
    ] {
        let data = |name| converted.data(converted.tensor(name).expect("the tensor exists"));
        assert!(data(repeated) == data(original), "{repeated}");
    }
    assert_eq!(converted.tensors().len(), expected.tensors().len() + 2);
    let keys = expected.metadata().iter().filter(|(key, _)| key.starts_with("deepseek2."));
    for (key, value) in keys {
        assert_eq!(converted.metadata().get(key), Some(value), "{key}");
    }
}

#[test]
fn a_head_that_is_not_in_the_files_is_not_announced() {
    // transformers loads and saves DeepSeek V3 without its head, but with this key.
    let converted = convert(|config, tensors| {
        assert_eq!(config["num_nextn_predict_layers"], 1);
        tensors.retain(|name, _| !name.starts_with("model.layers.2."));
    });
    let count = |key: &str| converted.metadata().optional::<u32>(key).expect("a number");
    assert_eq!(count("deepseek2.block_count"), Some(2));
    assert_eq!(count("deepseek2.nextn_predict_layers"), None);
}

#[test]
fn layers_after_those_that_are_stated_are_left_out() {
    let converted = convert(|config, _| config["num_nextn_predict_layers"] = json!(0));
    let mut tensors = converted.tensors().iter();
    assert!(tensors.all(|tensor| !tensor.name().starts_with("blk.2.")));
}
