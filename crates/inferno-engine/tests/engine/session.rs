//! Sessions: the same tokens however they are computed, and a sound session whatever happens.

use std::sync::{Arc, Mutex};

use inferno_engine::{
    CancelHandle, EngineError, FinishReason, GenerationParams, SamplingParams, Session,
    SessionOptions, StopParams,
};
use proptest::prelude::*;

use crate::fake_runner::{FakeRunner, Outcome};
use crate::vocabulary::{BEGIN, END, VOCAB_SIZE, tokenizer};

const CONTEXT_LENGTH: usize = 64;

pub fn session(runner: FakeRunner) -> Session {
    Session::new(Box::new(runner), tokenizer(), SessionOptions::default()).expect("a sound runner")
}

fn fresh() -> Session {
    session(FakeRunner::new(CONTEXT_LENGTH, 8))
}

/// Greedy, `max_tokens` long, whatever the model thinks of ending.
pub fn greedy(max_tokens: usize) -> GenerationParams {
    GenerationParams {
        sampling: SamplingParams::greedy(),
        stop: StopParams {
            max_tokens: Some(max_tokens),
            ignore_eos: true,
            ..Default::default()
        },
        ..Default::default()
    }
}

pub fn tokens_of(session: &mut Session, prompt: &[u32], params: &GenerationParams) -> Vec<u32> {
    let generation = session.generate(prompt, params).expect("a sound request");
    generation
        .complete()
        .expect("a runner that does not fail")
        .tokens
}

/// What a session that never saw anything else says after `tokens`.
fn continuation_of_a_fresh_session(tokens: &[u32], max_tokens: usize) -> Vec<u32> {
    tokens_of(&mut fresh(), tokens, &greedy(max_tokens))
}

#[test]
fn a_long_prompt_is_read_in_chunks_and_then_one_token_a_pass() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8);
    let passes = runner.passes();
    let tokens = tokens_of(&mut session(runner), &[5; 19], &greedy(4));
    assert_eq!(tokens.len(), 4);
    assert_eq!(*passes.lock().expect("no panic"), [8, 8, 3, 1, 1, 1]);
}

#[test]
fn without_a_kv_cache_every_step_reads_everything() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8);
    let passes = runner.passes();
    let options = SessionOptions {
        kv_cache: false,
        ..Default::default()
    };
    let mut session = Session::new(Box::new(runner), tokenizer(), options).expect("a sound runner");
    assert_eq!(tokens_of(&mut session, &[5; 7], &greedy(3)).len(), 3);
    assert_eq!(*passes.lock().expect("no panic"), [7, 8, 8, 1]);
}

#[test]
fn a_conversation_that_goes_on_reads_only_what_is_new() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8);
    let passes = runner.passes();
    let mut session = session(runner);
    let first = tokens_of(&mut session, &[3, 4, 5], &greedy(2));
    passes.lock().expect("no panic").clear();
    let second = tokens_of(&mut session, &[6, 7], &greedy(2));
    // The token said last was never read; it comes with the new prompt.
    assert_eq!(*passes.lock().expect("no panic"), [3, 1]);

    let whole = [&[3, 4, 5], &first[..], &[6, 7]].concat();
    assert_eq!(second, continuation_of_a_fresh_session(&whole, 2));
    assert_eq!(session.tokens(), [&whole[..], &second].concat());
}

#[test]
fn an_empty_prompt_goes_on_from_what_was_read() {
    let mut session = fresh();
    session.extend(&[3, 4, 5, 6]).expect("it fits");
    assert_eq!(session.tokens(), [3, 4, 5, 6]);
    let said = tokens_of(&mut session, &[], &greedy(5));
    assert_eq!(said, continuation_of_a_fresh_session(&[3, 4, 5, 6], 5));
}

#[test]
fn a_text_at_the_start_gets_the_beginning_token_and_a_later_one_does_not() {
    let mut session = fresh();
    session.extend("").expect("it fits");
    assert_eq!(session.tokens(), [BEGIN]);
    session.extend("ab<end>").expect("it fits");
    assert_eq!(session.tokens(), [BEGIN, 29, END]);
    session.reset();
    assert_eq!(session.tokens(), [0u32; 0]);
    session.extend("a").expect("it fits");
    assert_eq!(session.tokens(), [BEGIN, 2]);
}

