//! Values that are too large for half precision.

use inferno_convert::WeightType;
use inferno_gguf::{Gguf, GgufError};
use safetensors::Dtype;

use crate::checkpoint::{self, TensorData, floats, llama};

const NAME: &str = "model.layers.0.mlp.down_proj.weight";

/// Converts the Llama model of the tests with this tensor as one of its weights, and reads the result.
fn convert(weight_type: WeightType, tensor: TensorData) -> Result<Gguf, GgufError> {
    let (config, mut tensors) = llama();
    tensors.insert(NAME.to_owned(), tensor);
    let gguf = checkpoint::convert(&(config, tensors), weight_type).expect("it is opened");
    gguf.check_payloads().expect("nothing has been read");
    gguf.data(gguf.tensor("blk.0.ffn_down.weight").expect("the tensor exists"));
    gguf.check_payloads()?;
    Ok(gguf)
}

/// A tensor whose last value is the given one.
fn ending_with(value: f32) -> TensorData {
    floats(&[8, 8], |index| if index == 63 { value } else { -1.0 })
}

fn bf16_ending_with(bits: u16) -> TensorData {
    let values = (0..64).flat_map(|index| if index == 63 { bits } else { 0x3f80 }.to_le_bytes());
    (Dtype::BF16, vec![8, 8], values.collect())
}

#[track_caller]
fn check_rejected(tensor: TensorData, value: &str) {
    let message = convert(WeightType::F16, tensor).expect_err("too large").to_string();
    let expected = format!(
        "tensor \"blk.0.ffn_down.weight\" has the value {value}, which is too large for F16; \
         convert to BF16 or F32 instead"
    );
    assert_eq!(message, expected);
}

#[test]
fn finite_values_do_not_become_infinite() {
    // 2^16; the first number that rounds to it; a negative one.
    check_rejected(bf16_ending_with(0x4780), "65536.0");
    check_rejected(ending_with(65520.0), "65520.0");
    check_rejected(ending_with(-131072.0), "-131072.0");
}

#[test]
fn values_of_half_precision_are_converted() {
    for value in [65504.0, 65519.0, f32::INFINITY, f32::NAN] {
        convert(WeightType::F16, ending_with(value)).expect("it is converted");
    }
}

#[test]
fn other_types_store_values_that_are_too_large_for_half_precision() {
    for weight_type in [WeightType::Bf16, WeightType::F32, WeightType::Auto, WeightType::Exact] {
        convert(weight_type, bf16_ending_with(0x4780)).expect("it is converted");
    }
}

#[test]
fn values_of_double_precision_are_checked_for_every_type() {
    let values = (0..64).flat_map(|index| if index == 5 { 1e300 } else { 1.0_f64 }.to_le_bytes());
    let tensor = (Dtype::F64, vec![8, 8], values.collect::<Vec<_>>());
    for weight_type in [WeightType::F32, WeightType::Bf16, WeightType::F16] {
        let message = convert(weight_type, tensor.clone()).expect_err("too large").to_string();
        assert!(message.contains("\"blk.0.ffn_down.weight\" has the value 1e300,"), "{message}");
        assert!(!message.contains("convert to"), "{message}");
    }
}

#[test]
fn one_part_of_a_payload_is_enough_to_find_a_value() {
    let (config, mut tensors) = llama();
    tensors.insert(NAME.to_owned(), ending_with(1e6));
    let gguf = checkpoint::convert(&(config, tensors), WeightType::F16).expect("it is opened");
    let info = gguf.tensor("blk.0.ffn_down.weight").expect("the tensor exists");
    gguf.part(info, 0..126);
    gguf.check_payloads().expect("the value has not been read");
    gguf.part(info, 126..128);
    gguf.part(info, 0..126);
    gguf.check_payloads().expect_err("too large");
}
