//! Checkpoints whose weights are quantized.

use inferno_convert::{Conversion, ConvertError, ConvertOptions, WeightType};
use inferno_gguf::{GgmlType, Gguf};
use inferno_tensor::{DType, quant};
use safetensors::Dtype;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{TensorData, convert, floats, llama, write};

fn values(gguf: &Gguf, name: &str) -> Vec<f32> {
    let info = gguf.tensor(name).expect("the tensor exists");
    let dtype = DType::from_ggml_id(info.ggml_type().id()).expect("a known format");
    let mut values = vec![0.0; info.num_elements()];
    quant::decode_row(dtype, &gguf.data(info), &mut values).expect("valid data");
    values
}

#[test]
fn eight_bit_floats_are_multiplied_by_the_scale_of_their_block() {
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = json!({"quant_method": "fp8", "weight_block_size": [4, 3]});
    let name = "model.layers.0.mlp.down_proj.weight";
    // 1.0 in the first rows, 1.5 in the others; a sign in the last column.
    let code = |index: usize| {
        (if index < 32 { 0x38 } else { 0x3c }) | if index % 8 == 7 { 0x80 } else { 0 }
    };
    tensors.insert(name.to_owned(), (Dtype::F8_E4M3, vec![8, 8], (0..64).map(code).collect()));
    tensors
        .insert(format!("{name}_scale_inv"), floats(&[2, 3], |index| 2.0_f32.powi(index as i32)));
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    let gguf = conversion.into_gguf().expect("a valid file");
    let expected: Vec<f32> = (0..64)
        .map(|index| {
            let (row, col) = (index / 8, index % 8);
            let scale = 2.0_f32.powi(3 * (row / 4) + col / 3);
            let value = if row < 4 { 1.0 } else { 1.5 };
            if col == 7 { -value * scale } else { value * scale }
        })
        .collect();
    assert_eq!(values(&gguf, "blk.0.ffn_down.weight"), expected);
    assert!(gguf.tensors().iter().all(|info| !info.name().contains("scale")));
}

#[test]
fn eight_bit_floats_in_another_order_have_the_scales_of_their_place_in_the_file() {
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = json!({"quant_method": "fp8", "weight_block_size": [3, 5]});
    let name = "model.layers.0.self_attn.q_proj.weight";
    // Powers of two, whose exponents have four bits.
    let code = |index: usize| (index % 13 + 1) as u8 * 8;
    tensors.insert(name.to_owned(), (Dtype::F8_E4M3, vec![8, 8], (0..64).map(code).collect()));
    tensors
        .insert(format!("{name}_scale_inv"), floats(&[3, 2], |index| 3.0_f32.powi(index as i32)));
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    let gguf = conversion.into_gguf().expect("a valid file");
    // The rows of each of two heads are those of its first and second half in turn.
    let rows = [0, 2, 1, 3, 4, 6, 5, 7];
    let expected: Vec<f32> = rows
        .into_iter()
        .flat_map(|row| (0..8).map(move |col| (row, col)))
        .map(|(row, col)| {
            let scale = 3.0_f32.powi(2 * (row / 3) + col / 5);
            2.0_f32.powi((8 * row + col) % 13 + 1 - 7) * scale
        })
        .collect();
    assert_eq!(values(&gguf, "blk.0.attn_q.weight"), expected);
    let info = gguf.tensor("blk.0.attn_q.weight").expect("the tensor exists");
    let whole = gguf.data(info);
    for start in (0..whole.len()).step_by(12) {
        let part = start..whole.len().min(start + 12);
        assert_eq!(gguf.part(info, part.clone())[..], whole[part]);
    }
}

#[test]
fn scales_of_other_types_than_eight_bit_floats_are_an_error() {
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = json!({"quant_method": "fp8", "weight_block_size": [8, 8]});
    let name = "model.layers.0.mlp.down_proj.weight";
    tensors.insert(format!("{name}_scale_inv"), floats(&[1, 1], |_| 1.0));
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let error = Conversion::open(folder.path(), &ConvertOptions::default()).expect_err("no codes");
    let message = error.to_string();
    assert!(message.contains(name) && message.contains("F32 with scales"), "{message}");
}

#[test]
fn eight_bit_floats_without_scales_are_an_error() {
    let (config, mut tensors) = llama();
    let name = "model.layers.0.mlp.down_proj.weight";
    tensors.insert(name.to_owned(), (Dtype::F8_E4M3, vec![8, 8], vec![0; 64]));
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let error = Conversion::open(folder.path(), &ConvertOptions::default()).expect_err("no scales");
    assert!(
        matches!(&error, ConvertError::ElementType { name: found, .. } if found == name),
        "{error}"
    );
}

