//! The memory of mapped files is released after their tensors were read.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions};
use safetensors::Dtype;
use serde_json::json;
use tempfile::tempdir;

use crate::checkpoint::{llama, write};

/// The memory in use of the mapping of a file, in bytes.
fn resident_bytes(path: &Path) -> usize {
    let maps = fs::read_to_string("/proc/self/smaps").expect("this process is described");
    let path = path.canonicalize().expect("the file exists");
    let name = path.to_str().expect("a text");
    let mut lines = maps.lines().skip_while(|line| !line.ends_with(name));
    let size = lines.find_map(|line| line.strip_prefix("Rss:")).expect("the file is mapped");
    let kilobytes: usize = size.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes << 10
}

#[test]
fn codes_of_mxfp4_are_released() {
    let (mut config, mut tensors) = llama();
    config["architectures"] = json!(["GptOssForCausalLM"]);
    config["quantization_config"] = json!({"quant_method": "mxfp4"});
    config["sliding_window"] = json!(16);
    tensors.retain(|name, _| !name.contains(".mlp."));
    // Two megabytes of codes. Rows of gates and of inputs alternate.
    let (experts, rows, blocks) = (2, 64, 1024);
    let num_blocks = experts * rows * blocks;
    for projection in ["gate_up_proj", "down_proj"] {
        let name = format!("model.layers.0.mlp.experts.{projection}");
        let codes = (Dtype::U8, vec![experts, rows, blocks, 16], vec![0x21; num_blocks * 16]);
        let scales = (Dtype::U8, vec![experts, rows, blocks], vec![127; num_blocks]);
        tensors.insert(format!("{name}_blocks"), codes);
        tensors.insert(format!("{name}_scales"), scales);
    }
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let path = folder.path().join("model.safetensors");
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    let gguf = conversion.into_gguf().expect("a valid file");
    let (whole, rest) = (num_blocks * 16, 512 << 10);
    for name in ["gate", "up", "down"] {
        let info = gguf.tensor(&format!("blk.0.ffn_{name}_exps.weight")).expect("it exists");
        let payload = gguf.data(info);
        // Kernels map pages around those that are read, so only differences are known.
        let read = resident_bytes(&path);
        gguf.release(info);
        let released = resident_bytes(&path);
        assert!(released + whole / 4 < read, "{name}: {read} bytes, then {released}");
        // In parts of a few rows.
        let step = 17 * blocks * 4;
        for start in (0..payload.len()).step_by(step) {
            let part = start..payload.len().min(start + step);
            assert_eq!(gguf.part(info, part.clone())[..], payload[part.clone()]);
            gguf.release_part(info, part);
        }
        let left = resident_bytes(&path);
        assert!(left < released + rest, "{name}: {released} bytes, then {left}");
    }
}
