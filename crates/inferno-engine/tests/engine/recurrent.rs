//! Models with a recurrent state, which cannot be truncated: prompts resume from checkpoints.
//!
//! The runner fails as soon as a sequence is computed with the state of other tokens.

mod speculation;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};

use inferno_backend::{LogitRows, ReferenceBackend};
use inferno_engine::{
    Engine, EngineOptions, Event, EventStream, Fingerprint, Finished, GenerationCore,
    GenerationParams, ModelRunner, Request, RunnerOptions, SampledToken, SequenceRunner, Session,
    SessionOptions,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model, ModelSpec};
use proptest::prelude::*;

use crate::cores::core;
use crate::fake_runner::{FakeRunner, Outcome};
use crate::models::checkpoints;
use crate::session::{greedy, session, tokens_of};

const CONTEXT_LENGTH: usize = 256;
const BLOCK_TOKENS: usize = 4;

fn runner(num_blocks: usize, num_slots: usize) -> FakeRunner {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 12).with_num_blocks(num_blocks);
    runner.with_num_logit_rows(8).with_state_slots(num_slots)
}

fn start(core: &GenerationCore) -> Engine {
    let options = EngineOptions { num_speculative_tokens: 3, ..EngineOptions::default() };
    Engine::start(core, options).expect("a sound core")
}

fn submit(engine: &Engine, prompt: &[u32], max_tokens: usize) -> EventStream {
    let request = Request::new(prompt.to_vec(), greedy(max_tokens));
    engine.handle().submit(request).expect("a sound request")
}

fn finish(stream: EventStream) -> (Vec<u32>, Finished) {
    let (tokens, finished) = finish_sampled(stream);
    (tokens.into_iter().map(|token| token.id).collect(), finished)
}

/// The sampled tokens with their log-probabilities.
fn finish_sampled(mut stream: EventStream) -> (Vec<SampledToken>, Finished) {
    let mut tokens = Vec::new();
    loop {
        match stream.blocking_next() {
            Some(Event::Token(token)) => tokens.push(token.token),
            Some(Event::Finished(finished)) => return (tokens, finished),
            Some(Event::Failed(error)) => panic!("the request failed: {error}"),
            Some(_) => {}
            None => panic!("the stream ended early"),
        }
    }
}

/// What a session on a model without a state generates.
fn alone(prompt: &[u32], max_tokens: usize) -> Vec<u32> {
    tokens_of(&mut session(FakeRunner::new(CONTEXT_LENGTH, 64)), prompt, &greedy(max_tokens))
}

/// Checks that no slot was lost once nothing runs.
fn check_slots(core: &GenerationCore) {
    let snapshot = core.snapshot();
    let states = snapshot.states;
    assert_eq!(snapshot.blocks.num_in_use(), 0);
    assert_eq!(states.num_free + states.num_checkpoints, states.num_slots);
    assert!(states.num_checkpoints <= snapshot.blocks.num_cached, "a checkpoint without a block");
}

fn shut_down(engine: Engine, core: &GenerationCore) {
    engine.shut_down();
    check_slots(core);
}

#[test]
fn a_conversation_computes_only_new_tokens_and_at_most_one_block() {
    let core = core(runner(80, 5));
    let engine = start(&core);
    let mut conversation = Vec::new();
    for turn in 0..10_u32 {
        let num_before = conversation.len();
        conversation.extend((0..5 + turn % 4).map(|at| 2 + (turn * 7 + at) % 29));
        let (answer, finished) = finish(submit(&engine, &conversation, 9));
        assert_eq!(answer, alone(&conversation, 9), "turn {turn}");
        // The last token of an answer is not computed.
        let num_computed = num_before.saturating_sub(1);
        let expected = num_computed - num_computed % BLOCK_TOKENS;
        assert_eq!(finished.cached_tokens, expected, "turn {turn}");
        conversation.extend(answer);
    }
    shut_down(engine, &core);
}

/// The hybrids of the reference answers, if `INFERNO_ORACLE` is set.
fn hybrids() -> Option<Vec<(PathBuf, Gguf)>> {
    let oracle = std::env::var_os("INFERNO_ORACLE")?;
    let mut hybrids = Vec::new();
    for path in checkpoints(&Path::new(&oracle).join("logits")) {
        let checkpoint = Gguf::open(&path).expect("a sound file");
        if ModelSpec::from_checkpoint(&checkpoint).is_ok_and(|spec| spec.has_state()) {
            hybrids.push((path, checkpoint));
        }
    }
    assert!(hybrids.len() >= 12, "only {} hybrids", hybrids.len());
    Some(hybrids)
}

