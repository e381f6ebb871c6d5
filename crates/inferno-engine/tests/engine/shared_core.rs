//! Sessions and engines on one core: each generates what it would generate alone.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use inferno_engine::{
    CoreOptions, Engine, EngineError, EngineOptions, GenerationCore, GenerationParams, Pooling,
    Request, SamplingParams, Session, SessionOptions,
};
use proptest::prelude::*;

use crate::cores::{core, core_with};
use crate::fake_runner::{FakeRunner, Outcome};
use crate::session::{greedy, session, tokens_of};
use crate::vocabulary::VOCAB_SIZE;

const CONTEXT_LENGTH: usize = 64;

/// A runner whose cache holds `num_blocks` blocks of four tokens.
fn runner(num_blocks: usize) -> FakeRunner {
    FakeRunner::new(CONTEXT_LENGTH, 12).with_num_blocks(num_blocks).with_num_logit_rows(6)
}

fn open(core: &GenerationCore) -> Session {
    Session::new(core.clone(), SessionOptions::default()).expect("the cache holds a context")
}

fn alone(prompt: &[u32], params: &GenerationParams) -> Vec<u32> {
    tokens_of(&mut session(FakeRunner::new(CONTEXT_LENGTH, 64)), prompt, params)
}

fn sampled(seed: u64, max_tokens: usize) -> GenerationParams {
    let sampling = SamplingParams { seed: Some(seed), top_k: 5, ..Default::default() };
    GenerationParams { sampling, num_speculative_tokens: seed as usize % 3, ..greedy(max_tokens) }
}

/// Prompts with a common prefix and different ends.
fn prompt(which: u32) -> Vec<u32> {
    (2..16).chain([2 + which % 29, 3 + which % 7]).collect()
}

#[test]
fn sessions_in_threads_and_an_engine_do_not_affect_each_other() {
    // The engine's twelve sequences and the sessions' four do not fit at once.
    for (num_blocks, window) in
        [(16, None), (24, None), (60, None), (24, Some(5)), (60, Some(5)), (100, Some(9))]
    {
        let runner = match window {
            Some(len) => runner(num_blocks).with_window(len),
            None => runner(num_blocks),
        };
        let core = core(runner);
        let engine = Engine::start(&core, EngineOptions::default()).expect("a sound engine");
        let streams: Vec<_> = (0..12)
            .map(|which| {
                let request = Request::new(prompt(which), sampled(which.into(), 20));
                engine.handle().submit(request).expect("a sound request")
            })
            .collect();
        thread::scope(|scope| {
            for which in 20..24 {
                let core = &core;
                scope.spawn(move || {
                    let mut session = open(core);
                    let params = sampled(which.into(), 12);
                    let first = tokens_of(&mut session, &prompt(which), &params);
                    assert_eq!(first, alone(&prompt(which), &params));
                    let so_far = [session.tokens(), &[5]].concat();
                    let second = tokens_of(&mut session, &[5], &params);
                    assert_eq!(second, alone(&so_far, &params));
                });
            }
        });
        for (which, mut stream) in (0..).zip(streams) {
            let mut tokens = Vec::new();
            while let Some(event) = stream.blocking_next() {
                if let inferno_engine::Event::Token(token) = event {
                    tokens.push(token.token.id);
                }
            }
            assert_eq!(tokens, alone(&prompt(which), &sampled(which.into(), 20)));
        }
        engine.shut_down();
        let blocks = core.snapshot().blocks;
        assert_eq!(blocks.num_in_use(), 0, "sessions and requests have released their blocks");
    }
}

/// The number of passes of four sessions in threads, of 40 tokens each.
fn passes_of_four_sessions() -> usize {
    let slow = |_| {
        thread::sleep(Duration::from_micros(300));
        Outcome::Runs
    };
    let runner = runner(60).with_hook(slow);
    let passes = runner.passes();
    let core = core(runner);
    thread::scope(|scope| {
        for which in 2..6 {
            let mut session = open(&core);
            scope.spawn(move || {
                let said = tokens_of(&mut session, &[which], &greedy(40));
                assert_eq!(said, alone(&[which], &greedy(40)));
            });
        }
    });
    passes.lock().expect("no panic").len()
}

#[test]
fn sessions_in_threads_share_passes() {
    // On a busy machine the threads may run one after the other, but not in every attempt.
    assert!((0..50).any(|_| passes_of_four_sessions() < 4 * 40), "every token took its own pass");
}

