//! Quantized weights whose tensors are missing or do not fit together are errors that name them.

use inferno_convert::{Conversion, ConvertOptions, WeightType};
use inferno_gguf::GgmlType;
use safetensors::Dtype;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{TensorData, Tensors, convert, floats, llama, write};

const MODULE: &str = "model.layers.0.mlp.down_proj";

fn integers(shape: &[usize], value: i32) -> TensorData {
    let len = shape.iter().product();
    (Dtype::I32, shape.to_vec(), value.to_le_bytes().repeat(len))
}

fn bytes(shape: &[usize], dtype: Dtype) -> TensorData {
    (dtype, shape.to_vec(), vec![0; shape.iter().product()])
}

/// The message of the error of the Llama model of the tests with other tensors in the place of one of its weights.
#[track_caller]
fn message(config: &Value, own: &[(&str, TensorData)]) -> String {
    let (mut model, mut tensors) = llama();
    model["quantization_config"] = config.clone();
    tensors.remove(&format!("{MODULE}.weight"));
    let own = own.iter().map(|(name, tensor)| (format!("{MODULE}.{name}"), tensor.clone()));
    tensors.extend(own.collect::<Tensors>());
    let folder = tempdir().expect("a folder");
    write(folder.path(), &model, &tensors);
    let options = ConvertOptions { weight_type: WeightType::F32, ..ConvertOptions::default() };
    Conversion::open(folder.path(), &options).expect_err("an error").to_string()
}

/// Checks that a change of valid tensors is an error with each of `parts`.
#[track_caller]
fn check(
    config: &Value,
    valid: &[(&str, TensorData)],
    change: (&str, Option<TensorData>),
    parts: &[&str],
) {
    let (name, changed) = change;
    let mut own: Vec<_> = valid.iter().filter(|(other, _)| *other != name).cloned().collect();
    own.extend(changed.map(|tensor| (name, tensor)));
    let message = message(config, &own);
    for part in parts {
        assert!(message.contains(part), "{message:?} does not contain {part:?}");
    }
}

