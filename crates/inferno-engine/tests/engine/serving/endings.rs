//! Cancellation, deadlines, draining and shutdown.

use std::sync::mpsc::{self, Sender};
use std::time::Instant;

use inferno_engine::{
    CoreOptions, Engine, EngineError, EngineOptions, Event, FinishReason, GenerationCore, Request,
    SubmitError,
};

use super::{at_rest, engine, failure, finish_reason, only, options, runner, submit};
use crate::cores::{core, core_with};
use crate::fake_runner::{FakeRunner, Outcome};
use crate::session::greedy;
use crate::vocabulary::tokenizer;

/// A runner whose passes each wait for a permit, or for the permit channel to close.
pub fn gated(runner: FakeRunner) -> (FakeRunner, Sender<()>) {
    let (permits, gate) = mpsc::channel();
    let runner = runner.with_hook(move |_| {
        let _ = gate.recv();
        Outcome::Runs
    });
    (runner, permits)
}

/// Waits until `condition` holds.
fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}

#[test]
fn dropping_the_receiver_cancels_within_one_step() {
    for read in [0, 2] {
        let (runner, permits) = gated(runner(40));
        let passes = runner.passes();
        let engine = engine(runner);
        // 50 tokens need five passes, the last of which yields the first token.
        let mut stream = submit(&engine, &[7; 50], &greedy(10));
        let num_passes = if read == 0 { 1 } else { 6 };
        (0..num_passes).for_each(|_| permits.send(()).expect("the engine runs"));
        (0..read).for_each(|_| assert!(matches!(stream.blocking_next(), Some(Event::Token(_)))));
        wait_until(|| passes.lock().expect("no panic").len() == num_passes);
        drop(stream);
        drop(permits);
        let snapshot = at_rest(&engine);
        assert_eq!(snapshot.num_running, 0);
        // The pass that ran when the receiver was dropped.
        assert!(passes.lock().expect("no panic").len() <= num_passes + 1);
    }
}

#[test]
fn a_full_queue_rejects_requests_until_one_starts() {
    let (runner, permits) = gated(runner(40));
    let core =
        core_with(runner, CoreOptions { max_num_sequences: Some(1), ..CoreOptions::default() });
    let options = EngineOptions { max_num_waiting: 1, ..options() };
    let engine = Engine::start(&core, options).expect("a sound runner");
    let handle = engine.handle();
    let ask = || handle.submit(Request::new(vec![2, 3], greedy(2)));
    let running = ask().expect("there is room");
    let waiting = loop {
        // The first leaves the queue when its pass begins.
        match ask() {
            Ok(waiting) => break waiting,
            Err(error) => assert!(matches!(error, SubmitError::QueueFull { limit: 1 }), "{error}"),
        }
    };
    let refused = ask().expect_err("one waits");
    assert!(refused.to_string().contains("1 requests are waiting"), "{refused}");
    drop(permits);
    assert_eq!(finish_reason(running), FinishReason::Length);
    assert_eq!(finish_reason(waiting), FinishReason::Length);
    at_rest(&engine);
    assert!(ask().is_ok());
}

#[test]
fn a_deadline_finishes_a_request_with_its_tokens_so_far() {
    let engine = engine(runner(40));
    let request = Request { deadline: Some(Instant::now()), ..Request::new(vec![2], greedy(5)) };
    let (said, end) = only(engine.handle().submit(request).expect("a sound request"));
    assert_eq!((said.tokens, end.reason), (Vec::new(), FinishReason::DeadlineExceeded));
    assert_eq!(end.timings.queued, end.timings.total);
}

#[test]
fn a_draining_engine_rejects_new_requests_and_finishes_running_ones() {
    let (runner, permits) = gated(runner(40));
    let engine = engine(runner);
    let handle = engine.handle();
    let streams: Vec<_> = (0..12).map(|_| submit(&engine, &[2, 3, 4], &greedy(5))).collect();
    handle.drain();
    let refused = handle.submit(Request::new(vec![2], greedy(1)));
    assert!(matches!(refused, Err(SubmitError::Draining)) && handle.is_draining());
    assert!(!handle.is_idle());
    drop(permits);
    for stream in streams {
        assert_eq!(finish_reason(stream), FinishReason::Length);
    }
    wait_until(|| handle.is_idle());
    assert!(handle.is_alive());
    engine.shut_down();
    assert!(!handle.is_alive());
}