#[test]
fn other_quantizations_are_an_error_with_advice() {
    for method in ["aqlm", "hqq", "torchao"] {
        let (mut config, tensors) = llama();
        config["quantization_config"] = json!({"quant_method": method});
        let folder = tempdir().expect("a folder");
        write(folder.path(), &config, &tensors);
        let error =
            Conversion::open(folder.path(), &ConvertOptions::default()).expect_err("unsupported");
        let message = error.to_string();
        assert!(message.contains(method) && message.contains("original checkpoint"), "{message}");
    }
}

/// The numbers of 4-bit codes.
///
/// **Source**: OCP Microscaling Formats (MX) Specification 1.0.
const LEVELS: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

#[test]
fn mxfp4_weights_of_experts_keep_their_values() {
    let (mut config, mut tensors) = llama();
    config["architectures"] = json!(["GptOssForCausalLM"]);
    config["quantization_config"] = json!({"quant_method": "mxfp4"});
    config["sliding_window"] = json!(16);
    tensors.retain(|name, _| !name.contains(".mlp."));
    // Two experts with four alternating rows of 64 values.
    let (experts, rows, blocks) = (2, 4, 2);
    let code = |index: usize| ((index * 7 + index / 5) % 256) as u8;
    let exponent = |index: usize| (120 + index % 16) as u8;
    let codes: Vec<u8> = (0..experts * rows * blocks * 16).map(code).collect();
    let exponents: Vec<u8> = (0..experts * rows * blocks).map(exponent).collect();
    let name = "model.layers.0.mlp.experts.gate_up_proj";
    tensors.insert(format!("{name}_blocks"), (Dtype::U8, vec![experts, rows, blocks, 16], codes));
    tensors.insert(format!("{name}_scales"), (Dtype::U8, vec![experts, rows, blocks], exponents));
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    let gguf = conversion.into_gguf().expect("a valid file");
    for (name, first) in [("gate", 0), ("up", 1)] {
        let name = format!("blk.0.ffn_{name}_exps.weight");
        let info = gguf.tensor(&name).expect("the tensor exists");
        assert_eq!((info.ggml_type(), info.dims()), (GgmlType::MXFP4, &[64, 2, 2][..]));
        let value = |expert: usize, row: usize, col: usize| {
            let source = expert * rows + 2 * row + first;
            let code = code(source * 32 + col / 2) >> (4 * (col % 2)) & 0xf;
            let power = 2.0_f32.powi(i32::from(exponent(source * blocks + col / 32)) - 127);
            let magnitude = LEVELS[usize::from(code & 7)] * power;
            if code & 8 == 0 { magnitude } else { -magnitude }
        };
        let indices = (0..2).flat_map(|expert| (0..2).map(move |row| (expert, row)));
        let expected: Vec<f32> = indices
            .flat_map(|(expert, row)| (0..64).map(move |col| value(expert, row, col)))
            .collect();
        assert_eq!(values(&gguf, &name), expected);
    }
}

/// The Llama model of the tests with other tensors for one of its weights, in half precision by default.
#[track_caller]
fn with_down_projection(quantization: Value, own: &[(&str, TensorData)]) -> Gguf {
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = quantization;
    let half = (Dtype::F16, vec![4, 8], vec![0; 64]);
    tensors.insert("model.embed_tokens.weight".to_owned(), half);
    tensors.remove("model.layers.0.mlp.down_proj.weight");
    for (name, tensor) in own {
        tensors.insert(format!("model.layers.0.mlp.down_proj.{name}"), tensor.clone());
    }
    convert(&(config, tensors), WeightType::Auto).expect("it is converted")
}

#[test]
fn four_bit_floats_with_scales_of_five_exponent_bits_are_no_blocks() {
    let gguf = with_down_projection(
        json!({"quant_method": "modelopt"}),
        &[
            // Six and one half.
            ("weight", (Dtype::U8, vec![8, 32], vec![0x17; 256])),
            // One, which is 1.5 with four exponent bits.
            ("weight_scale", (Dtype::F8_E5M2, vec![8, 4], vec![0x3c; 32])),
        ],
    );
    let info = gguf.tensor("blk.0.ffn_down.weight").expect("the tensor exists");
    assert_eq!(info.ggml_type(), GgmlType::F16);
    assert_eq!(values(&gguf, "blk.0.ffn_down.weight"), [6.0, 0.5].repeat(256));
}

