//! Quantized weights have the values that the original libraries compute. `compare/quantized.py` writes the fixtures.

use std::fs;
use std::path::Path;

use inferno_convert::WeightType;
use inferno_gguf::{GgmlType, Gguf};
use inferno_tensor::{DType, quant};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

use crate::checkpoint::{Tensors, convert, llama};

/// Module names of the fixtures as tensors of the result.
const DOWN: &str = "blk.0.ffn_down.weight";
const GATE: &str = "blk.0.ffn_gate.weight";
const UP: &str = "blk.0.ffn_up.weight";
const QUERY: &str = "blk.0.attn_q.weight";
const EXPERTS: &str = "blk.0.ffn_gate_exps.weight";

/// The largest error of a number in half precision, relative to it.
const HALF: f32 = 1.0 / 2048.0;

/// The largest error of three products in single precision.
const SINGLE: f32 = 3e-7;

/// The quantization of a fixture, its tensors, and the expected weights.
fn fixture(name: &str) -> (Value, Tensors, Tensors) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/quantized"));
    let bytes = fs::read(folder.join(format!("{name}.safetensors"))).expect("the fixture exists");
    let (_, metadata) = SafeTensors::read_metadata(&bytes).expect("a valid header");
    let metadata = metadata.metadata().as_ref().expect("metadata");
    let config = serde_json::from_str(&metadata["quantization_config"]).expect("valid JSON");
    let (mut tensors, mut expected) = (Tensors::new(), Tensors::new());
    for (name, view) in SafeTensors::deserialize(&bytes).expect("a valid file").iter() {
        let tensor = (view.dtype(), view.shape().to_vec(), view.data().to_vec());
        match name.strip_prefix("expected/") {
            Some(name) => expected.insert(name.to_owned(), tensor),
            None => tensors.insert(name.to_owned(), tensor),
        };
    }
    (config, tensors, expected)
}

/// The Llama model of the tests with other tensors for the weights of `expected`, and embeddings in half precision.
fn model(own: Tensors, expected: &Tensors) -> (Value, Tensors) {
    let (config, mut tensors) = llama();
    tensors.retain(|name, _| !expected.contains_key(name));
    let embeddings = (Dtype::F16, vec![4, 8], [0, 0x3c].repeat(32));
    tensors.insert("model.embed_tokens.weight".to_owned(), embeddings);
    tensors.extend(own);
    (config, tensors)
}

/// The values of a tensor, times its scales.
fn values(gguf: &Gguf, name: &str) -> Vec<f32> {
    let info = gguf.tensor(name).expect("the tensor exists");
    let dtype = DType::from_ggml_id(info.ggml_type().id()).expect("a known format");
    let mut values = vec![0.0; info.num_elements()];
    quant::decode_row(dtype, &gguf.data(info), &mut values).expect("valid data");
    let scales = name.replace(".weight", ".scale");
    if scales != name && gguf.tensor(&scales).is_some() {
        let scales = self::values(gguf, &scales);
        let len = values.len() / scales.len();
        for (values, scale) in values.chunks_mut(len).zip(scales) {
            values.iter_mut().for_each(|value| *value *= scale);
        }
    }
    values
}

#[track_caller]
fn assert_near(name: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found - expected).abs();
        assert!(
            difference <= tolerance * expected.abs(),
            "{name}, element {index}: {found} instead of {expected}"
        );
    }
}

/// Converts a fixture and compares all of its weights, in single precision and by default. `formats` are those of weights by
/// default, with the largest relative error.
#[track_caller]
fn check(name: &str, formats: &[(&str, GgmlType, f32)]) {
    let (config, own, expected) = fixture(name);
    let mut quantized = model(own, &expected);
    quantized.0["quantization_config"] = config;
    let original = model(expected.clone(), &expected);
    let [single, original] = [&quantized, &original]
        .map(|model| convert(model, WeightType::F32).expect("it is converted"));
    // The scale of 8-bit integers of bitsandbytes is rounded once more by the library.
    let tolerance = if name == "eight-bits" { SINGLE } else { 0.0 };
    let names: Vec<_> = single.tensors().iter().map(|info| info.name().to_owned()).collect();
    assert!(original.tensors().iter().map(|info| info.name()).eq(names.iter()), "{names:?}");
    for tensor in &names {
        let [found, expected] = [&single, &original].map(|gguf| values(gguf, tensor));
        assert_near(tensor, &found, &expected, tolerance);
    }
    let default = convert(&quantized, WeightType::Auto).expect("it is converted");
    for &(tensor, ggml_type, tolerance) in formats {
        let info = default.tensor(tensor).expect("the tensor exists");
        assert_eq!(info.ggml_type(), ggml_type, "{tensor}");
        assert_near(tensor, &values(&default, tensor), &values(&original, tensor), tolerance);
        let whole = default.data(info);
        let size = DType::from_ggml_id(ggml_type.id()).expect("a known format").block_bytes();
        for start in (0..whole.len()).step_by(3 * size) {
            let part = start..whole.len().min(start + 3 * size);
            assert_eq!(default.part(info, part.clone())[..], whole[part.clone()]);
            default.release_part(info, part);
        }
    }
}

