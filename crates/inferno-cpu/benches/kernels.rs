//! Single kernels: products of 1, 16 and 512 rows, attention at several depths, normalization and rotary embedding.
//! Rates are bytes read per second for operations that are limited by reads, else operations per second.
//!
//! `cargo bench -p inferno-cpu --bench kernels -- decode` runs one group. Its weights are some tens of megabytes: if they
//! fit in a cache, decoding shows the bandwidth of the cache, while `inferno bench` shows that of memory.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use inferno_backend::{
    AttentionParams, Backend, BatchBuilder, BlockId, DeviceMemory, KvDType, KvLayout, KvValues,
    LogitRows, Norm, Pass, QkNorm, QkvLayout, RopePairing, Rotation, SequenceChunk, WeightPart,
};
use inferno_cpu::{CpuBackend, CpuOptions, Isa};
use inferno_tensor::{DType, quant};

fn backend() -> CpuBackend {
    CpuBackend::new(CpuOptions::default()).expect("this machine's own")
}

fn backend_of(isa: Isa) -> CpuBackend {
    CpuBackend::new(CpuOptions { isa: Some(isa), ..CpuOptions::default() }).expect("available")
}

/// Repeatable numbers between -1 and 1.
fn values(count: usize) -> Vec<f32> {
    (0..count as u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 8) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}

fn weight(backend: &CpuBackend, dtype: DType, rows: usize, cols: usize) -> inferno_cpu::CpuWeight {
    let mut row = vec![0; dtype.row_bytes(cols).expect("whole blocks")];
    // The time does not depend on the weights.
    if !dtype.needs_importance() {
        quant::encode_row(dtype, &values(cols), &mut row).expect("finite values");
    }
    let part = WeightPart::matrix("w", dtype, rows, cols, row.repeat(rows).into()).expect("size");
    backend.load_weight(&[part]).expect("memory")
}

/// The most common formats of files.
const MAIN: [DType; 5] = [DType::Q8_0, DType::Q4_0, DType::Q4K, DType::Q6K, DType::F16];

/// Products with `formats`: bytes of weights for one row, else operations.
fn products(
    c: &mut Criterion,
    backend: &CpuBackend,
    name: &str,
    formats: &[DType],
    rows: usize,
    out_cols: usize,
) {
    let cols = 1024;
    let mut x = backend.alloc(rows, cols).expect("memory");
    backend.upload(&values(rows * cols), &mut x);
    let mut out = backend.alloc(rows, out_cols).expect("memory");
    let mut group = c.benchmark_group(format!("{name} {rows}x{cols}x{out_cols}"));
    for &dtype in formats {
        let weight = weight(backend, dtype, out_cols, cols);
        group.throughput(match rows {
            1 => Throughput::Bytes(backend.weight_bytes(dtype, 1, out_cols, cols) as u64),
            _ => Throughput::Elements(2 * (rows * cols * out_cols) as u64),
        });
        group.bench_function(BenchmarkId::from_parameter(dtype), |b| {
            b.iter(|| backend.begin().linear(rows, &x, &weight, None, &mut out).expect("memory"));
        });
    }
    group.finish();
}

/// One row: decoding one sequence.
fn decode(c: &mut Criterion) {
    products(c, &backend(), "decode", &DType::ALL, 1, 1 << 16);
}

/// 16 rows: decoding 16 sequences.
fn batch(c: &mut Criterion) {
    products(c, &backend(), "batch", &MAIN, 16, 1 << 16);
}

/// The rows of a prompt.
fn prefill(c: &mut Criterion) {
    products(c, &backend(), "prefill", &DType::ALL, 512, 3072);
}

/// The same with each vector instruction set.
fn levels(c: &mut Criterion) {
    for isa in Isa::available().into_iter().filter(|&isa| isa != Isa::Scalar) {
        let backend = backend_of(isa);
        products(c, &backend, &format!("batch with {isa}"), &MAIN, 16, 1 << 16);
        products(c, &backend, &format!("prefill with {isa}"), &MAIN, 512, 3072);
    }
}

/// Normalization of one row, and of a prompt's: bytes read and written.
fn norm(c: &mut Criterion) {
    let (backend, cols) = (backend(), 1024);
    let mut weight = backend.alloc(1, cols).expect("memory");
    backend.upload(&values(cols), &mut weight);
    let mut group = c.benchmark_group("rms_norm");
    for rows in [1, 512] {
        let mut x = backend.alloc(rows, cols).expect("memory");
        backend.upload(&values(rows * cols), &mut x);
        let mut out = backend.alloc(rows, cols).expect("memory");
        group.throughput(Throughput::Bytes((2 * rows * cols * size_of::<f32>()) as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("{rows}x{cols}")), |b| {
            b.iter(|| backend.begin().norm(rows, &x, Norm::rms(&weight, 1e-6), &mut out));
        });
    }
    group.finish();
}

