//! What choosing a token takes over a large vocabulary, by the settings that requests come with.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use inferno_engine::{Sampler, SamplingParams};

/// That of Qwen 2 and 3.
const VOCAB_SIZE: usize = 151_936;

/// Logits as of a model: most of them far below a few.
fn logits() -> Vec<f32> {
    let mut state = 1u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    (0..VOCAB_SIZE).map(|_| 3.0 * (0..12).map(|_| uniform()).sum::<f32>() - 18.0).collect()
}

fn sampling(criterion: &mut Criterion) {
    let logits = logits();
    let plain = SamplingParams { seed: Some(1), temperature: 1.0, ..SamplingParams::default() };
    let cases = [
        ("greedy", SamplingParams { temperature: 0.0, ..plain.clone() }, &[][..]),
        ("greedy_with_a_banned_token", SamplingParams { temperature: 0.0, ..plain.clone() }, &[7]),
        ("whole_vocabulary", plain.clone(), &[]),
        ("top_k_20_top_p_95", SamplingParams { top_k: 20, top_p: 0.95, ..plain.clone() }, &[]),
        ("top_p_90", SamplingParams { top_p: 0.9, ..plain.clone() }, &[]),
        ("min_p_05", SamplingParams { min_p: 0.05, ..plain }, &[]),
    ];
    let mut group = criterion.benchmark_group("sample");
    for (name, params, banned) in cases {
        let mut sampler = Sampler::new(params, VOCAB_SIZE).expect("the settings are sound");
        group.bench_function(name, |bencher| {
            bencher.iter(|| sampler.sample(black_box(&logits), banned).expect("sound logits").id);
        });
    }
    group.finish();
}

criterion_group!(benches, sampling);
criterion_main!(benches);
