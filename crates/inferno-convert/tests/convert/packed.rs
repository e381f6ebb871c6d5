//! Checkpoints whose weights are integers in words (`pack-quantized` of the library compressed-tensors).

use inferno_convert::{Conversion, ConvertError, ConvertOptions, WeightType};
use inferno_gguf::Gguf;
use inferno_tensor::{DType, quant};
use safetensors::Dtype;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{Tensors, floats, llama, write};

/// The integer with this number in the tensors below.
fn integer(index: usize, bits: u32) -> f32 {
    let range = 1 << bits;
    ((index * 7 + 3) % range) as f32 - (range / 2) as f32
}

/// The words of two rows of 20 integers of 4 bits, of two rows of 6 integers of 8 bits, and of two matrices of two rows with 8
/// integers of 4 bits.
///
/// **Source**: `pack_to_int32` of compressed-tensors 0.20 for [`integer`].
const ROWS_OF_20: [i32; 6] = [1299153315, -974714581, 33187, 153832815, -2119973401, 19823];
const ROWS_OF_6: [i32; 4] = [403769859, 9759, 1111176237, 20553];
const MATRICES: [i32; 4] = [1299153315, -974714581, 1299153315, -974714581];

fn quantization(weights: Value) -> Value {
    json!({
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        "format": "pack-quantized",
        "ignore": ["lm_head"],
        "quant_method": "compressed-tensors",
    })
}

/// The tensors of packed weights `name` of shape `shape`.
fn packed(name: &str, shape: &[usize], words: &[i32], scales: &[usize]) -> Tensors {
    let words_per_row = words.len() / shape[..shape.len() - 1].iter().product::<usize>();
    let packed_shape = [&shape[..shape.len() - 1], &[words_per_row]].concat();
    let words = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let sizes = shape.iter().flat_map(|&size| (size as i64).to_le_bytes()).collect();
    Tensors::from([
        (format!("{name}_packed"), (Dtype::I32, packed_shape, words)),
        (format!("{name}_shape"), (Dtype::I64, vec![shape.len()], sizes)),
        (format!("{name}_scale"), floats(scales, |index| 2.0_f32.powi(index as i32))),
    ])
}

fn open(config: &Value, tensors: &Tensors) -> Result<Conversion, ConvertError> {
    let folder = tempdir().expect("a folder");
    write(folder.path(), config, tensors);
    let options = ConvertOptions { weight_type: WeightType::F32, ..ConvertOptions::default() };
    Conversion::open(folder.path(), &options)
}

fn values(gguf: &Gguf, name: &str) -> Vec<f32> {
    let info = gguf.tensor(name).expect("the tensor exists");
    let mut values = vec![0.0; info.num_elements()];
    quant::decode_row(DType::F32, &gguf.data(info), &mut values).expect("valid data");
    values
}

const DOWN: &str = "model.layers.0.mlp.down_proj.weight";

/// Converts the Llama model of the tests with other tensors for one of its weights.
fn convert(weights: Value, own: Tensors) -> Result<Gguf, ConvertError> {
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = quantization(weights);
    tensors.remove(DOWN);
    tensors.extend(own);
    open(&config, &tensors)?.into_gguf()
}

#[test]
fn packed_integers_are_multiplied_by_the_scale_of_their_group() {
    let groups = json!({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 5, "symmetric": true});
    let rows = json!({"num_bits": 4, "strategy": "channel", "symmetric": true});
    let bytes = json!({"num_bits": 8, "type": "int", "strategy": "tensor"});
    type Level = fn(usize, usize) -> i32;
    type Case<'a> = (Value, u32, [usize; 2], &'a [i32], &'a [usize], Level);
    let cases: [Case<'_>; 3] = [
        (groups, 4, [2, 20], &ROWS_OF_20, &[2, 4], |row, col| (4 * row + col / 5) as i32),
        (rows, 4, [2, 20], &ROWS_OF_20, &[2, 1], |row, _| row as i32),
        (bytes, 8, [2, 6], &ROWS_OF_6, &[1], |_, _| 0),
    ];
    for (weights, bits, shape, words, scales, scale) in cases {
        let gguf = convert(weights, packed(DOWN, &shape, words, scales)).expect("it is converted");
        let [rows, cols] = shape;
        let indices = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        let expected: Vec<f32> = indices
            .map(|(row, col)| integer(row * cols + col, bits) * 2.0_f32.powi(scale(row, col)))
            .collect();
        let name = "blk.0.ffn_down.weight";
        assert_eq!(values(&gguf, name), expected);
        let info = gguf.tensor(name).expect("the tensor exists");
        assert_eq!(info.dims(), [cols, rows]);
        let whole = gguf.data(info);
        for start in (0..whole.len()).step_by(12) {
            let part = start..whole.len().min(start + 12);
            assert_eq!(gguf.part(info, part.clone())[..], whole[part.clone()]);
            gguf.release_part(info, part);
        }
        assert!(gguf.tensors().iter().all(|info| !info.name().contains("scale")));
    }
}

