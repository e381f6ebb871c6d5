//! Encoders, rerankers and embedding decoders: pooled as transformers' hidden states are, next to each other, on every device.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inferno_backend::{Backend, KvDType, ReferenceBackend};
use inferno_conformance::gpu::adapter;
use inferno_engine::{
    CoreOptions, EmbeddingForm, EmbeddingRequest, Engine, EngineError, EngineOptions, Event,
    EventStream, Fingerprint, GenerationCore, ModelRunner, PooledHead, Pooling, Request,
    RunnerOptions, ScoringRequest, SubmitError, warm_up,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model, ModelSpec};
use inferno_tokenizer::Tokenizer;
use serde::Deserialize;

use crate::models::{checkpoints, small_models};
use crate::serving::events;
use crate::session::greedy;

/// The longest input of a fixture, for encoders the length of a pass.
const CONTEXT_LENGTH: usize = 64;

/// What transformers computes, see `make_encoders.py`.
#[derive(Deserialize)]
struct Answers {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    tokens: Vec<u32>,
    second_segment: Option<usize>,
    embeddings: Option<Vec<Vec<f64>>>,
    scores: Option<Vec<f64>>,
}

/// An encoder or a reranker.
struct Encoder {
    name: String,
    checkpoint: Gguf,
    cases: Vec<Case>,
}

impl Encoder {
    fn open(path: &Path) -> Self {
        let answers = std::fs::read(path.with_extension("json")).expect("an answer");
        let Answers { mut cases } = serde_json::from_slice(&answers).expect("cases");
        cases.retain(|case| case.tokens.len() <= CONTEXT_LENGTH);
        assert!(!cases.is_empty(), "{}", path.display());
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Self { name, checkpoint: Gguf::open(path).expect("a sound file"), cases }
    }

    fn runner<B: Backend>(&self, backend: &Arc<B>) -> ModelRunner {
        let checkpoint = &self.checkpoint;
        let model = Model::load(checkpoint, Arc::clone(backend), None, &mut |_| ());
        let model = model.expect("a sound model");
        // Decoders compute longer inputs in chunks.
        let max_num_tokens = if model.spec().is_causal { 9 } else { CONTEXT_LENGTH };
        let options = RunnerOptions {
            context_length: Some(CONTEXT_LENGTH),
            cache_tokens: Some(4 * CONTEXT_LENGTH),
            kv_dtype: Some(KvDType::F32),
            limits: BatchLimits { max_num_tokens, max_num_logit_rows: 3 },
            prefix_cache: false,
            ..RunnerOptions::default()
        };
        let head = PooledHead::load(checkpoint, model.spec()).expect("a sound head");
        let fingerprint = Fingerprint::of_model(checkpoint, None);
        let runner = ModelRunner::new(model, fingerprint, options).expect("room for it");
        runner.with_pooled_head(head)
    }

    fn engine(&self, runner: ModelRunner) -> Engine {
        let tokenizer = Tokenizer::from_metadata(self.checkpoint.metadata()).expect("a tokenizer");
        let options = CoreOptions::default();
        let core = GenerationCore::new(Box::new(runner), Arc::new(tokenizer), options);
        let core = core.expect("a sound runner");
        Engine::start(&core, EngineOptions::default()).expect("a sound core")
    }

    fn spec(&self) -> ModelSpec {
        ModelSpec::from_checkpoint(&self.checkpoint).expect("a sound model")
    }

    /// What is expected of every case under every pooling.
    fn expected(&self) -> Vec<(&Case, Pooling, Vec<f64>)> {
        let mut expected = Vec::new();
        for case in &self.cases {
            if let Some(scores) = &case.scores {
                expected.push((case, Pooling::Rank, scores.clone()));
            }
            if let Some(states) = &case.embeddings {
                let (len, size) = (states.len(), states[0].len());
                let mean =
                    (0..size).map(|at| states.iter().map(|it| it[at]).sum::<f64>() / len as f64);
                expected.extend([
                    (case, Pooling::Cls, states[0].clone()),
                    (case, Pooling::Mean, mean.collect()),
                    (case, Pooling::Last, states[len - 1].clone()),
                    (case, Pooling::None, states.concat()),
                ]);
            }
        }
        expected
    }

