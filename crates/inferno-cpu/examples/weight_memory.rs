//! Prints the memory of packed weights of a 7B model, per layer and in total: `cargo run -p inferno-cpu --example
//! weight_memory`.
//!
//! The shape is that of Llama 2 7B. Sizes are those of the CPU backend's packing. The embedding table is read in
//! place from the file and is not included.

use inferno_backend::{BackendError, DeviceMemory};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_tensor::DType;

const LAYERS: usize = 32;
const HIDDEN: usize = 4096;
const INTERMEDIATE: usize = 11008;
const VOCABULARY: usize = 32000;

/// Rows and columns of the matrices of one layer, with their number.
const MATRICES: [(usize, usize, usize); 3] = [
    (4, HIDDEN, HIDDEN),       // query, key, value, output
    (2, INTERMEDIATE, HIDDEN), // gate, up
    (1, HIDDEN, INTERMEDIATE), // down
];

fn main() -> Result<(), BackendError> {
    let backend = CpuBackend::new(CpuOptions::default())?;
    println!("| format | per layer | {LAYERS} layers | output head | total |");
    println!("|---|---|---|---|---|");
    for dtype in [DType::F32, DType::Int8, DType::Q8_0, DType::Q4K] {
        let bytes = |rows, cols| backend.weight_bytes(dtype, 1, rows, cols);
        let layer: usize =
            MATRICES.iter().map(|&(count, rows, cols)| count * bytes(rows, cols)).sum();
        let head = bytes(VOCABULARY, HIDDEN);
        let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        println!(
            "| {dtype} | {:.1} MiB | {:.1} MiB | {:.1} MiB | {:.1} MiB |",
            mebibytes(layer),
            mebibytes(LAYERS * layer),
            mebibytes(head),
            mebibytes(LAYERS * layer + head),
        );
    }
    Ok(())
}