#[test]
fn awq() {
    let config = json!({"quant_method": "awq", "bits": 4, "group_size": 8, "version": "gemm"});
    let valid = [
        ("qweight", integers(&[16, 1], 7)),
        ("qzeros", integers(&[2, 1], 7)),
        ("scales", floats(&[2, 8], |_| 1.0)),
    ];
    let check = |change, parts: &[&str]| check(&config, &valid, change, parts);
    check(("scales", None), &["down_proj.scales is missing"]);
    check(
        ("scales", Some(floats(&[1, 8], |_| 1.0))),
        &["down_proj.scales of shape [2, 8]", "[1, 8]"],
    );
    check(("qzeros", Some(integers(&[2, 2], 0))), &["down_proj.qzeros of shape [2, 1]", "[2, 2]"]);
    check(("qweight", Some(bytes(&[16, 1], Dtype::I8))), &["qweight", "I8 instead of I32"]);
    check(("qweight", Some(integers(&[16], 0))), &["qweight of two dimensions", "[16]"]);
    for (key, value, part) in [
        ("group_size", json!(0), "group_size"),
        ("group_size", json!(5), "scales of shape [4, 8]"),
        ("bits", json!(8), "awq (8 bits)"),
        ("version", json!("gemv"), "awq (version gemv)"),
    ] {
        let mut config = config.clone();
        config[key] = value;
        let message = message(&config, &valid);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn gptq() {
    let config = json!({"quant_method": "gptq", "bits": 4, "group_size": 8, "desc_act": true});
    let valid = [
        ("qweight", integers(&[2, 8], 7)),
        ("qzeros", integers(&[2, 1], 7)),
        ("scales", floats(&[2, 8], |_| 1.0)),
        ("g_idx", integers(&[16], 1)),
    ];
    let check = |change, parts: &[&str]| check(&config, &valid, change, parts);
    for group in [2, -1] {
        let found = format!("found {group}");
        check(("g_idx", Some(integers(&[16], group))), &["g_idx with the numbers of 2", &found]);
    }
    check(("g_idx", Some(integers(&[40], 0))), &["40 inputs of", "2 words"]);
    check(("g_idx", Some(integers(&[0], 0))), &["0 inputs of", "2 words"]);
    check(("scales", Some(floats(&[0, 8], |_| 1.0))), &["scales", "0 groups"]);
    check(("scales", Some(floats(&[17, 8], |_| 1.0))), &["scales", "17 groups"]);
    check(("scales", Some(floats(&[2], |_| 1.0))), &["down_proj.scales of shape [2, 8]"]);
    check(("qzeros", Some(integers(&[1, 1], 0))), &["down_proj.qzeros of shape [2, 1]"]);
    check(("qweight", None), &["g_idx"]);
    // Without an order, the sizes of the configuration must be those of the module.
    let without = &valid[..3];
    for (key, value, part) in [
        ("group_size", json!(0), "group_size"),
        ("group_size", json!(4), "scales for groups of 4 of 16 inputs of 4 bits, found 2 groups"),
        ("bits", json!(8), "found 2 groups"),
        ("bits", json!(5), "2, 3, 4 or 8"),
        ("bits", json!(0), "2, 3, 4 or 8"),
        ("checkpoint_format", json!("marlin"), "gptq (marlin)"),
        ("is_marlin_format", json!(true), "gptq (marlin)"),
    ] {
        let mut config = config.clone();
        config[key] = value;
        if key == "bits" {
            config["group_size"] = json!(-1);
        }
        let message = message(&config, without);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn sizes_that_are_too_large_of_tensors_without_elements() {
    let empty = |shape: &[usize], dtype| (dtype, shape.to_vec(), Vec::new());
    for (method, name, dtype) in [
        ("awq", "qweight", Dtype::I32),
        ("gptq", "qweight", Dtype::I32),
        ("modelopt", "weight", Dtype::U8),
        ("fp8", "weight", Dtype::F8_E4M3),
    ] {
        let config = json!({"quant_method": method, "bits": 4, "group_size": 8});
        for shape in [[0, usize::MAX / 4], [usize::MAX / 4, 0]] {
            let own = [(name, empty(&shape, dtype)), ("weight_scale", floats(&[1], |_| 1.0))];
            let message = message(&config, &own);
            assert!(message.contains("has sizes that are too large"), "{message}");
        }
    }
}

#[test]
fn matrices_without_elements() {
    let config = json!({"quant_method": "fp8"});
    let (mut model, mut tensors) = llama();
    model["quantization_config"] = config;
    let name = format!("{MODULE}.weight");
    tensors.insert(name.clone(), bytes(&[8, 0], Dtype::F8_E4M3));
    tensors.insert(format!("{name}_scale"), floats(&[1], |_| 1.0));
    tensors.insert(format!("{name}_zero_point"), bytes(&[1], Dtype::F8_E4M3));
    let error = convert(&(model, tensors), WeightType::F32).expect_err("no elements");
    assert!(error.to_string().contains("blk.0.ffn_down.weight"), "{error}");
}

#[test]
fn bitsandbytes() {
    let config = json!({"quant_method": "bitsandbytes", "load_in_4bit": true});
    let state = |text: &str| (Dtype::U8, vec![text.len()], text.as_bytes().to_vec());
    let name = "weight.quant_state.bitsandbytes__nf4";
    let valid = [
        ("weight", bytes(&[32, 1], Dtype::U8)),
        ("weight.absmax", floats(&[1], |_| 1.0)),
        ("weight.quant_map", floats(&[16], |index| index as f32)),
        (name, state(r#"{"blocksize": 64, "shape": [8, 8]}"#)),
    ];
    let check = |change, parts: &[&str]| check(&config, &valid, change, parts);
    check(("weight", None), &["down_proj.weight is missing"]);
    check(("weight.absmax", None), &["down_proj.weight.absmax is missing"]);
    check(("weight.absmax", Some(floats(&[2], |_| 1.0))), &["absmax of 1 scales, found 2"]);
    check(("weight.absmax", Some(bytes(&[1], Dtype::U8))), &["absmax", "U8 instead of floats"]);
    check(("weight.quant_map", Some(floats(&[15], |_| 1.0))), &["quant_map of 16", "found 15"]);
    check(("weight", Some(bytes(&[31, 1], Dtype::U8))), &["[8, 8]", "31 bytes"]);
    for (text, part) in [
        ("{", "expected JSON in"),
        (r#"{"blocksize": 0, "shape": [8, 8]}"#, "blocksize of"),
        (r#"{"blocksize": 64, "shape": [-1, 8]}"#, "shape of"),
        (r#"{"blocksize": 64, "shape": [18446744073709551615, 8]}"#, "half as many bytes"),
    ] {
        check((name, Some(state(text))), &[part]);
    }
    let nested = [("weight.nested_absmax", floats(&[1], |_| 1.0))];
    let nested = [&valid[..1], &valid[2..], &nested, &[("weight.absmax", bytes(&[1], Dtype::U8))]];
    let message = message(&config, &nested.concat());
    assert!(message.contains("nested_offset of"), "{message}");
}

#[test]
fn floats_of_a_few_bits() {
    let config = json!({"quant_method": "modelopt", "quant_algo": "NVFP4"});
    let valid = [
        ("weight", bytes(&[8, 16], Dtype::U8)),
        ("weight_scale", bytes(&[8, 2], Dtype::F8_E4M3)),
        ("weight_scale_2", floats(&[], |_| 1.0)),
    ];
    let check = |change, parts: &[&str]| check(&config, &valid, change, parts);
    let expected =
        "scales of shape [8, 2] for model.layers.0.mlp.down_proj.weight of shape [8, 32]";
    check(("weight_scale", Some(bytes(&[8, 3], Dtype::F8_E4M3))), &[expected, "[8, 3]"]);
    check(("weight_scale", Some(bytes(&[8, 2], Dtype::I8))), &["weight_scale", "I8"]);
    check(("weight_scale_2", Some(floats(&[2], |_| 1.0))), &["weight_scale_2 of one number"]);
    check(("weight_scale_2", Some(floats(&[1], |_| 0.0))), &["weight_scale_2 that is finite", "0"]);
    check(("weight_scale_2", Some(bytes(&[1], Dtype::U8))), &["weight_scale_2", "U8"]);
    let mut config = config.clone();
    config["quant_algo"] = json!("W4A16_AWQ");
    let message = message(&config, &valid);
    assert!(message.contains("modelopt (W4A16_AWQ)"), "{message}");
}

#[test]
fn groups_of_compressed_tensors() {
    let weights = json!({"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": true});
    let config = json!({
        "quant_method": "compressed-tensors",
        "format": "int-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
    });
    let valid = [("weight", bytes(&[8, 8], Dtype::I8)), ("weight_scale", floats(&[8, 1], |_| 1.0))];
    let group = |key: &str, value: Value| {
        let mut config = config.clone();
        config["config_groups"]["group_0"][key] = value;
        config
    };
    let strategy = |key: &str, value: Value| {
        let mut weights = weights.clone();
        weights[key] = value;
        group("weights", weights)
    };
    let mut transformed = config.clone();
    transformed["transform_config"] = json!({"config_groups": {"R1": {}}});
    for (config, part) in [
        (group("targets", json!(["re:.*q_proj"])), "target for model.layers.0.mlp.down_proj"),
        (group("targets", json!(["re:("])), "expected a regular expression"),
        (group("format", json!("marlin-24")), "compressed-tensors (marlin-24)"),
        (strategy("strategy", json!("token")), "strategy \"token\""),
        (strategy("strategy", json!("block")), "block_structure"),
        (strategy("num_bits", json!(16)), "16 bits"),
        (transformed, "transforms of activations"),
    ] {
        let message = message(&config, &valid);
        assert!(message.contains(part), "{message}");
    }
    let check = |change, parts: &[&str]| check(&config, &valid, change, parts);
    check(("weight_scale", Some(floats(&[3, 1], |_| 1.0))), &["scales of shape [8, 1]", "[3, 1]"]);
    let zeros = ("weight_zero_point", Some(bytes(&[4, 1], Dtype::I8)));
    check(zeros, &["weight_zero_point with a number for each of the scales of shape [8, 1]"]);
    check(("weight", Some(floats(&[8, 8], |_| 1.0))), &["F32"]);
}

#[test]
fn scales_that_are_too_large_for_blocks() {
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = json!({"quant_method": "awq", "group_size": 32});
    tensors.remove(&format!("{MODULE}.weight"));
    let half = (Dtype::F16, vec![4, 8], vec![0; 64]);
    tensors.insert("model.embed_tokens.weight".to_owned(), half);
    for (name, tensor) in [
        ("qweight", integers(&[64, 1], 7)),
        ("scales", floats(&[2, 8], |index| if index == 15 { 65520.0 } else { 1.0 })),
    ] {
        tensors.insert(format!("{MODULE}.{name}"), tensor);
    }
    let gguf = convert(&(config, tensors), WeightType::Auto).expect("it is converted");
    let info = gguf.tensor("blk.0.ffn_down.weight").expect("the tensor exists");
    assert_eq!(info.ggml_type(), GgmlType::Q4_0);
    let _ = gguf.part(info, 0..18);
    gguf.check_payloads().expect("nothing else was read");
    let _ = gguf.data(info);
    let message = gguf.check_payloads().expect_err("a scale is too large").to_string();
    let expected = "tensor \"blk.0.ffn_down.weight\" has the value 65520.0, which is too large for Q4_0; convert to BF16 or F32";
    assert!(message.contains(expected), "{message}");
}
