//! Logits against those of Hugging Face transformers and llama.cpp, in float32.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::{
    Feed, ReferenceLogits, fixtures, is_quantized, is_supported, load, logits, logits_of_two,
    models_under, oracle,
};
use inferno_backend::{Backend, ReferenceBackend};
use inferno_conformance::gpu::adapter;
use inferno_cpu::{CpuBackend, CpuOptions, Isa};
use inferno_gguf::Gguf;
use inferno_gpu::GpuBackend;
use inferno_model::ModelSpec;

/// Norm of the difference relative to the norm of the expected row, the project's error bound.
pub const MAX_RELATIVE_ERROR: f64 = 1e-4;

/// The bound for quantized weights on the CPU, which multiplies them with activations of 8 bits, as llama.cpp does.
pub const MAX_QUANTIZED_ERROR: f64 = 4e-2;

/// The bound for quantized weights on a GPU, which multiplies them with activations of 16 bits.
const MAX_INTEGER_ERROR: f64 = 3e-4;

/// The bound for cooperative matrices of a GPU, whose inputs are rounded to f16.
const MAX_MATRIX_ERROR: f64 = 1e-2;

/// The difference of `found` from the reference if it exceeds `bound`.
pub fn deviation(bound: f64, answer: &ReferenceLogits, found: &[Vec<f32>]) -> Option<String> {
    let (mut difference, mut norm) = (0.0, 0.0);
    assert_eq!(found.len(), answer.logits.len(), "positions");
    for (position, (expected, found)) in answer.logits.iter().zip(found).enumerate() {
        // Differences within the bound exchange only tokens whose logits differ by less.
        let margin = expected[argmax(expected)] - expected[argmax(found)];
        let norm_of_row = expected.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        if f64::from(margin) > 2_f64.sqrt() * bound * norm_of_row {
            return Some(format!("another argmax at {position}"));
        }
        for (&expected, &found) in expected.iter().zip(found) {
            difference += f64::from(expected - found).powi(2);
            norm += f64::from(expected).powi(2);
        }
    }
    let error = (difference / norm).sqrt();
    (error.is_nan() || error > bound).then(|| format!("relative error {error:.2e}"))
}

fn argmax(row: &[f32]) -> usize {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).expect("rows are not empty")
}

/// The ways to feed a prompt that give the same logits.
const FEEDS: [Feed; 4] = [Feed::Whole, Feed::Chunks(5), Feed::Chunks(16), Feed::Chunks(1)];