#[test]
fn shutdown_cancels_running_requests() {
    let (runner, permits) = gated(runner(40));
    let engine = engine(runner);
    let handle = engine.handle();
    let mut stream = submit(&engine, &[2, 3, 4], &greedy(50));
    permits.send(()).expect("the engine runs");
    assert!(matches!(stream.blocking_next(), Some(Event::Token(_))));
    let stopping = std::thread::spawn(move || engine.shut_down());
    drop(permits);
    let last = std::iter::from_fn(|| stream.blocking_next()).last();
    let Some(Event::Finished(end)) = last else { panic!("unexpected last event: {last:?}") };
    assert!(matches!(end.reason, FinishReason::Cancelled | FinishReason::Length));
    stopping.join().expect("no panic");
    let refused = handle.submit(Request::new(vec![2], greedy(1)));
    assert!(matches!(refused, Err(SubmitError::Stopped)) && !handle.is_alive());
}

#[test]
fn a_failed_pass_fails_only_its_own_requests() {
    let hook = |pass| if pass == 2 { Outcome::Fails } else { Outcome::Runs };
    let engine = engine(runner(40).with_hook(hook));
    let failed = failure(submit(&engine, &[2, 3, 4], &greedy(10)));
    assert!(failed.contains("as the test requested"), "{failed}");
    assert_eq!(finish_reason(submit(&engine, &[2, 3, 4], &greedy(10))), FinishReason::Length);
    let snapshot = at_rest(&engine);
    assert_eq!(snapshot.failed_steps, 1);
    assert_eq!(snapshot.blocks.num_in_use(), 0);
}

#[test]
fn a_lost_device_fails_every_request_and_stops_the_engine() {
    let (permits, gate) = mpsc::channel::<()>();
    let engine = engine(runner(40).with_hook(move |pass| {
        let _ = gate.recv();
        if pass == 2 { Outcome::LosesDevice } else { Outcome::Runs }
    }));
    let handle = engine.handle();
    let streams = [[2, 3, 4], [5, 6, 7]].map(|prompt| submit(&engine, &prompt, &greedy(10)));
    drop(permits);
    for stream in streams {
        let failed = failure(stream);
        assert!(failed.contains("the device is lost: as the test requested"), "{failed}");
    }
    while handle.is_alive() {
        std::thread::yield_now();
    }
    let refused = handle.submit(Request::new(vec![2], greedy(1)));
    assert!(matches!(refused, Err(SubmitError::Stopped)));
}

#[test]
fn nan_logits_fail_the_request() {
    let hook = |pass| if pass == 2 { Outcome::GivesNan } else { Outcome::Runs };
    let engine = engine(runner(40).with_hook(hook));
    let request = Request { num_choices: 2, ..Request::new(vec![2, 3], greedy(10)) };
    let failed = failure(engine.handle().submit(request).expect("a sound request"));
    assert!(failed.contains("NaN"), "{failed}");
    assert_eq!(finish_reason(submit(&engine, &[2, 3, 4], &greedy(10))), FinishReason::Length);
    at_rest(&engine);
}

#[test]
fn a_dead_engine_fails_every_request() {
    let hook = |pass| if pass == 1 { panic!("as the test wants") } else { Outcome::Runs };
    let engine = engine(runner(40).with_hook(hook));
    let handle = engine.handle();
    let failed = failure(submit(&engine, &[2, 3, 4], &greedy(10)));
    assert_eq!(failed, EngineError::EngineStopped.to_string());
    wait_until(|| !handle.is_alive());
    let refused = handle.submit(Request::new(vec![2], greedy(1)));
    assert!(matches!(refused, Err(SubmitError::Stopped)));
}

#[test]
fn unsatisfiable_limits_are_rejected() {
    for max_num_sequences in [0, 9] {
        let max_num_sequences = Some(max_num_sequences);
        let options = CoreOptions { max_num_sequences, ..CoreOptions::default() };
        let refused = GenerationCore::new(Box::new(runner(40)), tokenizer(), options).err();
        assert!(refused.is_some_and(|error| error.to_string().contains("from 1 to 8")));
    }
    let options = EngineOptions { max_num_waiting: 0, ..options() };
    assert!(Engine::start(&core(runner(40)), options).is_err());
}
