//! One loaded model, used by several sessions, an engine and embeddings at the same time.

use std::path::Path;
use std::thread;

use inferno::{
    EngineOptions, Event, GenerationParams, LoadOptions, LoadedModel, Model, Request,
    SamplingParams, StopParams,
};

fn model() -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/qwen3.gguf");
    Model::open(path).expect("a sound file")
}

fn params(seed: u64) -> GenerationParams {
    GenerationParams {
        sampling: SamplingParams { seed: Some(seed), logprobs: Some(2), ..Default::default() },
        stop: StopParams { max_tokens: Some(20), ignore_eos: true, ..Default::default() },
        ..Default::default()
    }
}

fn prompt(which: u32) -> Vec<u32> {
    (2..20).chain([3 + which]).collect()
}

/// The tokens and log-probabilities of a session that has a model to itself.
fn alone(which: u32) -> Vec<u32> {
    generate(&model().load().expect("it loads"), which)
}

fn generate(model: &LoadedModel, which: u32) -> Vec<u32> {
    let mut session = model.session().expect("the cache holds a context");
    let generation = session.generate(&prompt(which), &params(which.into())).expect("it fits");
    generation.complete().expect("a sound model").tokens
}

#[test]
fn sessions_an_engine_and_embeddings_share_a_model_and_give_the_results_of_solo_runs() {
    let mut num_loads = 0;
    let model = model()
        .with_options(LoadOptions { context_length: Some(64), ..LoadOptions::default() })
        .load_with(&mut |progress| {
            num_loads += usize::from(progress.loaded_bytes == progress.total_bytes);
        })
        .expect("it loads");
    assert_eq!(num_loads, 1);
    let engine = model.engine(EngineOptions::default()).expect("it starts");
    let second_engine = model.engine(EngineOptions::default()).expect("it starts");
    let streams: Vec<_> = (0..6)
        .map(|which| {
            let request = Request::new(prompt(which), params(which.into()));
            let engine = if which % 2 == 0 { &engine } else { &second_engine };
            engine.handle().submit(request).expect("a sound request")
        })
        .collect();
    let vector = model.embed("a small dog").expect("it fits");
    thread::scope(|scope| {
        for which in 6..9 {
            let model = model.clone();
            scope.spawn(move || assert_eq!(generate(&model, which), alone(which)));
        }
    });
    for (which, mut stream) in (0..).zip(streams) {
        let mut tokens = Vec::new();
        while let Some(event) = stream.blocking_next() {
            match event {
                Event::Token(token) => tokens.push(token.token.id),
                Event::Failed(error) => panic!("{error}"),
                _ => {}
            }
        }
        assert_eq!(tokens, alone(which));
    }
    assert_eq!(
        self::model().load().expect("it loads").embed("a small dog").expect("it fits"),
        vector
    );
}

#[test]
fn sessions_share_the_prefix_cache() {
    let model = model().load().expect("it loads");
    let (mut first, mut second) = (model.session().expect("room"), model.session().expect("room"));
    let prompt: Vec<u32> = (2..40).collect();
    first.extend(&prompt).expect("it fits");
    assert_eq!(first.metrics().prefill_passes.num_tokens(), 38);
    second.extend(&prompt).expect("it fits");
    // Two blocks of 16 tokens are shared.
    assert_eq!(second.metrics().prefill_passes.num_tokens(), 6);
    assert_eq!(model.core().snapshot().scheduler.prefix_hits, 32);
}

#[test]
fn options_for_the_same_device_keep_it_open() {
    let model = model();
    let estimate = model.estimate().expect("the device opens");
    let longer = LoadOptions { context_length: Some(32), ..LoadOptions::default() };
    let model = model.with_options(longer);
    let shorter = model.estimate().expect("the device is open");
    assert_eq!((estimate.isa, estimate.num_threads), (shorter.isa, shorter.num_threads));
    assert!(shorter.footprint.kv_cache_bytes <= estimate.footprint.kv_cache_bytes);
    let single = LoadOptions { num_threads: Some(1), ..longer };
    assert_eq!(model.with_options(single).estimate().expect("another device").num_threads, 1);
}

#[test]
fn a_context_of_0_is_the_limit_of_the_model() {
    let of =
        |context_length| model().with_options(LoadOptions { context_length, ..Default::default() });
    assert_eq!(of(Some(0)).context_length().expect("a valid length"), 256);
    assert!(of(Some(257)).context_length().is_err());
}
