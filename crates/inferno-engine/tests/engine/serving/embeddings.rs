//! Embeddings.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use inferno_backend::{KvDType, ReferenceBackend};
use inferno_engine::{
    CoreOptions, EmbeddingRequest, Engine, EngineError, EngineOptions, Event, EventStream,
    Fingerprint, Finished, GenerationCore, ModelRunner, Pooling, RunnerOptions, SubmitError,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model};
use proptest::prelude::*;
use serde::Deserialize;

use super::endings::gated;
use super::{CONTEXT_LENGTH, alone, at_rest, engine, events, failure, only, runner, submit};
use crate::cores::core_with;
use crate::fake_runner::{HIDDEN_SIZE, Outcome};
use crate::models::{checkpoints, small_models};
use crate::session::greedy;
use crate::vocabulary::{VOCAB_SIZE, tokenizer_of};

fn asked(prompt: &[u32], pooling: Pooling) -> EmbeddingRequest {
    EmbeddingRequest::new(prompt.to_vec(), pooling)
}

fn embed(engine: &Engine, prompt: &[u32], pooling: Pooling) -> EventStream {
    engine.handle().embed(asked(prompt, pooling)).expect("a sound request")
}

/// The vector and the final event, which are the only events.
fn vector(stream: EventStream) -> (Vec<f32>, Finished) {
    match events(stream).as_slice() {
        [Event::Embedding(vector), Event::Finished(end)] => (vector.clone(), end.clone()),
        other => panic!("not a vector and an end: {other:?}"),
    }
}

#[test]
fn inputs_of_an_admitted_request_are_never_rejected() {
    let (runner, permits) = gated(runner(40));
    let core =
        core_with(runner, CoreOptions { max_num_sequences: Some(1), ..CoreOptions::default() });
    let options = EngineOptions { max_num_waiting: 2, ..EngineOptions::default() };
    let engine = Engine::start(&core, options).expect("a sound runner");
    let handle = engine.handle();
    let admission = handle.admit(2).expect("an empty queue");
    let input = || asked(&[2, 3], Pooling::Last);
    assert!(matches!(handle.embed(input()), Err(SubmitError::QueueFull { limit: 2 })));
    let mut streams: Vec<_> = (0..3).map(|_| admission.embed(input()).expect("a place")).collect();
    handle.drain();
    assert!(matches!(handle.admit(1), Err(SubmitError::Draining)));
    streams.extend((0..3).map(|_| admission.embed(input()).expect("an admitted request")));
    drop(permits);
    let mut vectors = streams.into_iter().map(|stream| vector(stream).0);
    let first = vectors.next().expect("six vectors");
    assert!(vectors.all(|vector| vector == first));
    engine.shut_down();
    assert!(matches!(admission.embed(input()), Err(SubmitError::Stopped)));
}

#[test]
fn places_that_an_admitted_request_does_not_use_are_returned() {
    let engine = engine(runner(40));
    let limit = engine.handle().options().max_num_waiting;
    let admission = engine.handle().admit(limit).expect("an empty queue");
    assert!(matches!(engine.handle().admit(1), Err(SubmitError::QueueFull { .. })));
    drop(admission);
    engine.handle().admit(limit).expect("an empty queue");
}

#[test]
fn embeddings_match_the_hidden_states_of_transformers() {
    #[derive(Deserialize)]
    struct Answer {
        tokens: Vec<u32>,
        hidden: Vec<Vec<f64>>,
    }
    for path in checkpoints(&small_models()) {
        let checkpoint = Gguf::open(&path).expect("a sound file");
        let answer =
            fs::read(path.with_extension("json")).expect("reference logits for each model");
        let answer: Answer = serde_json::from_slice(&answer).expect("tokens and hidden states");
        let backend = Arc::new(ReferenceBackend::new());
        let model = Model::load(&checkpoint, backend, None, &mut |_| ()).expect("a sound model");
        let options = RunnerOptions {
            kv_dtype: Some(KvDType::F32),
            limits: BatchLimits { max_num_tokens: 9, max_num_logit_rows: 2 },
            ..RunnerOptions::default()
        };
        let fingerprint = Fingerprint::of_model(&checkpoint, None);
        let runner = ModelRunner::new(model, fingerprint, options).expect("room for it");
        let core = GenerationCore::new(Box::new(runner), tokenizer_of(64), CoreOptions::default());
        let core = core.expect("a sound runner");
        let engine = Engine::start(&core, EngineOptions::default()).expect("a sound engine");
        let Answer { tokens, hidden } = answer;
        let len = tokens.len();
        let size = engine.handle().hidden_size();
        let mean: Vec<f64> = (0..size)
            .map(|at| hidden.iter().map(|state| state[at]).sum::<f64>() / len as f64)
            .collect();
        for (pooling, expected) in [(Pooling::Last, &hidden[len - 1]), (Pooling::Mean, &mean)] {
            let (found, end) = vector(embed(&engine, &tokens, pooling));
            assert_eq!((found.len(), end.prompt_tokens), (size, len));
            let norm = expected.iter().map(|value| value * value).sum::<f64>().sqrt();
            for (found, expected) in found.iter().zip(expected) {
                let difference = (f64::from(*found) - expected / norm).abs();
                assert!(difference < 1e-4, "{} {pooling:?}: {difference:.1e}", path.display());
            }
        }
    }
}

