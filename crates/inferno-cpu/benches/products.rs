//! Matrix products: naive, blocked and threaded in FP32, and FP32 compared with INT8.
//!
//! `cargo bench -p inferno-cpu --bench products`. Rates are multiplications and additions per second; for a single
//! row, bytes of weights read per second.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use inferno_backend::{Backend, DeviceMemory, Pass, ReferenceBackend, WeightPart};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_tensor::{DType, quant};

fn cpu(threads: Option<usize>) -> CpuBackend {
    CpuBackend::new(CpuOptions { isa: None, threads }).expect("this machine's own instruction set")
}

/// Repeatable numbers between -1 and 1.
fn values(count: usize) -> Vec<f32> {
    (0..count as u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 8) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}

/// The product of `rows` rows of `cols` values with a weight of `out_cols` rows, as a closure to measure.
fn product<B: Backend>(
    backend: &B,
    dtype: DType,
    rows: usize,
    cols: usize,
    out_cols: usize,
) -> impl FnMut() {
    let mut row = vec![0; dtype.row_bytes(cols).expect("whole blocks")];
    quant::encode_row(dtype, &values(cols), &mut row).expect("finite values");
    let bytes = row.repeat(out_cols).into();
    let part = WeightPart::matrix("w", dtype, out_cols, cols, bytes).expect("the right size");
    let weight = backend.load_weight(&[part]).expect("memory");
    let mut x = backend.alloc(rows, cols).expect("memory");
    backend.upload(&values(rows * cols), &mut x);
    let mut out = backend.alloc(rows, out_cols).expect("memory");
    move || backend.begin().linear(rows, &x, &weight, None, &mut out).expect("memory")
}

/// Square matrices: plain loops, cache blocks and vectors on one thread, and all threads.
fn square(c: &mut Criterion) {
    let mut group = c.benchmark_group("FP32 product");
    group.sample_size(10);
    for n in [128, 512, 1024] {
        group.throughput(Throughput::Elements(2 * (n * n * n) as u64));
        let naive = ReferenceBackend::new();
        let (blocked, threaded) = (cpu(Some(1)), cpu(None));
        let mut run = product(&naive, DType::F32, n, n, n);
        group.bench_function(BenchmarkId::new("naive", n), |b| b.iter(&mut run));
        let mut run = product(&blocked, DType::F32, n, n, n);
        group.bench_function(BenchmarkId::new("blocked", n), |b| b.iter(&mut run));
        let mut run = product(&threaded, DType::F32, n, n, n);
        group.bench_function(BenchmarkId::new("threaded", n), |b| b.iter(&mut run));
    }
    group.finish();
}

/// One token and the gate projection of a 7B model.
fn single_row(c: &mut Criterion) {
    let (cols, out_cols) = (4096, 11008);
    let backend = cpu(None);
    let mut group = c.benchmark_group(format!("[1, {cols}] x [{cols}, {out_cols}]"));
    for dtype in [DType::F32, DType::Int8] {
        let bytes = backend.weight_bytes(dtype, 1, out_cols, cols);
        group.throughput(Throughput::Bytes(bytes as u64));
        let mut run = product(&backend, dtype, 1, cols, out_cols);
        group.bench_function(BenchmarkId::from_parameter(dtype), |b| b.iter(&mut run));
    }
    group.finish();
}

criterion_group!(benches, square, single_row);
criterion_main!(benches);