#[test]
fn packed_experts_of_a_layer_are_one_tensor() {
    let name = "model.layers.0.mlp.experts.down_proj";
    let weights = json!({"num_bits": 4, "strategy": "group", "group_size": 4});
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = quantization(weights);
    tensors.extend(packed(name, &[2, 2, 8], &MATRICES, &[2, 2, 2]));
    let gguf = open(&config, &tensors).expect("it is converted").into_gguf().expect("a file");
    let expected: Vec<f32> =
        (0..32).map(|index| integer(index, 4) * 2.0_f32.powi(index as i32 / 4)).collect();
    assert_eq!(values(&gguf, "blk.0.ffn_down_exps.weight"), expected);
}

#[test]
fn packed_weights_that_are_stored_otherwise_are_an_error() {
    let own = || packed(DOWN, &[2, 20], &ROWS_OF_20, &[2, 4]);
    let groups = || json!({"num_bits": 4, "strategy": "group", "group_size": 5});
    let message = |weights: Value, tensors: Tensors| {
        convert(weights, tensors).expect_err("an unsupported form").to_string()
    };
    for (key, value, part) in [
        ("num_bits", json!(9), "9 bits"),
        ("num_bits", json!(3), "of 3 bits of shape [2, 20]"),
        ("strategy", json!("token"), "\"token\""),
        ("group_size", json!(0), "group_size"),
        ("group_size", json!(4), "expected scales of shape [2, 5] for"),
    ] {
        let mut weights = groups();
        weights[key] = value;
        let message = message(weights, own());
        assert!(message.contains(part), "{message}");
    }
    for (ending, shape, part) in [
        ("_g_idx", vec![1], "weight_g_idx of shape [20], found shape [1]"),
        ("_zero_point", vec![2, 4], "weight_zero_point of shape [1, 4], found shape [2, 4]"),
    ] {
        let mut tensors = own();
        let bytes = vec![0; 4 * shape.iter().product::<usize>()];
        tensors.insert(format!("{DOWN}{ending}"), (Dtype::I32, shape, bytes));
        let message = message(groups(), tensors);
        assert!(message.contains(part), "{message}");
    }
    for ending in ["_shape", "_scale"] {
        let mut tensors = own();
        tensors.remove(&format!("{DOWN}{ending}"));
        let message = message(groups(), tensors);
        assert!(message.contains(&format!("{DOWN}{ending} is missing")), "{message}");
    }
    let mut tensors = own();
    let sizes = [2_i64, 40].iter().flat_map(|size| size.to_le_bytes()).collect();
    tensors.insert(format!("{DOWN}_shape"), (Dtype::I64, vec![2], sizes));
    let message = message(groups(), tensors);
    let expected = "expected model.layers.0.mlp.down_proj.weight_packed of shape [2, 5] for weights of 4 bits of shape [2, 40]";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn kimi_k2_5_is_converted_without_its_encoder() {
    let text = json!({
        "architectures": ["DeepseekV3ForCausalLM"],
        "first_k_dense_replace": 1,
        "hidden_size": 8,
        "intermediate_size": 8,
        "kv_lora_rank": 4,
        "max_position_embeddings": 64,
        "model_type": "kimi_k2",
        "moe_intermediate_size": 20,
        "n_routed_experts": 1,
        "num_attention_heads": 2,
        "num_experts_per_tok": 1,
        "num_hidden_layers": 2,
        "qk_nope_head_dim": 4,
        "qk_rope_head_dim": 4,
        "quantization_config": quantization(json!({
            "actorder": null,
            "dynamic": false,
            "group_size": 5,
            "num_bits": 4,
            "strategy": "group",
            "symmetric": true,
            "type": "int",
        })),
        "rms_norm_eps": 1e-5,
        "v_head_dim": 4,
        "vocab_size": 4,
    });
    let config = json!({
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "text_config": text,
    });
    let expert = "language_model.model.layers.1.mlp.experts.0.down_proj.weight";
    let mut tensors = packed(expert, &[2, 20], &ROWS_OF_20, &[2, 4]);
    for name in [
        "language_model.model.embed_tokens.weight",
        "mm_projector.linear_1.weight",
        "mm_projector.pre_norm.weight",
        "vision_tower.encoder.blocks.0.wqkv.weight",
    ] {
        tensors.insert(name.to_owned(), floats(&[4, 8], |_| 1.0));
    }
    let conversion = open(&config, &tensors).expect("it is converted");
    let notes = ["3 tensors of encoders for images or audio are not part of the result"];
    assert_eq!(conversion.notes(), notes);
    let gguf = conversion.into_gguf().expect("a valid file");
    let first = values(&gguf, "blk.1.ffn_down_exps.weight")[..3].to_vec();
    assert_eq!(first, [integer(0, 4), integer(1, 4), integer(2, 4)]);
    let key = "deepseek2.expert_gating_func";
    assert_eq!(gguf.metadata().get(key), Some(&2_u32.into()));
}