/// Norm and rotary embedding of the heads of Qwen3-0.6B, for one token and for a part of a prompt: bytes read and written.
fn rope(c: &mut Criterion) {
    let backend = backend();
    let layout = QkvLayout::new(16, 8, 128);
    let matrix = |rows: usize, values: &[f32]| {
        let mut matrix = backend.alloc(rows, values.len() / rows).expect("memory");
        backend.upload(values, &mut matrix);
        matrix
    };
    // Heads keep their length however often they are rotated.
    let weight = matrix(1, &[1.0; 128]);
    let angle = [[0.8; 64], [0.6; 64]].concat();
    let mut group = c.benchmark_group("rope");
    for rows in [1, 256] {
        let angles = matrix(rows, &angle.repeat(rows));
        let mut qkv = matrix(rows, &values(rows * layout.row_len()));
        let turned = (layout.num_heads + layout.num_kv_heads) * layout.head_dim;
        group.throughput(Throughput::Bytes((2 * rows * turned * size_of::<f32>()) as u64));
        for pairing in [RopePairing::Halves, RopePairing::Interleaved] {
            group.bench_function(BenchmarkId::new(format!("{pairing:?}"), rows), |b| {
                b.iter(|| {
                    let norm = QkNorm::per_head(&weight, &weight, 1e-6);
                    let rotation = Rotation { pairing, angles: Some(&angles), query_factors: None };
                    backend.begin().rope(rows, &layout, Some(norm), Some(rotation), &mut qkv);
                });
            });
        }
    }
    group.finish();
}

/// Attention with each vector instruction set: one token per sequence in all layers of a model, so that the cache is read
/// from memory, and chunks of a prompt in one layer.
fn attention(c: &mut Criterion) {
    // Those of DeepSeek V2 Lite.
    let latent = QkvLayout { values: KvValues::InKeys { start: 64 }, ..QkvLayout::new(16, 1, 576) };
    for isa in Isa::available().into_iter().filter(|&isa| isa != Isa::Scalar) {
        attention_with(c, "attention", QkvLayout::new(16, 8, 128), isa);
        attention_with(c, "latent attention", latent, isa);
    }
}

fn attention_with(c: &mut Criterion, name: &str, layout: QkvLayout, isa: Isa) {
    let backend = backend_of(isa);
    let mut group = c.benchmark_group(format!("{name} with {isa}"));
    for dtype in KvDType::ALL {
        for (sequences, tokens, start) in [(1, 1, 2047), (16, 1, 135), (1, 512, 0), (1, 512, 3584)]
        {
            let end: usize = start + tokens;
            let (blocks, layers) = (end.div_ceil(16), if tokens == 1 { 28 } else { 1 });
            let cache_layout = KvLayout {
                layers: vec![layout.kv_layer(); layers],
                window: None,
                block_tokens: 16,
                num_blocks: sequences * blocks,
                dtype,
            };
            let mut cache = backend.alloc_kv_cache(&cache_layout).expect("memory");
            let block_table: Vec<_> = (0..(sequences * blocks) as u32).map(BlockId).collect();
            let mut fill = |tokens: usize, start| {
                let mut builder = BatchBuilder::new(16);
                let ids = vec![0; tokens];
                let logits = LogitRows::None;
                for block_table in block_table.chunks(blocks) {
                    let chunk = SequenceChunk {
                        tokens: &ids,
                        start,
                        block_table,
                        logits,
                        second_segment: None,
                    };
                    builder.push(&chunk).expect("a chunk");
                }
                let batch = builder.build();
                let rows = sequences * tokens;
                let mut qkv = backend.alloc(rows, layout.row_len()).expect("memory");
                backend.upload(&values(rows * layout.row_len()), &mut qkv);
                for layer in 0..layers {
                    backend.begin().store_kv(&batch, layer, &layout, &qkv, &mut cache);
                }
                (batch, qkv)
            };
            fill(end, 0);
            let (batch, qkv) = fill(tokens, start);
            let mut out = backend.alloc(sequences * tokens, layout.out_len()).expect("memory");
            let scale = (layout.head_dim as f32).powf(-0.5);
            let cache_bytes = cache_layout.total_bytes().expect("whole blocks") as u64;
            let products = layout.num_heads * (layout.head_dim + layout.value_dim());
            let operations = (tokens * (start + end + 1) / 2 * products * 2) as u64;
            group.throughput(match tokens {
                1 => Throughput::Bytes(cache_bytes),
                _ => Throughput::Elements(operations),
            });
            let name = match sequences {
                1 => format!("{tokens} of {end}"),
                _ => format!("{sequences} x {tokens} of {end}"),
            };
            group.bench_function(BenchmarkId::new(name, dtype), |b| {
                b.iter(|| {
                    for layer in 0..layers {
                        let params = AttentionParams::new(layer, scale);
                        backend
                            .begin()
                            .paged_attention(&batch, &params, &layout, &qkv, &cache, &mut out)
                            .expect("memory");
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, decode, batch, prefill, levels, attention, norm, rope);
criterion_main!(benches);
