//! Speculative decoding with a recurrent state: the state before rejected drafts is restored.

use std::path::Path;

use inferno_backend::StateLayout;
use inferno_engine::{
    Completion, CoreOptions, Engine, EngineOptions, GenerationParams, Metrics, Request, Runner,
    SamplingParams, Session, SessionOptions,
};
use inferno_gguf::Gguf;

use super::{check_slots, finish_sampled, hybrid_runner, hybrids};
use crate::cores::{core, core_with};
use crate::fake_runner::FakeRunner;
use crate::session::speculation::{CONTEXT_LENGTH, repetitive, scripted, speculating, steps};
use crate::session::{greedy, session, tokens_of};

const NUM_DRAFTS: usize = 7;

fn open(runner: impl Runner + 'static) -> Session {
    Session::new(core(runner), SessionOptions::default()).expect("room for a context")
}

/// Draws from mostly two tokens, about equally often, so that drafts are often accepted, and often in part.
fn two_tokens(seed: u64, max_tokens: usize) -> GenerationParams {
    let sampling = SamplingParams {
        seed: Some(seed),
        temperature: 10.0,
        logit_bias: vec![(5, 100.0), (6, 100.0)],
        logprobs: Some(3),
        ..SamplingParams::default()
    };
    GenerationParams { sampling, ..greedy(max_tokens) }
}

fn complete(session: &mut Session, prompt: &[u32], params: &GenerationParams) -> Completion {
    let generation = session.generate(prompt, params).expect("a sound request");
    generation.complete().expect("a sound model")
}

fn add(total: &mut (usize, usize), metrics: &Metrics) {
    total.0 += metrics.accepted_tokens;
    total.1 += metrics.drafted_tokens - metrics.accepted_tokens;
}

/// Turns of a session, one of them cut short, which is saved and loaded: all with the bits of one without drafts.
fn check_session(checkpoint: &Gguf, name: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    let mut plain = open(hybrid_runner(checkpoint, None));
    let mut drafting = open(hybrid_runner(checkpoint, None));
    let mut num_accepted_and_rejected = (0, 0);
    for turn in 0..3_u32 {
        let prompt: Vec<u32> = (0..11).map(|at| 2 + (turn * 7 + at) % 29).collect();
        let params = two_tokens(turn.into(), 40);
        let expected = complete(&mut plain, &prompt, &params);
        let found = complete(&mut drafting, &prompt, &speculating(&params, NUM_DRAFTS));
        assert_eq!(found, expected, "{name} turn {turn}");
        add(&mut num_accepted_and_rejected, drafting.metrics());
        drafting.save(&path).expect("it can be written");
        drafting = open(hybrid_runner(checkpoint, None));
        drafting.load(&path).expect("it can be read");
    }
    let (num_accepted, num_rejected) = num_accepted_and_rejected;
    assert!(num_accepted > 0 && num_rejected > 0, "{num_accepted_and_rejected:?}");
    let params = two_tokens(3, 40);
    for num_steps in [1, 9, 20] {
        let expected = steps(&mut plain, &[7, 8], &params, num_steps);
        let params = speculating(&params, NUM_DRAFTS);
        assert_eq!(steps(&mut drafting, &[7, 8], &params, num_steps), expected, "{name}");
    }
}