#[test]
fn awq() {
    check("awq-groups", &[(DOWN, GgmlType::Q5_0, 0.0), (QUERY, GgmlType::Q5_0, 0.0)]);
    check("awq-experts", &[(EXPERTS, GgmlType::Q5_0, 0.0)]);
    // Groups are smaller than blocks.
    check("awq-small-groups", &[(DOWN, GgmlType::F16, HALF)]);
}

#[test]
fn gptq() {
    check("gptq-2-bits", &[(DOWN, GgmlType::Q4_0, 0.0)]);
    check("gptq-3-bits", &[(DOWN, GgmlType::Q4_0, 0.0)]);
    check("gptq-4-bits", &[(DOWN, GgmlType::Q5_0, 0.0)]);
    check("gptq-8-bits", &[(DOWN, GgmlType::F16, HALF)]);
    check("gptq-second-version", &[(DOWN, GgmlType::Q5_0, 0.0)]);
}

#[test]
fn gptq_with_zeros_in_the_middle_needs_no_further_bit() {
    check("gptq-symmetric", &[(DOWN, GgmlType::Q4_0, 0.0)]);
    check("gptq-symmetric-8-bits", &[(DOWN, GgmlType::Q8_0, 0.0)]);
}

#[test]
fn gptq_with_an_order_of_columns() {
    check("gptq-activation-order", &[(DOWN, GgmlType::F16, HALF)]);
    check("gptq-order-of-groups", &[(DOWN, GgmlType::Q5_0, 0.0)]);
}

#[test]
fn quantized_matrices_of_gpt_2_are_stored_as_those_of_linear_modules() {
    let (quantization, own, expected) = fixture("transposed-modules");
    let usual = json!({
        "architectures": ["GPT2LMHeadModel"],
        "layer_norm_epsilon": 1e-5,
        "model_type": "gpt2",
        "n_ctx": 8,
        "n_embd": 16,
        "n_head": 2,
        "n_layer": 1,
        "n_positions": 8,
        "vocab_size": 4,
    });
    let mut config = usual.clone();
    config["quantization_config"] = quantization;
    let mut tensors = own.clone();
    tensors.retain(|name, _| !name.ends_with(".SCB") && !name.ends_with(".weight_format"));
    tensors.extend(expected);
    let [found, expected] = [(config, own), (usual, tensors)]
        .map(|model| convert(&model, WeightType::F32).expect("it is converted"));
    for info in expected.tensors() {
        let name = info.name();
        assert_near(name, &values(&found, name), &values(&expected, name), SINGLE);
        assert_eq!(found.tensor(name).expect("the tensor exists").dims(), info.dims(), "{name}");
    }
}

#[test]
fn auto_round() {
    check("auto-round-plain", &[(DOWN, GgmlType::Q5_0, 0.0)]);
    check("auto-round-less-one", &[(DOWN, GgmlType::Q5_0, 0.0)]);
}

#[test]
fn packed_integers_of_compressed_tensors() {
    check("packed-symmetric", &[(DOWN, GgmlType::Q4_0, 0.0)]);
    check("packed-asymmetric", &[(DOWN, GgmlType::Q5_0, 0.0)]);
    check("packed-channels-of-8-bits", &[(DOWN, GgmlType::Q8_0, 0.0)]);
    check("packed-3-bits", &[(DOWN, GgmlType::F16, HALF)]);
}

#[test]
fn bytes_of_compressed_tensors() {
    for name in ["float-tensor", "float-channels", "float-blocks", "mxfp8", "int-asymmetric"] {
        check(name, &[(DOWN, GgmlType::F16, HALF)]);
    }
    check("int-channels", &[(DOWN, GgmlType::Q8_0, 0.0)]);
    // The scale of single precision is rounded.
    check("naive-tensor", &[(DOWN, GgmlType::Q8_0, HALF)]);
}

#[test]
fn four_bit_floats() {
    check("nvfp4", &[(DOWN, GgmlType::NVFP4, SINGLE), (QUERY, GgmlType::NVFP4, SINGLE)]);
    check("mxfp4", &[(DOWN, GgmlType::MXFP4, 0.0)]);
    // Rows of 48 are not whole blocks.
    check("modelopt-nvfp4", &[(DOWN, GgmlType::NVFP4, SINGLE), (QUERY, GgmlType::F16, HALF)]);
}

#[test]
fn quark() {
    check("quark", &[(DOWN, GgmlType::MXFP4, 0.0), (GATE, GgmlType::F16, HALF)]);
}

#[test]
fn groups_of_compressed_tensors_have_schemes_of_their_own() {
    check(
        "mixed-precision",
        &[(UP, GgmlType::Q4_0, 0.0), (DOWN, GgmlType::Q8_0, 0.0), (GATE, GgmlType::F16, HALF)],
    );
}

#[test]
fn bitsandbytes() {
    for name in ["nf4", "nf4-nested", "fp4"] {
        check(name, &[(DOWN, GgmlType::F16, HALF)]);
    }
    check("eight-bits", &[(DOWN, GgmlType::Q8_0, HALF)]);
}
