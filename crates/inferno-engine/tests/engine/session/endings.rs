//! Finish reasons: end of sequence, limits, cancellation, errors.

use std::sync::{Arc, Mutex};

use inferno_engine::{CancelHandle, EngineError, FinishReason, GenerationParams};

use super::{CONTEXT_LENGTH, continuation_of_a_fresh_session, fresh, greedy, session, tokens_of};
use crate::fake_runner::{FakeRunner, Outcome};
use crate::vocabulary::{END, tokenizer};

#[test]
fn each_ending_has_its_own_finish_reason() {
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
fn a_full_context_has_its_own_finish_reason() {
    let mut session = fresh();
    let generation = session.generate(&[2; 60], &greedy(1000)).expect("it fits");
    let completion = generation.complete().expect("a runner that does not fail");
    assert_eq!(completion.finish_reason, FinishReason::ContextFull);
    assert_eq!(completion.tokens.len(), 4);
    assert_eq!(session.tokens().len(), CONTEXT_LENGTH);
    let none: [u32; 0] = [];
    let error = session.generate(&none, &greedy(1)).map(|_| ()).expect_err("it is full");
    assert!(matches!(error, EngineError::PromptTooLong { prompt_tokens: 0, .. }), "{error}");
}

#[test]
fn a_cancelled_prompt_stops_between_chunks_and_is_removed() {
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
    assert_eq!(tokens_of(&mut session, &[3], &greedy(3)), continuation_of_a_fresh_session(&[3], 3));
}

#[test]
fn a_prompt_can_be_cancelled_between_chunks_or_fill_the_context() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8);
    let passes = runner.passes();
    let mut session = session(runner);
    session.extend(&[2; 3]).expect("it fits");
    let is_computed = session.extend_unless_cancelled(&[3; 40], |computed| computed >= 16);
    assert!(!is_computed.expect("a runner that does not fail"));
    assert_eq!(session.tokens(), [2; 3]);
    assert_eq!(*passes.lock().expect("no panic"), [3, 8, 8]);

    let mut counts = Vec::new();
    let record = |computed| {
        counts.push(computed);
        false
    };
    let is_computed = session.extend_unless_cancelled(&[4; CONTEXT_LENGTH - 3], record);
    assert!(is_computed.expect("a runner that does not fail"));
    assert_eq!(session.tokens().len(), CONTEXT_LENGTH);
    assert_eq!(counts, [0, 8, 16, 24, 32, 40, 48, 56]);
}

#[test]
fn a_cancelled_answer_returns_held_back_text() {
    let mut session = fresh();
    let mut params = greedy(30);
    params.sampling.logit_bias = vec![(2, 100.0)];
    params.stop.stop = vec!["aab".into()];
    let mut generation = session.generate(&[3], &params).expect("it fits");
    let handle = generation.cancel_handle();
    assert_eq!(generation.next().expect("a step").expect("no error").text, "");
    handle.cancel();
    let last = generation.next().expect("a step").expect("no error");
    assert_eq!(last.text, "a");
    assert_eq!(last.finish_reason, Some(FinishReason::Cancelled));
    drop(generation);
    assert_eq!(session.tokens(), [3, 2]);
}

#[test]
fn a_failed_generation_does_not_return_a_completion() {
    let hook = |pass| match pass {
        1 => Outcome::Fails,
        _ => Outcome::Runs,
    };
    let mut session = session(FakeRunner::new(CONTEXT_LENGTH, 8).with_hook(hook));
    let mut generation = session.generate(&[2], &greedy(5)).expect("it fits");
    assert!(generation.next().expect("a first token").is_ok());
    assert!(generation.next().expect("a second step").is_err());
    assert!(generation.next().is_none());
    let error = generation.complete().expect_err("it failed");
    assert!(matches!(error, EngineError::GenerationFailed), "{error}");
}

#[test]
fn a_cancelled_answer_omits_half_a_character() {
    let half = tokenizer().token_id("Ã").expect("it is in the vocabulary");
    let mut params = greedy(5);
    params.sampling.logit_bias = vec![(half, 100.0)];
    for num_steps in [0, 1] {
        let mut session = fresh();
        let mut generation = session.generate(&[2, half], &params).expect("it fits");
        let steps = generation.by_ref().take(num_steps);
        let said: String = steps.map(|step| step.expect("no error").text).collect();
        // The first byte of é twice: the one in the prompt can no longer be completed.
        assert_eq!(said, "\u{fffd}".repeat(num_steps));
        generation.cancel_handle().cancel();
        let last = generation.next().expect("a step").expect("no error");
        assert_eq!(last.finish_reason, Some(FinishReason::Cancelled));
        assert_eq!(last.text, "");
    }
}
