//! Mixtures of experts whose experts are on another device than the rest of the model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inferno_backend::{Backend, ReferenceBackend};
use inferno_conformance::gpu::adapter;
use inferno_cpu::{CpuBackend, Isa};
use inferno_gguf::Gguf;
use inferno_model::{Footprint, LoadProgress, Model, ModelSpec, SeparateExperts};

use crate::logits::{
    MAX_QUANTIZED_ERROR, MAX_RELATIVE_ERROR, cpu, deviation, gpu_bounds, oracle_models,
};
use crate::support::file::File;
use crate::support::{
    Feed, ReferenceLogits, fixtures, is_quantized, limits, logits, logits_of_two, models_under,
};

fn best_cpu() -> Arc<CpuBackend> {
    cpu(Isa::available().into_iter().last().expect("the scalar code is always available"))
}

fn open(path: &Path) -> (Gguf, ModelSpec) {
    let checkpoint = Gguf::open(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let spec = ModelSpec::from_checkpoint(&checkpoint).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    (checkpoint, spec)
}

/// A model with the experts of its first `num_layers` layers on another device; `None` if there are none.
fn load<B: Backend, E: Backend>(
    path: &Path,
    backend: &Arc<B>,
    experts_backend: &Arc<E>,
    num_layers: usize,
) -> Option<Model<B>> {
    let (checkpoint, spec) = open(path);
    let (rest, experts) = spec.separate_experts(0..num_layers)?;
    let mut last = LoadProgress { loaded_bytes: 0, total_bytes: 0 };
    let mut on_progress = |progress: LoadProgress| {
        assert!(progress.loaded_bytes >= last.loaded_bytes, "{path:?}: {progress:?}");
        last = progress;
    };
    let (backend, experts_backend) = (Arc::clone(backend), Arc::clone(experts_backend));
    let experts =
        SeparateExperts::load(experts, &checkpoint, experts_backend, None, &mut on_progress)
            .unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let model =
        Model::load_stage(rest, Some(experts), &checkpoint, backend, None, &mut on_progress)
            .unwrap_or_else(|e| panic!("{path:?}: {e}"));
    Some(model)
}

/// Compares the models that have experts with transformers, and returns their number.
fn check<B: Backend, E: Backend>(
    models: &[PathBuf],
    backend: &Arc<B>,
    experts: &Arc<E>,
    [float_bound, quantized_bound]: [f64; 2],
) -> usize {
    let mut num_models = 0;
    for path in models {
        let Some(model) = load(path, backend, experts, usize::MAX) else { continue };
        num_models += 1;
        let bound = if is_quantized(path) { quantized_bound } else { float_bound };
        let answer = ReferenceLogits::read(&path.with_extension("json"));
        for feed in [Feed::Whole, Feed::Chunks(5)] {
            let found = logits(&model, &answer.tokens, feed);
            assert_eq!(deviation(bound, &answer, &found), None, "{} {feed:?}", path.display());
        }
    }
    num_models
}

#[test]
fn mixtures_with_separate_experts_match_transformers() {
    let reference = Arc::new(ReferenceBackend::new());
    let models = models_under(&fixtures());
    assert!(check(&models, &reference, &reference, [MAX_RELATIVE_ERROR; 2]) >= 3);
    let bounds = [MAX_RELATIVE_ERROR, MAX_QUANTIZED_ERROR];
    check(&models, &reference, &best_cpu(), bounds);
    check(&oracle_models(), &reference, &best_cpu(), bounds);
}

#[test]
fn mixtures_on_a_gpu_with_experts_on_the_cpu_match_transformers() {
    let Some(gpu) = adapter() else { return };
    let bounds = [gpu_bounds(gpu)[0], MAX_QUANTIZED_ERROR];
    assert!(check(&models_under(&fixtures()), gpu, &best_cpu(), bounds) >= 3);
    check(&oracle_models(), gpu, &best_cpu(), bounds);
}

/// Checks that results do not depend on what else is in a batch.
fn check_batches<B: Backend>(path: &Path, backend: &Arc<B>, num_layers: usize) {
    let answer = ReferenceLogits::read(&path.with_extension("json"));
    let other: Vec<u32> = answer.tokens.iter().rev().copied().collect();
    let model = load(path, backend, &best_cpu(), num_layers).expect("a mixture of experts");
    let expected = logits(&model, &answer.tokens, Feed::Whole);
    for feed in [Feed::Chunks(7), Feed::Chunks(1)] {
        assert_eq!(logits(&model, &answer.tokens, feed), expected, "{path:?} {feed:?}");
    }
    assert_eq!(logits_of_two(&model, &other, &answer.tokens), expected, "{path:?}");
}

#[test]
fn logits_do_not_depend_on_chunking_or_batch() {
    for name in ["qwen3moe.gguf", "nemotron-h-latent.gguf", "mixtral.gguf"] {
        let path = fixtures().join(name);
        check_batches(&path, &best_cpu(), usize::MAX);
        // The experts of some layers on either device.
        if load(&path, &best_cpu(), &best_cpu(), 1).is_some() {
            check_batches(&path, &best_cpu(), 1);
        }
        if let Some(gpu) = adapter() {
            check_batches(&path, gpu, usize::MAX);
        }
    }
}

#[test]
fn the_parts_of_a_model_have_the_weights_of_the_whole() {
    let backend = ReferenceBackend::new();
    for path in models_under(&fixtures()) {
        let (checkpoint, spec) = open(&path);
        let Some((rest, experts)) = spec.separate_experts(0..usize::MAX) else {
            assert!(!spec.has_separable_experts(), "{path:?}");
            continue;
        };
        let [whole, rest, experts] = [&spec, &rest, &experts].map(|spec| {
            let cache = inferno_model::CacheLayout {
                kv: spec.kv_layout(0, inferno_backend::KvDType::F32),
                state: None,
            };
            Footprint::estimate(&checkpoint, spec, &backend, None, &cache, limits(4))
                .expect("a sound model")
                .weight_bytes
        });
        assert!(rest < whole && experts < whole, "{path:?}");
        // Both parts have the norms of the blocks.
        let norms = (rest + experts).checked_sub(whole).expect("every weight is in one of them");
        assert!(norms <= spec.num_layers() * spec.hidden_size * 4 * 4, "{path:?}: {norms}");
    }
}

#[test]
fn weights_of_the_sparse_mixer_are_never_normalized() {
    let mut file = File::fixture("phimoe.gguf");
    let tokens: Vec<u32> = (0..13).map(|i| i * 7 % 24).collect();
    let mut compute = |normalize: bool| {
        file.metadata.insert("phimoe.expert_weights_norm", normalize);
        let model = Model::load(&file.write(), best_cpu(), None, &mut |_| ());
        logits(&model.expect("a valid model"), &tokens, Feed::Whole)
    };
    assert_eq!(compute(true), compute(false));
}

#[test]
fn experts_that_read_the_input_of_their_layer_are_not_separated() {
    for (name, expected) in [("smallthinker", false), ("arctic", false), ("mellum", true)] {
        let (_, spec) = open(&fixtures().join(format!("llama_cpp/{name}.gguf")));
        assert_eq!(spec.has_separable_experts(), expected, "{name}");
        assert_eq!(spec.separate_experts(0..usize::MAX).is_some(), expected, "{name}");
    }
}
