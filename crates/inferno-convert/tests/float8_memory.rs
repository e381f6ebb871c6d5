//! Reading a part of a tensor decodes no more than that part.

#[path = "convert/checkpoint.rs"]
#[allow(dead_code, reason = "shared with the tests of conversions")]
mod checkpoint;
#[path = "../../inferno-gguf/tests/gguf/counting_allocator/mod.rs"]
mod counting_allocator;

use checkpoint::{floats, llama, write};
use counting_allocator::{CountingAllocator, peak_bytes};
use inferno_convert::{Conversion, ConvertOptions};
use safetensors::Dtype;
use serde_json::json;
use tempfile::tempdir;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A tenth of the tensor in single precision.
const MAX_BYTES: usize = 100 << 10;

#[test]
fn a_part_of_reordered_eight_bit_floats_needs_little_memory() {
    let (mut config, mut tensors) = llama();
    config["quantization_config"] = json!({"quant_method": "fp8", "weight_block_size": [128, 128]});
    // Reordered, because rotary embeddings rotate neighboring rows.
    let name = "model.layers.0.self_attn.q_proj.weight";
    let (rows, cols) = (1024, 256);
    let codes = vec![0x38; rows * cols];
    tensors.insert(name.to_owned(), (Dtype::F8_E4M3, vec![rows, cols], codes));
    tensors.insert(format!("{name}_scale_inv"), floats(&[rows / 128, cols / 128], |_| 2.0));
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    let gguf = conversion.into_gguf().expect("a valid file");
    let info = gguf.tensor("blk.0.attn_q.weight").expect("the tensor exists");
    let (part, peak) = peak_bytes(|| gguf.part(info, 4096..8192));
    assert_eq!(part[..4], 2.0_f32.to_le_bytes());
    assert!(peak < MAX_BYTES, "{peak} bytes");
}