/// Checks every model on every backend, and reports all that deviate. All levels of the CPU have the same bits in every
/// chunk, which is tested for each operation, so all but the fastest run one of the feeds, another one for each model.
fn check_all(models: &[PathBuf]) {
    let reference = Arc::new(ReferenceBackend::new());
    let mut failures = check_on(models, &reference, [MAX_RELATIVE_ERROR; 2], |_| &FEEDS);
    let levels = Isa::available();
    for (level, &isa) in levels.iter().enumerate() {
        let is_fastest = level + 1 == levels.len();
        let feeds = |model: usize| match is_fastest {
            true => &FEEDS[..],
            false => std::slice::from_ref(&FEEDS[(model + level) % FEEDS.len()]),
        };
        let bounds = [MAX_RELATIVE_ERROR, MAX_QUANTIZED_ERROR];
        failures.extend(check_on(models, &cpu(isa), bounds, feeds));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

pub fn cpu(isa: Isa) -> Arc<CpuBackend> {
    let options = CpuOptions { isa: Some(isa), threads: Some(2) };
    Arc::new(CpuBackend::new(options).expect("an available level"))
}

/// Checks models on one backend, each with the feeds that `feeds` returns for its index. The bounds are those for float
/// weights and for quantized ones.
fn check_on<B: Backend>(
    models: &[PathBuf],
    backend: &Arc<B>,
    bounds: [f64; 2],
    feeds: impl Fn(usize) -> &'static [Feed],
) -> Vec<String> {
    let mut failures = Vec::new();
    for (number, path) in models.iter().enumerate() {
        let bound = bounds[usize::from(is_quantized(path))];
        let answer = ReferenceLogits::read(&path.with_extension("json"));
        let model = load(path, Arc::clone(backend));
        for &feed in feeds(number) {
            let found = logits(&model, &answer.tokens, feed);
            failures.extend(deviation(bound, &answer, &found).map(|deviation| {
                format!("{} {} {feed:?}: {deviation}", path.display(), backend.describe())
            }));
        }
    }
    failures
}

/// The bounds for float and for quantized weights on a GPU.
pub fn gpu_bounds(backend: &GpuBackend) -> [f64; 2] {
    match backend.has_matrices() {
        true => [MAX_MATRIX_ERROR; 2],
        false => [MAX_RELATIVE_ERROR, MAX_INTEGER_ERROR],
    }
}

#[test]
fn every_fixture_matches_transformers_for_every_chunking() {
    let models = models_under(&fixtures());
    assert!(models.len() >= 12, "fixtures are missing: {models:?}");
    check_all(&models);
}

#[test]
fn every_fixture_matches_transformers_on_a_gpu() {
    let Some(backend) = adapter() else { return };
    let failures = check_on(&models_under(&fixtures()), backend, gpu_bounds(backend), |_| &FEEDS);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The models whose reference answers are those of llama.cpp.
fn llama_cpp_models() -> Vec<PathBuf> {
    let models = models_under(&fixtures().join("llama_cpp"));
    assert!(!models.is_empty(), "fixtures are missing");
    models
}

#[test]
fn every_fixture_matches_llama_cpp_for_every_chunking() {
    check_all(&llama_cpp_models());
}

#[test]
fn every_fixture_matches_llama_cpp_on_a_gpu() {
    let Some(backend) = adapter() else { return };
    let failures = check_on(&llama_cpp_models(), backend, gpu_bounds(backend), |_| &FEEDS);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_oracle_model_matches_transformers_on_a_gpu() {
    let Some(backend) = adapter() else { return };
    // Two feeds for each of these many models, all four for the fixtures.
    let feeds = |model: usize| &FEEDS[model % 2 * 2..][..2];
    let failures = check_on(&oracle_models(), backend, gpu_bounds(backend), feeds);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_oracle_model_matches_transformers_for_every_chunking() {
    check_all(&oracle_models());
}

/// The models of the folder of reference answers that are supported.
pub fn oracle_models() -> Vec<PathBuf> {
    let Some(oracle) = oracle() else { return Vec::new() };
    let mut models = models_under(&oracle.join("logits"));
    models.retain(|path| is_supported(path));
    assert!(!models.is_empty(), "no supported models under {}", oracle.display());
    models
}

#[test]
fn every_model_of_the_oracle_is_supported() {
    let Some(oracle) = oracle() else { return };
    for path in models_under(&oracle.join("logits")) {
        let checkpoint = Gguf::open(&path).expect("a file");
        if let Err(error) = ModelSpec::from_checkpoint(&checkpoint) {
            panic!("{}: {error}", path.display());
        }
    }
}

/// Whether `isa` adds products of a model in an order of its own, as AMX does those of F16 and BF16 weights.
fn own_order(isa: Isa, path: &Path) -> bool {
    let checkpoint = Gguf::open(path).expect("a sound file");
    let mut types = checkpoint.tensors().iter().map(|tensor| tensor.ggml_type().name());
    isa == Isa::Amx && types.any(|name| ["F16", "BF16"].contains(&name))
}

#[test]
fn logits_do_not_depend_on_instruction_set_chunking_or_batch() {
    for name in ["qwen3moe.gguf", "mistral-window.gguf", "llama-biases.gguf"] {
        let path = fixtures().join(name);
        let answer = ReferenceLogits::read(&path.with_extension("json"));
        let other: Vec<u32> = answer.tokens.iter().rev().copied().collect();
        let scalar = load(&path, cpu(Isa::Scalar));
        let expected = logits(&scalar, &answer.tokens, Feed::Whole);
        for isa in Isa::available() {
            let model = load(&path, cpu(isa));
            let own = own_order(isa, &path).then(|| logits(&model, &answer.tokens, Feed::Whole));
            let expected = own.unwrap_or_else(|| expected.clone());
            for feed in [Feed::Whole, Feed::Chunks(7), Feed::Chunks(1)] {
                let found = logits(&model, &answer.tokens, feed);
                assert_eq!(expected, found, "{name} on {isa:?}, {feed:?}");
            }
            let together = logits_of_two(&model, &other, &answer.tokens);
            assert_eq!(expected, together, "{name} on {isa:?}, beside another sequence");
        }
    }
}

#[test]
fn logits_do_not_depend_on_chunking_or_batch_on_a_gpu() {
    let Some(backend) = adapter() else { return };
    if backend.has_matrices() {
        println!("skipped: many rows are multiplied by cooperative matrices, few are not");
        return;
    }
    for name in
        ["qwen3moe.gguf", "mistral-window.gguf", "llama-biases.gguf", "nemotron-h-latent.gguf"]
    {
        let path = fixtures().join(name);
        let answer = ReferenceLogits::read(&path.with_extension("json"));
        let other: Vec<u32> = answer.tokens.iter().rev().copied().collect();
        let model = load(&path, Arc::clone(backend));
        let expected = logits(&model, &answer.tokens, Feed::Whole);
        for feed in [Feed::Chunks(7), Feed::Chunks(1)] {
            let found = logits(&model, &answer.tokens, feed);
            assert_eq!(expected, found, "{name}, {feed:?}");
        }
        let together = logits_of_two(&model, &other, &answer.tokens);
        assert_eq!(expected, together, "{name}, next to another sequence");
    }
}