#[test]
fn a_prompt_that_does_not_fit_is_refused_with_all_counts_and_changes_nothing() {
    let mut session = fresh();
    session.extend(&[2; 10]).expect("it fits");
    for result in [
        session.generate(&[3; 54], &greedy(1)).map(|_| ()),
        session.generate(&vec![3; 55], &greedy(1)).map(|_| ()),
        session.extend(&vec![3; 55]),
    ] {
        let error = result.expect_err("it does not fit");
        let EngineError::PromptTooLong {
            prompt_tokens,
            session_tokens,
            room,
            context_length,
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!((session_tokens, context_length), (10, CONTEXT_LENGTH));
        assert!(session_tokens + prompt_tokens + room > context_length);
    }
    assert_eq!(session.tokens(), [2; 10]);
    let said = tokens_of(&mut session, &[3], &greedy(2));
    assert_eq!(
        said,
        continuation_of_a_fresh_session(&[&[2; 10][..], &[3]].concat(), 2)
    );
    session.truncate(10);
    session.extend(&[3; 54]).expect("it fits exactly");
    assert_eq!(session.tokens().len(), CONTEXT_LENGTH);
}

#[test]
fn other_prompts_that_make_no_sense_are_refused() {
    let mut session = fresh();
    let refused = |result: Result<_, EngineError>| result.map(|_| ()).expect_err("refused");
    let none: [u32; 0] = [];
    let error = refused(session.generate(&none, &greedy(1)).map(|_| ()));
    assert!(matches!(error, EngineError::EmptyPrompt), "{error}");
    let error = refused(
        session
            .generate(&[2, VOCAB_SIZE as u32], &greedy(1))
            .map(|_| ()),
    );
    assert!(
        matches!(error, EngineError::TokenOutOfRange { token: 34, .. }),
        "{error}"
    );
    let params = GenerationParams {
        sampling: SamplingParams {
            top_p: 7.0,
            ..Default::default()
        },
        ..Default::default()
    };
    let error = refused(session.generate(&[2], &params).map(|_| ()));
    assert!(
        matches!(error, EngineError::ParamOutOfRange { field: "top_p", .. }),
        "{error}"
    );
    assert_eq!(session.tokens(), [0u32; 0]);
}

#[test]
fn a_full_context_ends_the_generation_for_its_own_reason() {
    let mut session = fresh();
    let generation = session.generate(&[2; 60], &greedy(1000)).expect("it fits");
    let completion = generation.complete().expect("a runner that does not fail");
    assert_eq!(completion.finish_reason, FinishReason::ContextFull);
    assert_eq!(completion.tokens.len(), 4);
    assert_eq!(session.tokens().len(), CONTEXT_LENGTH);
    let none: [u32; 0] = [];
    let error = session
        .generate(&none, &greedy(1))
        .map(|_| ())
        .expect_err("it is full");
    assert!(
        matches!(
            error,
            EngineError::PromptTooLong {
                prompt_tokens: 0,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn the_text_is_that_of_the_tokens_and_never_half_a_character() {
    let mut session = session(FakeRunner::new(1000, 64));
    let generation = session.generate("a", &greedy(900)).expect("it fits");
    let mut text = String::new();
    let mut tokens = Vec::new();
    for step in generation {
        let step = step.expect("a runner that does not fail");
        text.push_str(&step.text);
        tokens.push(step.token.expect("it is not cancelled").id);
    }
    let whole = tokenizer().decode(&tokens, true).expect("known tokens");
    assert!(
        whole.contains('é'),
        "the test needs characters of two tokens: {whole}"
    );
    assert_eq!(text, whole.strip_suffix('\u{fffd}').unwrap_or(&whole));
}

#[test]
fn a_character_that_the_prompt_begins_and_the_answer_ends_is_shown_whole() {
    let tokenizer = tokenizer();
    let first_half = tokenizer.token_id("Ã").expect("it is in the vocabulary");
    let second_half = tokenizer.token_id("©").expect("it is in the vocabulary");
    let mut params = greedy(1);
    params.sampling.logit_bias = vec![(second_half, 100.0)];
    let mut session = fresh();
    let generation = session
        .generate(&[2, first_half], &params)
        .expect("it fits");
    assert_eq!(generation.complete().expect("it runs").text, "é");
}

#[test]
fn each_end_has_its_own_reason() {
    let run = |change: fn(&mut GenerationParams)| {
        let mut params = greedy(30);
        change(&mut params);
        let mut session = fresh();
        let generation = session.generate("the", &params).expect("it fits");
        generation.complete().expect("a runner that does not fail")
    };
    let plain = run(|_| ());
    assert_eq!(plain.finish_reason, FinishReason::Length);
    assert_eq!(plain.tokens.len(), 30);

    let ended = run(|params| {
        params.stop.ignore_eos = false;
        params.sampling.logit_bias = vec![(END, 100.0)];
        params.stop.min_tokens = 3;
    });
    assert_eq!(ended.finish_reason, FinishReason::EndOfGeneration);
    assert_eq!(ended.tokens.len(), 4);
    assert_eq!(ended.tokens[3], END);

    let stopped = run(|params| {
        params.sampling.logit_bias = vec![(7, 100.0)];
        params.stop.stop_token_ids = vec![7];
    });
    assert_eq!(stopped.finish_reason, FinishReason::StopToken(7));
    assert_eq!((stopped.tokens.len(), stopped.text.as_str()), (1, ""));

    let stopped = run(|params| {
        params.sampling.logit_bias = vec![(2, 100.0)];
        params.stop.stop = vec!["xyz".into(), "aaaa".into()];
    });
    assert_eq!(stopped.finish_reason, FinishReason::StopString(1));
    assert_eq!((stopped.tokens.len(), stopped.text.as_str()), (4, ""));
}

#[test]
fn tokens_without_a_text_are_never_said() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8).with_vocab_size(10 * VOCAB_SIZE);
    let said = tokens_of(&mut session(runner), &[2], &greedy(20));
    assert_eq!(said, continuation_of_a_fresh_session(&[2], 20));
}

#[test]
fn logprobs_and_seed_come_with_the_tokens() {
    let params = GenerationParams {
        sampling: SamplingParams {
            logprobs: Some(2),
            ..Default::default()
        },
        ..greedy(6)
    };
    let mut first = fresh();
    let generation = first.generate(&[2], &params).expect("it fits");
    let seed = generation.seed();
    let completion = generation.complete().expect("it runs");
    assert_eq!(completion.logprobs.len(), 6);
    assert!(
        completion
            .logprobs
            .iter()
            .all(|logprobs| logprobs.top.len() == 2)
    );

    let sampling = SamplingParams {
        seed: Some(seed),
        ..params.sampling.clone()
    };
    let again = GenerationParams { sampling, ..params };
    assert_eq!(tokens_of(&mut fresh(), &[2], &again), completion.tokens);
}

#[test]
fn a_cancelled_prompt_stops_between_chunks_and_leaves_no_trace() {
    let handle: Arc<Mutex<Option<CancelHandle>>> = Arc::default();
    let hook = {
        let handle = Arc::clone(&handle);
        move |pass| {
            if let Some(handle) = &*handle.lock().expect("no panic")
                && pass == 1
            {
                handle.cancel();
            }
            Outcome::Runs
        }
    };
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8).with_hook(hook);
    let passes = runner.passes();
    let mut session = session(runner);
    let mut generation = session.generate(&[2; 40], &greedy(5)).expect("it fits");
    *handle.lock().expect("no panic") = Some(generation.cancel_handle());

    let step = generation.next().expect("one step").expect("no error");
    assert_eq!(step.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(step.token, None);
    assert!(generation.next().is_none());
    drop(generation);
    assert_eq!(*passes.lock().expect("no panic"), [8, 8]);
    assert_eq!(session.tokens(), [0u32; 0]);
    *handle.lock().expect("no panic") = None;
    assert_eq!(
        tokens_of(&mut session, &[3], &greedy(3)),
        continuation_of_a_fresh_session(&[3], 3)
    );
}

#[test]
fn a_cancelled_answer_keeps_what_was_said_and_shows_what_was_held_back() {
    let mut session = fresh();
    let mut params = greedy(30);
    params.sampling.logit_bias = vec![(2, 100.0)];
    params.stop.stop = vec!["aab".into()];
    let mut generation = session.generate(&[3], &params).expect("it fits");
    let handle = generation.cancel_handle();
    assert_eq!(
        generation.next().expect("a step").expect("no error").text,
        ""
    );
    handle.cancel();
    let last = generation.next().expect("a step").expect("no error");
    assert_eq!(last.text, "a");
    assert_eq!(last.finish_reason, Some(FinishReason::Cancelled));
    drop(generation);
    assert_eq!(session.tokens(), [3, 2]);
}

#[test]
fn metrics_count_prompt_tokens_generated_tokens_and_passes() {
    let mut session = fresh();
    tokens_of(&mut session, &[2; 20], &greedy(5));
    let metrics = session.metrics();
    assert_eq!((metrics.prompt_tokens, metrics.generated_tokens), (20, 5));
    assert_eq!(metrics.prefill_passes.durations().len(), 3);
    assert_eq!(metrics.prefill_passes.num_tokens(), 20);
    assert_eq!(metrics.decode_passes.durations().len(), 4);
    assert!(metrics.time_to_first_token.is_some());
    assert!(metrics.decode_tokens_per_second().is_some());
    assert!(metrics.to_string().contains("20 tokens"));
}

#[test]
fn a_session_can_move_to_another_thread() {
    let mut session = fresh();
    let said = std::thread::spawn(move || tokens_of(&mut session, &[3], &greedy(3)));
    assert_eq!(
        said.join().expect("no panic"),
        continuation_of_a_fresh_session(&[3], 3)
    );
}

#[test]
fn a_cache_smaller_than_the_context_is_refused() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8).with_num_blocks(3);
    let session = Session::new(Box::new(runner), tokenizer(), SessionOptions::default());
    let Err(error) = session else {
        panic!("it was taken")
    };
    assert!(
        matches!(
            error,
            EngineError::CacheTooSmall {
                cache_tokens: 12,
                context_length: 64
            }
        ),
        "{error}"
    );
}

/// Something that can happen to a session.
#[derive(Debug, Clone)]
enum Event {
    Generate { prompt: Vec<u32>, steps: usize },
    Extend { prompt: Vec<u32> },
    Truncate { keep: usize },
    SaveAndLoad,
    NextPassFails { nan: bool },
}

fn event() -> impl Strategy<Value = Event> {
    let prompt = || prop::collection::vec(2u32..VOCAB_SIZE as u32, 0..14);
    prop_oneof![
        4 => (prompt(), 0usize..6).prop_map(|(prompt, steps)| Event::Generate { prompt, steps }),
        2 => prompt().prop_map(|prompt| Event::Extend { prompt }),
        1 => (0usize..50).prop_map(|keep| Event::Truncate { keep }),
        1 => Just(Event::SaveAndLoad),
        2 => any::<bool>().prop_map(|nan| Event::NextPassFails { nan }),
    ]
}

proptest! {
    #[test]
    fn however_it_is_computed_the_same_tokens_come(
        prompt in prop::collection::vec(2u32..VOCAB_SIZE as u32, 1..40),
        max_num_tokens in 1usize..50,
        seed: u64,
    ) {
        let sampling = SamplingParams { seed: Some(seed), top_k: 5, ..Default::default() };
        let params = GenerationParams { sampling, ..greedy(10) };
        let run = |max_num_tokens, kv_cache| {
            let runner = FakeRunner::new(CONTEXT_LENGTH, max_num_tokens);
            let options = SessionOptions { kv_cache, ..Default::default() };
            let mut session = Session::new(Box::new(runner), tokenizer(), options).expect("sound");
            tokens_of(&mut session, &prompt, &params)
        };
        let whole = run(CONTEXT_LENGTH, true);
        prop_assert_eq!(whole.len(), 10);
        prop_assert_eq!(&run(max_num_tokens, true), &whole);
        prop_assert_eq!(&run(max_num_tokens, false), &whole);
    }

    #[test]
    fn whatever_happened_a_session_goes_on_like_a_fresh_one_with_its_tokens(
        events in prop::collection::vec(event(), 0..12),
    ) {
        let next: Arc<Mutex<Outcome>> = Arc::new(Mutex::new(Outcome::Runs));
        let hook = {
            let next = Arc::clone(&next);
            move |_| std::mem::replace(&mut *next.lock().expect("no panic"), Outcome::Runs)
        };
        let mut session = session(FakeRunner::new(CONTEXT_LENGTH, 5).with_hook(hook));
        let folder = tempfile::tempdir().expect("a temporary folder");
        for event in events {
            let before = session.tokens().to_vec();
            match event {
                Event::Generate { prompt, steps } => {
                    let mut said = Vec::new();
                    if let Ok(generation) = session.generate(&prompt, &greedy(5)) {
                        for step in generation.take(steps) {
                            said.extend(step.ok().and_then(|step| step.token).map(|it| it.id));
                        }
                    }
                    let read = if said.is_empty() { &[][..] } else { &prompt };
                    prop_assert_eq!(session.tokens(), [&before, read, &said].concat());
                }
                Event::Extend { prompt } => {
                    let read = if session.extend(&prompt).is_ok() { &prompt[..] } else { &[] };
                    prop_assert_eq!(session.tokens(), [&before, read].concat());
                }
                Event::Truncate { keep } => session.truncate(keep),
                Event::SaveAndLoad => {
                    let path = folder.path().join("state");
                    session.save(&path).expect("it can be written");
                    session.reset();
                    session.load(&path).expect("it can be read");
                    prop_assert_eq!(session.tokens(), before);
                }
                Event::NextPassFails { nan } => {
                    let outcome = if nan { Outcome::GivesNan } else { Outcome::Fails };
                    *next.lock().expect("no panic") = outcome;
                }
            }
        }
        *next.lock().expect("no panic") = Outcome::Runs;
        session.truncate(CONTEXT_LENGTH - 5);
        let tokens = [session.tokens(), &[7]].concat();
        let said = tokens_of(&mut session, &[7], &greedy(4));
        prop_assert_eq!(said, continuation_of_a_fresh_session(&tokens, 4));
    }
}