/// Requests that preempt each other, twice: each has the bits of a session without drafts.
fn check_engine(checkpoint: &Gguf, name: &str) {
    let options = CoreOptions { max_num_sequences: Some(3), ..CoreOptions::default() };
    let core = core_with(hybrid_runner(checkpoint, Some(160)), options);
    let options = EngineOptions { num_speculative_tokens: NUM_DRAFTS, ..EngineOptions::default() };
    let engine = Engine::start(&core, options).expect("a sound core");
    let mut prompts: Vec<Vec<u32>> =
        (0..3).map(|which| (0..14 + which).map(|at| 2 + (which + at) % 29).collect()).collect();
    let mut num_cached = 0;
    for turn in 0..2 {
        let submit = |(prompt, seed): (&Vec<u32>, u64)| {
            let request = Request::new(prompt.clone(), two_tokens(seed, 36));
            engine.handle().submit(request).expect("a sound request")
        };
        let streams: Vec<_> = prompts.iter().zip(0..).map(submit).collect();
        for ((prompt, stream), seed) in prompts.iter_mut().zip(streams).zip(0..) {
            let (answer, finished) = finish_sampled(stream);
            let mut cold = open(hybrid_runner(checkpoint, None));
            let expected = complete(&mut cold, prompt, &two_tokens(seed, 36));
            let logprobs: Vec<_> = answer.iter().flat_map(|it| it.logprobs.clone()).collect();
            assert_eq!(logprobs, expected.logprobs, "{name} turn {turn}");
            num_cached += turn * finished.cached_tokens;
            prompt.extend(answer.iter().map(|token| token.id));
            assert!(prompt.ends_with(&expected.tokens), "{name} turn {turn}");
        }
    }
    engine.shut_down();
    check_slots(&core);
    assert!(num_cached > 0, "{name}: the second turn resumes from the first");
    let counts = core.snapshot().scheduler;
    assert!(counts.preemptions > 0 && counts.accepted_tokens > 0, "{name}: {counts:?}");
    assert!(counts.accepted_tokens < counts.drafted_tokens, "{name}: {counts:?}");
}

#[test]
fn hybrids_answer_with_drafts_as_without() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno/tests/fixtures/hybrid.gguf");
    let checkpoint = Gguf::open(&path).expect("a sound file");
    let others = hybrids().into_iter().flatten();
    for (path, checkpoint) in others.chain([(path, checkpoint)]) {
        let name = path.display().to_string();
        check_session(&checkpoint, &name);
        check_engine(&checkpoint, &name);
    }
}

#[test]
fn speculation_has_slots_of_its_own() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno/tests/fixtures/hybrid.gguf");
    let checkpoint = Gguf::open(path).expect("a sound file");
    let runner = hybrid_runner(&checkpoint, None);
    // Eight sequences, one per row of logits, and 16 blocks with a checkpoint each.
    let num_slots = runner.state_layout().map(|&StateLayout { num_slots, .. }| num_slots);
    assert_eq!(num_slots, Some(8 + 8 + 16));
}

#[test]
fn a_session_without_checkpoints_drafts_with_a_second_slot() {
    let params = speculating(&greedy(100), NUM_DRAFTS);
    let expected = tokens_of(&mut session(repetitive()), &[2, 3, 4], &greedy(100));
    for (num_slots, drafts) in [(1, false), (2, true)] {
        let runner = repetitive().with_state_slots(num_slots);
        let options = CoreOptions { prefix_cache: false, ..CoreOptions::default() };
        let core = core_with(runner, options);
        let mut session = Session::new(core, SessionOptions::default()).expect("room");
        assert_eq!(tokens_of(&mut session, &[2, 3, 4], &params), expected);
        let metrics = session.metrics();
        assert_eq!(metrics.drafted_tokens > 0, drafts);
        let num_passes = metrics.decode_passes.durations().len();
        assert_eq!(3 * num_passes < 2 * expected.len(), drafts, "{num_passes} passes");
    }
}

/// The tokens of each pass of a session without checkpoints that generates `text`.
fn passes(text: &[u32], num_prompt_tokens: usize) -> Vec<usize> {
    let runner = scripted(text.to_vec()).with_state_slots(2);
    let passes = runner.passes();
    let options = CoreOptions { prefix_cache: false, ..CoreOptions::default() };
    let core = core_with(runner, options);
    let mut session = Session::new(core, SessionOptions::default()).expect("room");
    let (prompt, rest) = text.split_at(num_prompt_tokens);
    let params = speculating(&greedy(rest.len()), NUM_DRAFTS);
    assert_eq!(tokens_of(&mut session, prompt, &params), rest);
    passes.lock().expect("no panic").clone()
}