#[test]
fn a_prompt_computed_by_another_session_is_reused() {
    let runner = runner(60);
    let passes = runner.passes();
    let core = core(runner);
    let (mut first, mut second) = (open(&core), open(&core));
    first.extend(&prompt(1)).expect("it fits");
    passes.lock().expect("no panic").clear();
    assert_eq!(tokens_of(&mut second, &prompt(2), &greedy(1)), alone(&prompt(2), &greedy(1)));
    // The first 14 of 16 tokens are equal: three full blocks.
    assert_eq!(*passes.lock().expect("no panic"), [4]);
}

#[test]
fn a_session_computes_only_when_polled() {
    let runner = runner(60);
    let passes = runner.passes();
    let core = core(runner);
    let (mut idle, mut busy) = (open(&core), open(&core));
    let mut generation = idle.generate(&[7, 8, 9], &greedy(20)).expect("it fits");
    let first = generation.next().expect("a step").expect("no error").token.expect("a token");
    passes.lock().expect("no panic").clear();
    let said = tokens_of(&mut busy, &[4, 5], &greedy(10));
    assert_eq!(said, alone(&[4, 5], &greedy(10)));
    assert_eq!(*passes.lock().expect("no panic"), [2, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    let rest = generation.complete().expect("no error").tokens;
    assert_eq!([&[first.id][..], &rest].concat(), alone(&[7, 8, 9], &greedy(20)));
}

#[test]
fn sessions_that_do_not_fit_together_alternate() {
    // One context and a block: each session's turn evicts the blocks of the others.
    let core = core(runner(17));
    let mut sessions: Vec<_> = (0..4).map(|_| open(&core)).collect();
    let mut expected = vec![Vec::new(); 4];
    for turn in 0..4 {
        for (which, session) in sessions.iter_mut().enumerate() {
            let prompt = [2 + turn, 3 + which as u32];
            let tokens = [&expected[which][..], &prompt].concat();
            let said = tokens_of(session, &prompt, &greedy(12));
            assert_eq!(said, alone(&tokens, &greedy(12)));
            expected[which] = [tokens, said].concat();
            assert_eq!(session.tokens(), expected[which]);
        }
    }
    drop(sessions);
    let blocks = core.snapshot().blocks;
    assert!(blocks.num_free + blocks.num_cached > 0);
}

#[test]
fn a_failed_pass_fails_the_sessions_in_it_and_they_continue() {
    let fails = Arc::new(Mutex::new(false));
    let hook = {
        let fails = Arc::clone(&fails);
        move |_| match std::mem::take(&mut *fails.lock().expect("no panic")) {
            true => Outcome::Fails,
            false => Outcome::Runs,
        }
    };
    let core = core(runner(60).with_hook(hook));
    let (mut first, mut second) = (open(&core), open(&core));
    second.extend(&prompt(3)).expect("it fits");
    let mut generation = first.generate(&prompt(3), &greedy(9)).expect("it fits");
    let said = generation.next().expect("a step").expect("no error").token.expect("a token").id;
    *fails.lock().expect("no panic") = true;
    let error = generation.next().expect("a step").expect_err("the pass failed");
    assert!(error.to_string().contains("as the test requested"), "{error}");
    assert!(generation.next().is_none());
    drop(generation);
    let so_far = [&prompt(3)[..], &[said]].concat();
    assert_eq!(first.tokens(), so_far);
    assert_eq!(tokens_of(&mut first, &[], &greedy(8)), alone(&so_far, &greedy(8)));
    assert_eq!(tokens_of(&mut second, &[], &greedy(9)), alone(&prompt(3), &greedy(9)));
}

#[test]
fn a_runner_panic_fails_every_session() {
    let hook = |pass| if pass == 1 { panic!("as the test wants") } else { Outcome::Runs };
    let core = core(runner(60).with_hook(hook));
    let (mut first, mut second) = (open(&core), open(&core));
    second.extend(&[2, 3]).expect("the first pass runs");
    let extend = || first.extend(&[4, 5]).is_ok();
    let panicked = thread::scope(|scope| scope.spawn(extend).join().is_err());
    assert!(panicked);
    let error = second.extend(&[6]).expect_err("the core is broken");
    assert!(matches!(error, EngineError::EngineStopped), "{error}");
    assert_eq!(second.tokens(), [2, 3]);
    assert!(Session::new(core, SessionOptions::default()).is_err());
}

#[test]
fn a_core_embeds_on_the_callers_thread() {
    let shared = core(runner(60));
    let mut session = open(&shared);
    session.extend(&prompt(1)).expect("it fits");
    for pooling in [Pooling::Last, Pooling::Mean] {
        let expected = core(runner(60)).embed(&prompt(1), pooling).expect("it fits");
        assert_eq!(shared.embed(&prompt(1), pooling).expect("it fits"), expected);
    }
    let error = shared.embed(&[], Pooling::Last).expect_err("there is nothing to embed");
    assert!(matches!(error, EngineError::EmptyPrompt), "{error}");
    let failing = core(runner(60).with_failing_hidden_passes());
    let error = failing.embed(&[2], Pooling::Last).expect_err("the pass fails");
    assert!(error.to_string().contains("no hidden states"), "{error}");
    assert_eq!(failing.snapshot().blocks.num_in_use(), 0);
}

/// An action on one of several sessions.
#[derive(Debug, Clone)]
enum Action {
    Generate { prompt: Vec<u32>, steps: usize, num_drafts: usize },
    Extend { prompt: Vec<u32> },
    Truncate { keep: usize },
    SaveAndLoad,
    NextPassFails,
    Submit { prompt: Vec<u32> },
}

fn action() -> impl Strategy<Value = Action> {
    // Few different tokens, so that sessions often share a prefix.
    let prompt = || prop::collection::vec(2u32..4, 0..14);
    prop_oneof![
        4 => (prompt(), 0usize..7, 0usize..5)
            .prop_map(|(prompt, steps, num_drafts)| Action::Generate { prompt, steps, num_drafts }),
        2 => prompt().prop_map(|prompt| Action::Extend { prompt }),
        2 => (0usize..50).prop_map(|keep| Action::Truncate { keep }),
        1 => Just(Action::SaveAndLoad),
        1 => Just(Action::NextPassFails),
        1 => prop::collection::vec(2u32..VOCAB_SIZE as u32, 1..30)
            .prop_map(|prompt| Action::Submit { prompt }),
    ]
}

proptest! {
    #[test]
    fn other_sessions_do_not_change_what_a_session_generates(
        num_blocks in 16usize..40,
        num_slots in prop::option::of(1usize..8),
        prefix_cache in any::<bool>(),
        actions in prop::collection::vec((0usize..3, action()), 0..25),
    ) {
        let fails = Arc::new(Mutex::new(false));
        let hook = {
            let fails = Arc::clone(&fails);
            move |_| match std::mem::take(&mut *fails.lock().expect("no panic")) {
                true => Outcome::Fails,
                false => Outcome::Runs,
            }
        };
        let options = CoreOptions { prefix_cache, ..CoreOptions::default() };
        let core = core_with(runner(num_blocks).with_optional_state(num_slots).with_hook(hook), options);
        let engine = Engine::start(&core, EngineOptions::default()).expect("a sound engine");
        let mut sessions = [open(&core), open(&core), open(&core)];
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("state");
        let mut streams = Vec::new();
        for (which, action) in actions {
            let session = &mut sessions[which];
            let before = session.tokens().to_vec();
            match action {
                Action::Generate { prompt, steps, num_drafts } => {
                    let mut said = Vec::new();
                    let params =
                        GenerationParams { num_speculative_tokens: num_drafts, ..greedy(6) };
                    if let Ok(generation) = session.generate(&prompt, &params) {
                        for step in generation.take(steps) {
                            said.extend(step.ok().and_then(|step| step.token).map(|it| it.id));
                        }
                    }
                    let read = if said.is_empty() { &[][..] } else { &prompt };
                    prop_assert_eq!(session.tokens(), [&before, read, &said].concat());
                }
                Action::Extend { prompt } => {
                    let read = if session.extend(&prompt).is_ok() { &prompt[..] } else { &[] };
                    prop_assert_eq!(session.tokens(), [&before, read].concat());
                }
                Action::Truncate { keep } => session.truncate(keep),
                Action::SaveAndLoad => {
                    session.save(&path).expect("it can be written");
                    session.reset();
                    session.load(&path).expect("it can be read");
                    prop_assert_eq!(session.tokens(), before);
                }
                Action::NextPassFails => *fails.lock().expect("no panic") = true,
                Action::Submit { prompt } => {
                    let request = Request::new(prompt, greedy(10));
                    streams.push(engine.handle().submit(request).expect("a sound request"));
                }
            }
        }
        *fails.lock().expect("no panic") = false;
        for session in &mut sessions {
            session.truncate(CONTEXT_LENGTH - 5);
            let tokens = [session.tokens(), &[7]].concat();
            prop_assert_eq!(tokens_of(session, &[7], &greedy(4)), alone(&tokens, &greedy(4)));
        }
        drop((sessions, streams, engine));
        // The snapshot is of the last step, before the last session was dropped.
        core.embed(&[2], Pooling::Last).expect("it fits");
        let blocks = core.snapshot().blocks;
        prop_assert!(blocks.num_in_use() <= 1, "{blocks:?}");
    }
}