/// A conversation with every hybrid of the reference answers, each turn compared bit for bit with a cold run.
#[test]
fn hybrids_converse_like_cold_runs() {
    for (path, checkpoint) in hybrids().into_iter().flatten() {
        let shared = core(hybrid_runner(&checkpoint, None));
        let engine = start(&shared);
        let mut params = greedy(7);
        params.sampling.logprobs = Some(3);
        let mut conversation = Vec::new();
        for turn in 0..10_u32 {
            let num_computed = conversation.len().saturating_sub(1);
            conversation.extend((0..9 + turn % 3).map(|at| 2 + (turn * 7 + at) % 29));
            let request = Request::new(conversation.clone(), params.clone());
            let stream = engine.handle().submit(request).expect("a sound request");
            let (answer, finished) = finish_sampled(stream);
            let mut cold =
                Session::new(core(hybrid_runner(&checkpoint, None)), SessionOptions::default())
                    .expect("room for a context");
            let expected = cold.generate(&conversation, &params).expect("a sound request");
            let expected = expected.complete().expect("a sound model");
            let logprobs: Vec<_> = answer.iter().flat_map(|it| it.logprobs.clone()).collect();
            let answer: Vec<u32> = answer.iter().map(|token| token.id).collect();
            assert_eq!(answer, expected.tokens, "{} turn {turn}", path.display());
            assert_eq!(logprobs, expected.logprobs, "{} turn {turn}", path.display());
            assert_eq!(finished.cached_tokens, num_computed - num_computed % 16, "turn {turn}");
            conversation.extend(answer);
        }
        shut_down(engine, &shared);
    }
}

fn hybrid_runner(checkpoint: &Gguf, cache_tokens: Option<usize>) -> ModelRunner {
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load(checkpoint, backend, None, &mut |_| ()).expect("a sound model");
    let options = RunnerOptions {
        context_length: Some(256),
        cache_tokens,
        speculation: true,
        limits: BatchLimits { max_num_tokens: 24, max_num_logit_rows: 8 },
        ..RunnerOptions::default()
    };
    ModelRunner::new(model, Fingerprint::of_model(checkpoint, None), options).expect("room for it")
}

#[test]
fn a_prompt_is_found_again_up_to_its_last_block() {
    let core = core(runner(60, 4));
    let engine = start(&core);
    for len in [4, 5, 20, 21, 23, 24] {
        let prompt: Vec<u32> = (0..len).map(|at| 2 + (len + at) % 29).collect();
        assert_eq!(finish(submit(&engine, &prompt, 11)).0, alone(&prompt, 11));
        let (answer, finished) = finish(submit(&engine, &prompt, 11));
        assert_eq!(answer, alone(&prompt, 11));
        let last = prompt.len() - 1;
        assert_eq!(finished.cached_tokens, last - last % BLOCK_TOKENS, "{len}");
    }
    shut_down(engine, &core);
}

#[test]
fn a_common_beginning_of_prompts_is_computed_once() {
    let core = core(runner(60, 6));
    let engine = start(&core);
    let prompt = |which: u32| -> Vec<u32> { (2..22).chain([which; 6]).collect() };
    // One after another: where they branch, the second one stores a checkpoint for the third.
    let cached = [3, 4, 5].map(|which| {
        let (answer, finished) = finish(submit(&engine, &prompt(which), 3));
        assert_eq!(answer, alone(&prompt(which), 3));
        finished.cached_tokens
    });
    assert_eq!(cached, [0, 0, 20]);
    shut_down(engine, &core);
}

#[test]
fn prompts_that_arrive_together_wait_for_the_first_to_compute_their_beginning() {
    let (pass_begins, pass_begun) = mpsc::channel();
    let passes_wait = Arc::new(Mutex::new(()));
    let hook = {
        let passes_wait = Arc::clone(&passes_wait);
        move |_| {
            let _ = pass_begins.send(());
            drop(passes_wait.lock().expect("no panic"));
            Outcome::Runs
        }
    };
    let core = core(runner(60, 6).with_hook(hook));
    let engine = start(&core);
    // All three arrive during one pass of another request.
    let waiting = passes_wait.lock().expect("no panic");
    let other = submit(&engine, &[30, 31, 32], 2);
    pass_begun.recv().expect("the other request is computed");
    let prompt = |which: u32| -> Vec<u32> { (7..27).chain([which; 6]).collect() };
    let streams = [3, 4, 5].map(|which| submit(&engine, &prompt(which), 3));
    drop(waiting);
    finish(other);
    let mut cached: Vec<_> = (3..)
        .zip(streams)
        .map(|(which, stream)| {
            let (answer, finished) = finish(stream);
            assert_eq!(answer, alone(&prompt(which), 3));
            finished.cached_tokens
        })
        .collect();
    cached.sort_unstable();
    assert_eq!(cached, [0, 20, 20]);
    shut_down(engine, &core);
}