#[test]
fn only_accepted_drafts_are_computed_again() {
    let prompt = [10, 11, 12, 13, 14, 15, 16, 17, 10, 11];
    // After 10, 11, 12 the three tokens that followed are drafted: all, two, one or none of them are accepted.
    let after = |tokens: &[u32]| passes(&[&prompt, tokens].concat(), prompt.len());
    assert_eq!(after(&[12, 13, 14, 15, 20, 21, 22]), [10, 4, 1, 1]);
    assert_eq!(after(&[12, 13, 14, 20, 21, 22]), [10, 4, 3, 1]);
    assert_eq!(after(&[12, 13, 20, 21, 22]), [10, 4, 2, 1]);
    assert_eq!(after(&[12, 20, 21, 22, 23]), [10, 4, 1, 1, 1]);
}

#[test]
fn drafts_do_not_change_what_later_turns_reuse() {
    let run = |num_speculative_tokens| {
        let core = core(repetitive().with_state_slots(9));
        let options = EngineOptions { num_speculative_tokens, ..EngineOptions::default() };
        let engine = Engine::start(&core, options).expect("a sound core");
        let mut conversation = Vec::new();
        let mut cached = Vec::new();
        for turn in 0..8_u32 {
            conversation.extend((0..3 + turn % 2).map(|at| 2 + (turn * 7 + at) % 29));
            let request = Request::new(conversation.clone(), greedy(9 + turn as usize % 4));
            let stream = engine.handle().submit(request).expect("a sound request");
            let (answer, finished) = finish_sampled(stream);
            cached.push(finished.cached_tokens);
            conversation.extend(answer.iter().map(|token| token.id));
        }
        engine.shut_down();
        check_slots(&core);
        (conversation, cached, core.snapshot().scheduler.accepted_tokens)
    };
    let (plain, drafting) = (run(0), run(NUM_DRAFTS));
    assert!(plain.0.len() < CONTEXT_LENGTH && drafting.2 > 0);
    assert_eq!((plain.0, plain.1), (drafting.0, drafting.1));
}

#[test]
fn an_ended_sequence_leaves_its_state_as_a_checkpoint() {
    // The last draft fills a block, and the token after it is the last one.
    let text = [10, 11, 12, 13, 14, 15, 16, 17, 10, 11, 12, 13, 14, 15, 16, 17, 10];
    for num_speculative_tokens in [0, NUM_DRAFTS] {
        let core = core(scripted(text.to_vec()).with_num_logit_rows(8).with_state_slots(4));
        let options = EngineOptions { num_speculative_tokens, ..EngineOptions::default() };
        let engine = Engine::start(&core, options).expect("a sound core");
        let run = |prompt: &[u32], max_tokens| {
            let request = Request::new(prompt.to_vec(), greedy(max_tokens));
            finish_sampled(engine.handle().submit(request).expect("a sound request")).1
        };
        run(&text[..10], 7);
        assert_eq!(run(&text, 1).cached_tokens, 16);
        engine.shut_down();
        check_slots(&core);
        assert_eq!(core.snapshot().scheduler.accepted_tokens > 0, num_speculative_tokens > 0);
    }
}

#[test]
fn states_before_drafts_use_the_memory_of_checkpoints_if_there_is_no_other() {
    let core = core(
        FakeRunner::new(64, 12)
            .with_num_logit_rows(8)
            .with_state_slots(2)
            .with_logits(|history, token| if token == 2 + history.len() % 3 { 9.0 } else { 0.0 }),
    );
    let mut session = Session::new(core.clone(), SessionOptions::default()).expect("room");
    let said = tokens_of(&mut session, &[2, 3, 4], &speculating(&greedy(40), 3));
    assert_eq!(said, (3..43).map(|at| 2 + at % 3).collect::<Vec<u32>>());
    assert!(session.metrics().accepted_tokens > 0);
}