fn pooling() -> impl Strategy<Value = Pooling> {
    prop_oneof![Just(Pooling::Last), Just(Pooling::Mean)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn an_embedding_does_not_depend_on_concurrent_requests(
        texts in prop::collection::vec((prop::collection::vec(2u32..5, 1..40), pooling()), 1..12),
        num_blocks in 16usize..30,
    ) {
        let crowded = engine(runner(num_blocks));
        let mut answers = Vec::new();
        let mut vectors = Vec::new();
        for (text, pooling) in &texts {
            answers.push(submit(&crowded, text, &greedy(10)));
            vectors.push(embed(&crowded, text, *pooling));
        }
        for ((text, pooling), stream) in texts.iter().zip(vectors) {
            let (found, end) = vector(stream);
            let (expected, _) = vector(embed(&engine(runner(60)), text, *pooling));
            prop_assert_eq!(found.len(), HIDDEN_SIZE);
            prop_assert_eq!(found, expected);
            prop_assert_eq!((end.generated_tokens, end.prompt_tokens), (0, text.len()));
            prop_assert!(*pooling == Pooling::Last || end.cached_tokens == 0);
        }
        for ((text, _), stream) in texts.iter().zip(answers) {
            prop_assert_eq!(only(stream).0, alone(text, &greedy(10)));
        }
        let blocks = at_rest(&crowded).blocks;
        prop_assert_eq!(blocks.num_free + blocks.num_cached, num_blocks);
    }
}

#[test]
fn a_cached_input_is_not_recomputed_for_its_last_state() {
    let engine = engine(runner(40));
    let text: Vec<u32> = (2..22).collect();
    let (first, end) = vector(embed(&engine, &text, Pooling::Last));
    assert_eq!(end.cached_tokens, 0);
    let (again, end) = vector(embed(&engine, &text, Pooling::Last));
    assert_eq!((end.cached_tokens, again), (16, first));
    let (said, end) = only(submit(&engine, &text, &greedy(4)));
    assert_eq!((said, end.cached_tokens), (alone(&text, &greedy(4)), 16));
}

#[test]
fn an_input_may_fill_the_context_but_not_exceed_it() {
    let engine = engine(runner(40));
    let (found, _) = vector(embed(&engine, &[3; CONTEXT_LENGTH], Pooling::Mean));
    assert_eq!(found.len(), HIDDEN_SIZE);
    let refused = |prompt: &[u32]| match engine.handle().embed(asked(prompt, Pooling::Mean)) {
        Err(SubmitError::Refused(error)) => *error,
        other => panic!("it was not refused: {other:?}"),
    };
    let long = refused(&[3; CONTEXT_LENGTH + 1]);
    assert!(matches!(long, EngineError::PromptTooLong { prompt_tokens: 65, .. }), "{long}");
    assert!(matches!(refused(&[]), EngineError::EmptyPrompt));
    let unknown = refused(&[VOCAB_SIZE as u32]);
    assert!(matches!(unknown, EngineError::TokenOutOfRange { .. }), "{unknown}");
}

#[test]
fn a_failed_pass_fails_one_request_and_not_the_next() {
    for (outcome, word) in
        [(Outcome::Fails, "as the test requested"), (Outcome::GivesNan, "not finite")]
    {
        let first_fails = move |pass| if pass == 0 { outcome } else { Outcome::Runs };
        let engine = engine(runner(40).with_hook(first_fails));
        let error = failure(embed(&engine, &[3; 9], Pooling::Mean));
        assert!(error.contains(word), "{error}");
        vector(embed(&engine, &[3; 9], Pooling::Mean));
        assert_eq!(at_rest(&engine).num_running, 0);
    }
}

#[test]
fn a_failed_embedding_pass_does_not_fail_generations_of_the_same_step() {
    let (runner, permits) = gated(runner(40).with_failing_hidden_passes());
    let engine = engine(runner);
    let prompt: Vec<u32> = (2..30).collect();
    let generation = submit(&engine, &prompt, &greedy(10));
    let embedding = embed(&engine, &[3; 4], Pooling::Mean);
    drop(permits);
    let error = failure(embedding);
    assert!(error.contains("no hidden states"), "{error}");
    assert_eq!(only(generation).0, alone(&prompt, &greedy(10)));
    let snapshot = at_rest(&engine);
    assert_eq!((snapshot.failed_steps, snapshot.num_running), (1, 0));
}

#[test]
fn an_expired_deadline_ends_an_embedding_without_a_vector() {
    let engine = engine(runner(40));
    let request =
        EmbeddingRequest { deadline: Some(Instant::now()), ..asked(&[3; 9], Pooling::Last) };
    let stream = engine.handle().embed(request).expect("a sound request");
    match events(stream).as_slice() {
        [Event::Finished(end)] => assert_eq!(end.reason.name(), "deadline_exceeded"),
        other => panic!("not an end: {other:?}"),
    }
}