#[test]
fn modules_of_auto_round_can_have_other_bits_than_most() {
    // Eight bits, not four, in groups of 32.
    let code = (Dtype::I32, vec![16, 8], vec![131; 512]);
    let zeros = (Dtype::I32, vec![2, 2], vec![128; 16]);
    let module = "model.layers.0.mlp.down_proj";
    let gguf = with_down_projection(
        json!({
            "quant_method": "auto-round",
            "packing_format": "auto_round",
            "bits": 4,
            "group_size": 32,
            "extra_config": {module: {"bits": 8, "group_size": 32}},
        }),
        &[("qweight", code), ("qzeros", zeros), ("scales", floats(&[2, 8], |_| 0.5))],
    );
    assert_eq!(values(&gguf, "blk.0.ffn_down.weight"), [1.5; 512]);
}

#[test]
fn groups_of_compressed_tensors_without_weights_are_skipped() {
    let weights = json!({"num_bits": 8, "type": "int", "strategy": "channel"});
    let gguf = with_down_projection(
        json!({
            "quant_method": "compressed-tensors",
            "format": "int-quantized",
            "config_groups": {
                "group_0": {"targets": ["re:.*"], "weights": null, "input_activations": {"num_bits": 8}},
                "group_1": {"targets": ["Linear"], "weights": weights},
            },
        }),
        &[
            ("weight", (Dtype::I8, vec![8, 8], vec![2; 64])),
            ("weight_scale", floats(&[8, 1], |_| 0.5)),
        ],
    );
    assert_eq!(values(&gguf, "blk.0.ffn_down.weight"), [1.0; 64]);
}

/// Converts the Llama model of the tests with experts of 8-bit floats that have these scales.
fn experts_with_scales(scales: &[usize]) -> Result<Gguf, ConvertError> {
    let (mut config, mut tensors) = llama();
    let options =
        json!({"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": null});
    config["quantization_config"] = options;
    let name = "model.layers.0.mlp.experts.gate_up_proj";
    tensors.insert(name.to_owned(), (Dtype::F8_E4M3, vec![2, 4, 3], vec![0x38; 24]));
    tensors.insert(format!("{name}_scale_inv"), floats(scales, |index| (index + 1) as f32));
    tensors.insert(format!("{name}_activation_scale"), floats(&[2], |_| 9.0));
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    Conversion::open(folder.path(), &ConvertOptions::default())?.into_gguf()
}

/// As `FP8Experts` of transformers stores them: a scale per expert, or one for each half of two projections.
#[test]
fn fused_experts_of_eight_bit_floats_have_a_scale_each() {
    for scales in [&[2, 1, 1][..], &[2]] {
        let gguf = experts_with_scales(scales).expect("it is converted");
        for name in ["gate", "up"] {
            let expected = [[1.0; 6], [2.0; 6]].concat();
            assert_eq!(values(&gguf, &format!("blk.0.ffn_{name}_exps.weight")), expected);
        }
    }
    let gguf = experts_with_scales(&[2, 2, 1]).expect("it is converted");
    for (name, expected) in [("gate", [1.0, 3.0]), ("up", [2.0, 4.0])] {
        let expected = expected.map(|scale| [scale; 6]).concat();
        assert_eq!(values(&gguf, &format!("blk.0.ffn_{name}_exps.weight")), expected);
    }
    let gguf = experts_with_scales(&[1]).expect("it is converted");
    assert_eq!(values(&gguf, "blk.0.ffn_up_exps.weight"), [1.0; 12]);
    let message = experts_with_scales(&[3, 1, 1]).expect_err("another number").to_string();
    assert!(message.contains("scales of shape [3, 1, 1]"), "{message}");
}

#[test]
fn blocks_of_fused_experts_do_not_extend_over_several_experts() {
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = json!({"quant_method": "fp8", "weight_block_size": [3, 2]});
    let name = "model.layers.0.mlp.experts.down_proj";
    tensors.insert(name.to_owned(), (Dtype::F8_E4M3, vec![2, 4, 3], vec![0x38; 24]));
    tensors.insert(format!("{name}_scale_inv"), floats(&[2, 2, 2], |index| (index + 1) as f32));
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    let gguf = conversion.into_gguf().expect("a valid file");
    let rows = [[1.0, 1.0, 2.0], [1.0, 1.0, 2.0], [1.0, 1.0, 2.0], [3.0, 3.0, 4.0]].concat();
    let expected = [rows.clone(), rows.iter().map(|scale| scale + 4.0).collect()].concat();
    assert_eq!(values(&gguf, "blk.0.ffn_down_exps.weight"), expected);
}