    /// Submits all cases under all poolings at once, and compares the vectors.
    fn check(&self, runner: ModelRunner, bound: f64) {
        let engine = self.engine(runner);
        let expected = self.expected();
        let streams: Vec<_> = expected
            .iter()
            .map(|(case, pooling, _)| {
                let request = EmbeddingRequest {
                    second_segment: case.second_segment,
                    form: EmbeddingForm { normalize: false, dimensions: None },
                    ..EmbeddingRequest::new(case.tokens.clone(), *pooling)
                };
                engine.handle().embed(request).expect("a sound request")
            })
            .collect();
        let has_projections = self.has_projections();
        for ((_, pooling, expected), stream) in expected.iter().zip(streams) {
            let found = vector(stream);
            let is_pooled = matches!(pooling, Pooling::Cls | Pooling::Mean | Pooling::Last);
            if is_pooled && has_projections {
                continue;
            }
            assert_eq!(found.len(), expected.len(), "{} {pooling:?}", self.name);
            let largest = expected.iter().fold(1.0_f64, |largest, it| largest.max(it.abs()));
            for (&found, expected) in found.iter().zip(expected) {
                let error = (f64::from(found) - expected).abs() / largest;
                assert!(error < bound, "{} {pooling:?}: {found} for {expected}", self.name);
            }
        }
        engine.shut_down();
    }

    fn has_projections(&self) -> bool {
        self.checkpoint.tensors().iter().any(|tensor| tensor.name().starts_with("dense_2"))
    }
}

fn vector(stream: EventStream) -> Vec<f32> {
    match &events(stream)[..] {
        [Event::Embedding(vector), Event::Finished(_)] => vector.clone(),
        other => panic!("not a vector and an end: {other:?}"),
    }
}

fn encoders() -> Vec<Encoder> {
    let paths: Vec<PathBuf> = checkpoints(&small_models().join("encoders"));
    paths.iter().map(|path| Encoder::open(path)).collect()
}

#[test]
fn every_pooling_matches_transformers() {
    let backend = Arc::new(ReferenceBackend::new());
    for encoder in encoders() {
        encoder.check(encoder.runner(&backend), 1e-4);
    }
}

#[test]
fn every_pooling_matches_transformers_on_a_gpu_after_a_warm_up() {
    let Some(gpu) = adapter() else { return };
    // The inputs of cooperative matrices are rounded to f16.
    let bound = if gpu.has_matrices() { 1e-2 } else { 1e-4 };
    for encoder in encoders() {
        let mut runner = encoder.runner(gpu);
        warm_up(&mut runner).expect("room for every pass");
        encoder.check(runner, bound);
    }
}

#[test]
fn a_warm_up_computes_passes_of_models_without_logits() {
    let backend = Arc::new(ReferenceBackend::new());
    for encoder in encoders().into_iter().filter(|encoder| !encoder.spec().has_logits()) {
        let mut runner = encoder.runner(&backend);
        warm_up(&mut runner).expect("room for every pass");
        encoder.check(runner, 1e-4);
    }
}

#[test]
fn models_without_logits_reject_requests_that_need_them() {
    let backend = Arc::new(ReferenceBackend::new());
    for (name, expects_reranker) in [("bert", false), ("xlm-roberta-reranker", true)] {
        let path = small_models().join("encoders").join(name).with_extension("gguf");
        let encoder = Encoder::open(&path);
        let engine = encoder.engine(encoder.runner(&backend));
        let handle = engine.handle();
        let scoring = ScoringRequest { context: vec![5, 6], continuation: vec![7, 8] };
        let answers = [
            handle.score(scoring),
            handle.logits(vec![5, 6], true),
            handle.submit(Request::new(vec![5, 6], greedy(4))),
        ];
        for answer in answers {
            let Err(SubmitError::Refused(error)) = answer else { panic!("it was accepted") };
            let EngineError::NoLogits { is_reranker } = *error else { panic!("{error}") };
            assert_eq!(is_reranker, expects_reranker);
        }
        let rank = handle.embed(EmbeddingRequest::new(vec![5, 6], Pooling::Rank));
        assert_eq!(rank.is_ok(), expects_reranker);
        engine.shut_down();
    }
}

#[test]
fn an_input_may_fill_the_context_of_an_encoder_but_not_exceed_it() {
    let backend = Arc::new(ReferenceBackend::new());
    let encoder = Encoder::open(&small_models().join("encoders/bert.gguf"));
    let runner = encoder.runner(&backend);
    let long = EmbeddingRequest::new(vec![5; CONTEXT_LENGTH], Pooling::Cls);
    let longer = EmbeddingRequest::new(vec![5; CONTEXT_LENGTH + 1], Pooling::Cls);
    let engine = encoder.engine(runner);
    vector(engine.handle().embed(long).expect("it fits"));
    let error = engine.handle().embed(longer).expect_err("it exceeds the context");
    assert!(error.to_string().contains("64"), "{error}");
    engine.shut_down();
}
