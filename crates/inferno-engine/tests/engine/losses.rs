//! Runners that lose their cache: every request is computed again, and generates what it would without a loss.

use inferno_engine::{
    Completion, Engine, EngineOptions, Event, EventStream, FinishReason, GenerationParams, Pooling,
    Request, SamplingParams, Session, SessionOptions, StopParams,
};
use proptest::prelude::*;

use crate::cores::core;
use crate::fake_runner::{FakeRunner, Outcome};
use crate::serving::{failure, only, submit};
use crate::session::{greedy, session, tokens_of};
use crate::vocabulary::VOCAB_SIZE;

const CONTEXT_LENGTH: usize = 64;

/// What a runner has besides keys and values.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Dense,
    Windowed,
    Recurrent,
}

fn runner(kind: Kind, num_blocks: usize) -> FakeRunner {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 12).with_num_blocks(num_blocks);
    let runner = runner.with_num_logit_rows(8);
    match kind {
        Kind::Dense => runner.with_candidates(),
        Kind::Windowed => runner.with_window(6),
        Kind::Recurrent => runner.with_state_slots(12),
    }
}

/// Loses the cache in one of `period` passes, a limited number of times: long prompts need several passes in a row.
fn losing(runner: FakeRunner, period: usize) -> FakeRunner {
    runner.with_hook(move |pass| match pass % period == period - 1 && pass < 8 * period {
        true => Outcome::LosesCache,
        false => Outcome::Runs,
    })
}

fn start(runner: FakeRunner) -> Engine {
    let options = EngineOptions { num_speculative_tokens: 3, ..EngineOptions::default() };
    Engine::start(&core(runner), options).expect("a sound runner")
}

fn alone(prompt: &[u32], params: &GenerationParams) -> Completion {
    let mut session: Session = session(FakeRunner::new(CONTEXT_LENGTH, 64));
    let generation = session.generate(prompt, params).expect("a sound request");
    generation.complete().expect("a runner that does not fail")
}

fn params() -> impl Strategy<Value = GenerationParams> {
    (any::<u64>(), 0.1f32..1.5, 1usize..25).prop_map(|(seed, temperature, max_tokens)| {
        let seed = Some(seed);
        let sampling =
            SamplingParams { temperature, seed, logprobs: Some(1), ..SamplingParams::default() };
        let stop = StopParams { max_tokens: Some(max_tokens), ..StopParams::default() };
        GenerationParams { sampling, stop, ..GenerationParams::default() }
    })
}

fn prompt() -> impl Strategy<Value = Vec<u32>> {
    // Prompts share a prefix that repeats itself, and differ at the end.
    let end = prop::collection::vec(2u32..VOCAB_SIZE as u32, 1..8);
    (0u32..28, end).prop_map(|(len, end)| (0..len).map(|at| 2 + at % 5).chain(end).collect())
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Dense, Kind::Windowed, Kind::Recurrent])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn requests_generate_the_same_tokens_after_losses(
        kind in kind(),
        requests in prop::collection::vec((prompt(), params()), 1..9),
        num_blocks in 18usize..40,
        period in 2usize..9,
    ) {
        let engine = start(losing(runner(kind, num_blocks), period));
        let streams: Vec<_> =
            requests.iter().map(|(prompt, params)| submit(&engine, prompt, params)).collect();
        for ((prompt, params), stream) in requests.iter().zip(streams) {
            prop_assert_eq!(only(stream).0, alone(prompt, params));
        }
    }
}

/// The vector, log-probabilities of the prompt or tokens of a request.
fn result(mut stream: EventStream) -> String {
    let events = std::iter::from_fn(|| stream.blocking_next());
    let results = events.filter_map(|event| match event {
        Event::Failed(error) => panic!("the request failed: {error}"),
        Event::Finished(finished) => Some(format!("{:?}", finished.reason)),
        Event::Token(token) => Some(format!("{:?}", token.token)),
        Event::Embedding(vector) => Some(format!("{vector:?}")),
        Event::Prompt(prompt) => Some(format!("{:?}", prompt.logprobs)),
        _ => None,
    });
    results.collect::<Vec<_>>().join("\n")
}

#[test]
fn embeddings_and_scores_of_prompts_survive_losses() {
    let prompt: Vec<u32> = (0..30).map(|at| 2 + at % 7).collect();
    let results = |runner: FakeRunner| {
        let engine = start(runner);
        let handle = engine.handle();
        let embed = |pooling| {
            let prompt = prompt.clone();
            let (priority, deadline) = (0, None);
            let request = inferno_engine::EmbeddingRequest {
                priority,
                deadline,
                ..inferno_engine::EmbeddingRequest::new(prompt, pooling)
            };
            handle.embed(request).expect("a sound request")
        };
        let scored =
            Request { prompt_logprobs: Some(2), ..Request::new(prompt.clone(), greedy(5)) };
        let streams = [
            embed(Pooling::Mean),
            handle.submit(scored).expect("a sound request"),
            embed(Pooling::Last),
            submit(&engine, &prompt[..20], &greedy(9)),
        ];
        streams.map(result)
    };
    for kind in [Kind::Dense, Kind::Windowed, Kind::Recurrent] {
        let expected = results(runner(kind, 40));
        for period in 2..6 {
            assert_eq!(results(losing(runner(kind, 40), period)), expected, "{kind:?} {period}");
        }
    }
}

#[test]
fn sessions_continue_after_losses() {
    for kind in [Kind::Dense, Kind::Windowed, Kind::Recurrent] {
        let core = core(losing(runner(kind, 40), 3));
        let open = || Session::new(core.clone(), SessionOptions::default()).expect("a cache");
        let mut sessions = [open(), open()];
        let mut fresh = [0, 1].map(|_| session(FakeRunner::new(CONTEXT_LENGTH, 64)));
        for turn in 0..3 {
            for (session, fresh) in sessions.iter_mut().zip(&mut fresh) {
                let prompt = [3, 4, 5 + turn];
                let expected = tokens_of(fresh, &prompt, &greedy(6));
                assert_eq!(tokens_of(session, &prompt, &greedy(6)), expected, "{kind:?}");
            }
        }
    }
}

#[test]
fn a_request_whose_pass_is_lost_every_time_fails() {
    let engine = start(runner(Kind::Dense, 40).with_hook(|pass| match pass < 4 {
        true => Outcome::LosesCache,
        false => Outcome::Runs,
    }));
    let message = failure(submit(&engine, &[2, 3, 4], &greedy(5)));
    assert!(message.contains("as the test requested"), "{message}");
    // Others are computed.
    let (completion, finished) = only(submit(&engine, &[2, 3, 4], &greedy(5)));
    assert_eq!(completion, alone(&[2, 3, 4], &greedy(5)));
    assert_eq!(finished.reason, FinishReason::Length);
    assert_eq!(engine.handle().snapshot().failed_steps, 4);
}
