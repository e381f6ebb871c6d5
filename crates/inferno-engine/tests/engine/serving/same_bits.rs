//! Concurrent requests are bit-identical to solo runs.

use std::sync::Arc;

use inferno_backend::ReferenceBackend;
use inferno_engine::{
    CoreOptions, Engine, EngineOptions, Fingerprint, GenerationParams, ModelRunner, Request,
    RunnerOptions, SamplingParams, Session, SessionOptions, StopParams,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model};
use proptest::prelude::*;

use super::{alone, at_rest, engine, only, put_together, runner, submit};
use crate::cores::{core, core_with};
use crate::models::{checkpoints, small_models};
use crate::session::speculation::dry;
use crate::vocabulary::VOCAB_SIZE;

/// A request of the property test.
#[derive(Debug, Clone)]
struct Asked {
    prompt: Vec<u32>,
    params: GenerationParams,
    num_choices: usize,
    priority: i32,
    /// Drops the stream before the end.
    is_dropped_after: Option<usize>,
}

fn asked() -> impl Strategy<Value = Asked> {
    // Prompts share a prefix and differ at the end.
    let prompt = (0usize..30, prop::collection::vec(2u32..VOCAB_SIZE as u32, 1..15));
    let prompt = prompt.prop_map(|(len, end)| {
        (0..len as u32).map(|at| 2 + at * at % 7).chain(end).collect::<Vec<_>>()
    });
    let penalties = (1.0f32..1.3, prop::option::of(dry()));
    let params = (any::<u64>(), 0.1f32..2.0, 0usize..6, penalties, 1usize..25).prop_map(
        |(seed, temperature, top_k, (repetition_penalty, dry), max_tokens)| GenerationParams {
            sampling: SamplingParams {
                temperature,
                top_k,
                repetition_penalty,
                dry: dry.unwrap_or_default(),
                seed: Some(seed),
                logprobs: Some(1),
                ..SamplingParams::default()
            },
            stop: StopParams {
                max_tokens: Some(max_tokens),
                stop: vec!["ab".to_owned()],
                ..StopParams::default()
            },
            ..GenerationParams::default()
        },
    );
    let dropped = prop::option::weighted(0.2, 0usize..10);
    (prompt, params, 1usize..4, -1i32..2, dropped).prop_map(
        |(prompt, params, num_choices, priority, is_dropped_after)| Asked {
            prompt,
            params,
            num_choices,
            priority,
            is_dropped_after,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn each_choice_of_many_requests_matches_a_solo_run(
        requests in prop::collection::vec(asked(), 1..12),
        num_blocks in 16usize..40,
    ) {
        let engine = engine(runner(num_blocks));
        let streams: Vec<_> = requests
            .iter()
            .map(|asked| {
                let request = Request {
                    num_choices: asked.num_choices,
                    priority: asked.priority,
                    ..Request::new(asked.prompt.clone(), asked.params.clone())
                };
                engine.handle().submit(request).expect("a sound request")
            })
            .collect();
        for (asked, mut stream) in requests.iter().zip(streams) {
            if let Some(count) = asked.is_dropped_after {
                (0..count).for_each(|_| drop(stream.blocking_next()));
                continue;
            }
            let events = super::events(stream);
            for choice in 0..asked.num_choices {
                let mut params = asked.params.clone();
                let seed = params.sampling.seed.expect("it has one");
                params.sampling.seed = Some(seed.wrapping_add(choice as u64));
                let (said, end) = put_together(&events, choice);
                prop_assert_eq!(said, alone(&asked.prompt, &params));
                prop_assert_eq!(end.prompt_tokens, asked.prompt.len());
                prop_assert!(end.cached_tokens < asked.prompt.len());
                prop_assert!(end.timings.queued <= end.timings.total);
            }
        }
        let snapshot = at_rest(&engine);
        let blocks = snapshot.blocks;
        prop_assert_eq!((snapshot.num_running, snapshot.num_waiting), (0, 0));
        prop_assert_eq!(blocks.num_free + blocks.num_cached, num_blocks);
    }
}

#[test]
fn a_very_small_cache_does_not_change_answers() {
    let engine = engine(runner(17));
    let requests: Vec<_> = (0..24u32)
        .map(|index| {
            let prompt: Vec<u32> =
                (0..20).map(|at| 2 + (at * (index % 3 + 1) + index / 6) % 30).collect();
            let mut params = crate::session::greedy(30);
            params.sampling = SamplingParams { seed: Some(index.into()), ..Default::default() };
            (prompt, params)
        })
        .collect();
    let streams: Vec<_> =
        requests.iter().map(|(prompt, params)| submit(&engine, prompt, params)).collect();
    let mut num_preemptions = 0;
    for ((prompt, params), stream) in requests.iter().zip(streams) {
        let (said, end) = only(stream);
        assert_eq!(said, alone(prompt, params));
        num_preemptions += end.timings.num_preemptions;
    }
    let snapshot = at_rest(&engine);
    assert!(num_preemptions > 0, "the test needs a smaller cache");
    assert_eq!(snapshot.scheduler.preemptions, num_preemptions as u64);
    assert_eq!((snapshot.prompt_tokens, snapshot.generation_tokens), (24 * 20, 24 * 30));
}

/// A small model on the reference backend.
pub fn model_runner(checkpoint: &Gguf, cache_tokens: Option<usize>) -> ModelRunner {
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load(checkpoint, backend, None, &mut |_| ()).expect("a sound model");
    let options = RunnerOptions {
        context_length: Some(64),
        cache_tokens,
        kv_dtype: None,
        limits: BatchLimits { max_num_tokens: 24, max_num_logit_rows: 8 },
        ..RunnerOptions::default()
    };
    let fingerprint = Fingerprint::of_model(checkpoint, None);
    ModelRunner::new(model, fingerprint, options).expect("room for it")
}

#[test]
fn models_answer_many_requests_like_single_ones() {
    for path in checkpoints(&small_models()) {
        let checkpoint = Gguf::open(&path).expect("a sound file");
        let options = CoreOptions { max_num_sequences: Some(6), ..CoreOptions::default() };
        let shared = core_with(model_runner(&checkpoint, Some(96)), options);
        let engine = Engine::start(&shared, EngineOptions::default()).expect("a sound engine");
        let requests: Vec<_> = (0..8u32)
            .map(|index| {
                let prompt: Vec<u32> = (0..17 + index).map(|at| 2 + at % 29).collect();
                let mut params = crate::session::greedy(24);
                params.sampling = SamplingParams { seed: Some(index.into()), ..Default::default() };
                (prompt, params)
            })
            .collect();
        let streams: Vec<_> =
            requests.iter().map(|(prompt, params)| submit(&engine, prompt, params)).collect();
        for ((prompt, params), stream) in requests.iter().zip(streams) {
            let solo = core(model_runner(&checkpoint, None));
            let mut session = Session::new(solo, SessionOptions::default()).expect("sound");
            let generation = session.generate(prompt, params).expect("a sound request");
            let expected = generation.complete().expect("a sound model");
            assert_eq!(only(stream).0, expected, "{}", path.display());
        }
        let counts = at_rest(&engine).scheduler;
        assert!(counts.preemptions > 0 && counts.prefix_hits > 0, "{counts:?}");
    }
}
