//! Encoding and decoding throughput of each format, in weights per second on one core.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use inferno_tensor::{DType, quant};

const LEN: usize = 64 * 1024;

fn formats(criterion: &mut Criterion) {
    let row: Vec<f32> = (0..LEN).map(|i| (i as f32 * 0.7).sin() * 0.02).collect();
    for dtype in DType::ALL {
        let mut group = criterion.benchmark_group(dtype.name());
        group.throughput(Throughput::Elements(LEN as u64));
        let mut stored = vec![0; dtype.row_bytes(LEN).expect("a multiple of every block")];
        if !dtype.needs_importance() {
            group.bench_function("encode", |bencher| {
                bencher.iter(|| quant::encode_row(dtype, &row, &mut stored));
            });
        }
        let mut decoded = vec![0.0; LEN];
        group.bench_function("decode", |bencher| {
            bencher.iter(|| quant::decode_row(dtype, &stored, &mut decoded));
        });
    }
}

criterion_group!(benches, formats);
criterion_main!(benches);