#[test]
fn a_failed_pass_does_not_leave_a_state_behind() {
    for fails_at in 0..6 {
        let outcome = move |pass| if pass == fails_at { Outcome::Fails } else { Outcome::Runs };
        let core = core(runner(64, 3).with_hook(outcome));
        let mut session = Session::new(core.clone(), SessionOptions::default()).expect("room");
        let prompt: Vec<u32> = (2..32).collect();
        let params: GenerationParams = greedy(8);
        let generation = session.generate(&prompt, &params).expect("a sound request");
        let failed = generation.complete().is_err();
        assert!(failed, "pass {fails_at} fails");
        let so_far = [session.tokens(), &[9]].concat();
        assert_eq!(tokens_of(&mut session, &[9], &params), alone(&so_far, 8), "{fails_at}");
        drop(session);
        check_slots_after_step(&core);
    }
}

/// As [`check_slots`], after a step that updates the snapshot.
fn check_slots_after_step(core: &GenerationCore) {
    let mut session = Session::new(core.clone(), SessionOptions::default()).expect("room");
    session.extend(&[5]).expect("it fits");
    session.reset();
    session.extend(&[]).expect("nothing");
    let states = core.snapshot().states;
    assert!(states.num_free + states.num_checkpoints + 1 >= states.num_slots, "{states:?}");
}

#[test]
fn sessions_are_truncated_saved_and_loaded() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    let open = |core: &GenerationCore| {
        Session::new(core.clone(), SessionOptions::default()).expect("room for it")
    };
    let first_core = core(runner(64, 3));
    let mut original = open(&first_core);
    tokens_of(&mut original, &[5, 6, 7, 8, 9, 10], &greedy(7));
    for len in [12, 9, 8, 3] {
        original.truncate(len);
        let so_far = [original.tokens(), &[4, 4]].concat();
        assert_eq!(tokens_of(&mut original, &[4, 4], &greedy(5)), alone(&so_far, 5), "{len}");
    }
    original.save(&path).expect("it can be written");

    let fake = runner(64, 3);
    let passes = fake.passes();
    let second_core = core(fake);
    let mut loaded = open(&second_core);
    loaded.extend(&[3; 30]).expect("it fits");
    loaded.load(&path).expect("it can be read");
    passes.lock().expect("no panic").clear();
    assert_eq!(loaded.tokens(), original.tokens());
    let said = tokens_of(&mut loaded, &[10], &greedy(6));
    assert_eq!(said, tokens_of(&mut original, &[10], &greedy(6)));
    assert_eq!(*passes.lock().expect("no panic"), [2, 1, 1, 1, 1, 1]);
    // Nothing is computed of an empty session.
    original.reset();
    original.save(&path).expect("it can be written");
    loaded.load(&path).expect("it can be read");
    assert_eq!(tokens_of(&mut loaded, &[10], &greedy(6)), alone(&[10], 6));
}

#[test]
fn a_failed_load_leaves_no_state_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    let open = |core: &GenerationCore| {
        Session::new(core.clone(), SessionOptions::default()).expect("room for it")
    };
    let mut saved = open(&core(runner(64, 3)));
    tokens_of(&mut saved, &[5; 20], &greedy(7));
    saved.save(&path).expect("it can be written");

    let core = core(runner(64, 4).with_failing_state_writes());
    let prompt: Vec<u32> = (2..32).collect();
    let expected = tokens_of(&mut open(&core), &prompt, &greedy(5));
    let mut session = open(&core);
    session.load(&path).expect_err("the state cannot be written");
    assert_eq!(session.tokens(), [0; 0]);
    // The prompt resumes from a checkpoint, not from what the slot held.
    assert_eq!(tokens_of(&mut session, &prompt, &greedy(5)), expected);
}

