//! Writing checkpoints for tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertError, ConvertOptions, WeightType};
use inferno_gguf::Gguf;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use serde_json::{Value, json};
use tempfile::tempdir;

/// The tensors of a file: name, type, shape and bytes.
/// The type, the shape and the bytes of a tensor.
pub(crate) type TensorData = (Dtype, Vec<usize>, Vec<u8>);

pub(crate) type Tensors = BTreeMap<String, TensorData>;

/// Single-precision numbers.
pub(crate) fn floats(shape: &[usize], values: impl Fn(usize) -> f32) -> TensorData {
    let len: usize = shape.iter().product();
    let bytes = (0..len).flat_map(|index| values(index).to_le_bytes()).collect();
    (Dtype::F32, shape.to_vec(), bytes)
}

/// A Llama model with one layer of size 8, two heads and four tokens.
pub(crate) fn llama() -> (Value, Tensors) {
    let config = json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "num_hidden_layers": 1,
        "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5,
        "vocab_size": 4,
    });
    let matrix = |rows: usize| floats(&[rows, 8], |index| index as f32 / 16.0);
    let vector = || floats(&[8], |index| index as f32);
    let layer = |name: &str| format!("model.layers.0.{name}.weight");
    let tensors = [
        ("model.embed_tokens.weight".to_owned(), matrix(4)),
        ("model.norm.weight".to_owned(), vector()),
        (layer("input_layernorm"), vector()),
        (layer("post_attention_layernorm"), vector()),
        (layer("self_attn.q_proj"), matrix(8)),
        (layer("self_attn.k_proj"), matrix(4)),
        (layer("self_attn.v_proj"), matrix(4)),
        (layer("self_attn.o_proj"), matrix(8)),
        (layer("mlp.gate_proj"), matrix(8)),
        (layer("mlp.up_proj"), matrix(8)),
        (layer("mlp.down_proj"), matrix(8)),
    ];
    (config, tensors.into_iter().collect())
}

/// The Llama model as one of another class, with further keys of its configuration.
pub(crate) fn llama_as(class: &str, keys: &Value) -> (Value, Tensors) {
    let (mut config, tensors) = llama();
    config["architectures"] = json!([class]);
    for (key, value) in keys.as_object().expect("an object") {
        config[key] = value.clone();
    }
    (config, tensors)
}

/// Converts a checkpoint.
pub(crate) fn convert(
    (config, tensors): &(Value, Tensors),
    weight_type: WeightType,
) -> Result<Gguf, ConvertError> {
    let folder = tempdir().expect("a folder");
    write(folder.path(), config, tensors);
    let options = ConvertOptions { weight_type, ..ConvertOptions::default() };
    Conversion::open(folder.path(), &options)?.into_gguf()
}

/// A byte-level tokenizer of four tokens.
pub(crate) fn tokenizer() -> Value {
    json!({
        "added_tokens": [{"id": 3, "content": "<|end|>", "special": true}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    })
}

/// Writes a file of tensors.
pub(crate) fn write_tensors(path: &Path, tensors: &Tensors) {
    let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
        (name, TensorView::new(*dtype, shape.clone(), bytes).expect("a valid tensor"))
    });
    let bytes = serialize(views, None).expect("the tensors are valid");
    fs::write(path, bytes).expect("the file is written");
}

/// Writes a checkpoint with the tokenizer of this module.
pub(crate) fn write(folder: &Path, config: &Value, tensors: &Tensors) {
    let write = |name: &str, value: &Value| {
        fs::write(folder.join(name), value.to_string()).expect("the file is written");
    };
    write("config.json", config);
    write("tokenizer.json", &tokenizer());
    write_tensors(&folder.join("model.safetensors"), tensors);
}
