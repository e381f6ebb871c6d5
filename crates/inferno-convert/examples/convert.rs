//! Writes a checkpoint as a GGUF file: `cargo run --example convert DIR OUT.gguf [f32|f16|bf16|auto]`.
//!
//! `inferno convert` does the same with quantization, progress and checks of the output.

use std::error::Error;
use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions, WeightType};
use inferno_gguf::GgufWriter;

/// Bytes written at a time; a multiple of the sizes of all blocks.
const PART: usize = (17 * 11 * 9 * 4) << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, output, rest @ ..] = &arguments[..] else {
        return Err("usage: convert DIR OUT.gguf [f32|f16|bf16|auto]".into());
    };
    let weight_type = match rest.first().map(String::as_str) {
        Some("f32") => WeightType::F32,
        Some("f16") => WeightType::F16,
        Some("bf16") => WeightType::Bf16,
        None | Some("auto") => WeightType::Auto,
        Some(other) => return Err(format!("unknown type {other}").into()),
    };
    let options = ConvertOptions { weight_type, ..ConvertOptions::default() };
    let conversion = Conversion::open(Path::new(folder), &options)?;
    for note in conversion.notes() {
        eprintln!("note: {note}");
    }
    let gguf = conversion.into_gguf()?;
    let mut writer = GgufWriter::new(gguf.metadata())?;
    for info in gguf.tensors() {
        writer.add_tensor(info.name(), info.dims(), info.ggml_type())?;
    }
    let mut payloads = writer.create(output)?;
    for info in gguf.tensors() {
        for start in (0..info.num_bytes()).step_by(PART) {
            let part = start..(start + PART).min(info.num_bytes());
            let rows = gguf.part(info, part.clone());
            gguf.check_payloads()?;
            payloads.append(info.name(), &rows)?;
            gguf.release_part(info, part);
        }
    }
    Ok(payloads.finish()?)
}