#[test]
fn checkpoints_are_saved_with_the_prefix_cache() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    let first_core = core(runner(60, 6));
    let engine = start(&first_core);
    let prompts: Vec<Vec<u32>> =
        (0..3).map(|which| (0..18).map(|at| 2 + (which * 5 + at * at) % 29).collect()).collect();
    for prompt in &prompts {
        finish(submit(&engine, prompt, 2));
    }
    let num_blocks = engine.handle().save_prefixes(&path).expect("it can be written");
    // With fewer blocks and slots, the most recently used ones are loaded.
    for (cache_blocks, num_slots, expected) in [(60, 8, [16; 3]), (60, 3, [0, 16, 16])] {
        let core = core(runner(cache_blocks, num_slots));
        let engine = start(&core);
        assert_eq!(engine.handle().load_prefixes(&path).expect("it can be read"), num_blocks);
        for (prompt, expected) in prompts.iter().zip(expected).rev().take(2) {
            let (answer, finished) = finish(submit(&engine, prompt, 2));
            assert_eq!(answer, alone(prompt, 2));
            assert_eq!(finished.cached_tokens, expected, "{num_slots}");
        }
        shut_down(engine, &core);
    }
}

#[test]
fn sequences_without_a_scheduler_are_recomputed_after_they_are_truncated() {
    let mut runner = runner(20, 2);
    let mut forward = SequenceRunner::new(&mut runner);
    let mut sequences = [forward.sequence(), forward.sequence()];
    for (sequence, token) in sequences.iter_mut().zip([4, 5]) {
        sequence.extend(&[token; 9]);
    }
    let run = |forward: &mut SequenceRunner<'_>, sequences: &mut [_; 2]| {
        let mut num_tokens = 0;
        while let Some(output) = forward.run_next(sequences, 4, LogitRows::None).expect("it runs") {
            num_tokens += output.num_tokens;
        }
        num_tokens
    };
    assert_eq!(run(&mut forward, &mut sequences), 18);
    forward.truncate(&mut sequences[0], 6);
    sequences[0].extend(&[7]);
    assert_eq!(run(&mut forward, &mut sequences), 7);
}

#[test]
fn sequences_without_a_scheduler_are_recomputed_after_a_pass_that_failed() {
    let fails = |pass| if pass == 2 { Outcome::Fails } else { Outcome::Runs };
    let mut runner = runner(20, 2).with_hook(fails);
    let mut forward = SequenceRunner::new(&mut runner);
    let mut sequences = [forward.sequence()];
    sequences[0].extend(&[4, 5, 6, 7, 8, 9, 10, 11, 12]);
    // `None` for a pass that fails.
    let mut next = || {
        let output = forward.run_next(&mut sequences, 4, LogitRows::None).ok()?;
        Some(output.map(|output| output.num_tokens))
    };
    let computed = |num_tokens| Some(Some(num_tokens));
    let outcomes = [computed(4), computed(4), None, computed(4), computed(4), computed(1)];
    for expected in outcomes.into_iter().chain([Some(None)]) {
        assert_eq!(next(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn answers_do_not_depend_on_slots_blocks_or_neighbors(
        requests in prop::collection::vec((0usize..20, 2u32..6, 0usize..12, 1usize..20), 1..12),
        num_slots in 1usize..12,
        num_blocks in 16usize..60,
    ) {
        let core = core(FakeRunner::new(64, 12)
            .with_num_blocks(num_blocks)
            .with_num_logit_rows(6)
            .with_state_slots(num_slots));
        let engine = start(&core);
        let prompts: Vec<(Vec<u32>, usize)> = requests
            .into_iter()
            .map(|(num_common, token, num_own, max_tokens)| {
                let common = (0..num_common as u32).map(|at| 2 + at);
                (common.chain(vec![token; num_own + 1]).collect(), max_tokens)
            })
            .collect();
        let streams: Vec<_> = prompts
            .iter()
            .map(|(prompt, max_tokens)| submit(&engine, prompt, *max_tokens))
            .collect();
        std::thread::scope(|scope| {
            let core = &core;
            if num_blocks >= 16 {
                scope.spawn(move || {
                    let Ok(mut session) = Session::new(core.clone(), SessionOptions::default())
                    else { return };
                    let first = tokens_of(&mut session, &[2, 3, 4, 5, 6], &greedy(5));
                    assert_eq!(first, alone(&[2, 3, 4, 5, 6], 5));
                    session.truncate(7);
                    let so_far = [session.tokens(), &[8]].concat();
                    assert_eq!(tokens_of(&mut session, &[8], &greedy(5)), alone(&so_far, 5));
                });
            }
        });
        for ((prompt, max_tokens), stream) in prompts.iter().zip(streams) {
            prop_assert_eq!(finish(stream).0, alone(prompt, *max_tokens));
        }
        engine.shut_down();
        let states = core.snapshot().states;
        prop_assert!(states.num_free + states.num_checkpoints <= states.num_slots);
    }
}
