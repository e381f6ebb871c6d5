//! The engine: each of many concurrent requests generates what it would generate alone.

mod answers;
mod candidates;
mod constraints;
mod embeddings;
mod endings;
mod logits;
mod prompt_logprobs;
mod same_bits;
mod saved_prefixes;
mod scoring;
mod speculation;

use inferno_engine::{
    Completion, Engine, EngineOptions, EngineSnapshot, Event, EventStream, FinishReason, Finished,
    GenerationParams, Request, Session,
};

use crate::cores::core;
use crate::fake_runner::FakeRunner;
use crate::session::session;

const CONTEXT_LENGTH: usize = 64;

/// A runner whose cache holds `num_blocks` blocks of four tokens.
fn runner(num_blocks: usize) -> FakeRunner {
    FakeRunner::new(CONTEXT_LENGTH, 12).with_num_blocks(num_blocks).with_num_logit_rows(8)
}

fn options() -> EngineOptions {
    EngineOptions { max_num_waiting: 64, honor_priority: true, ..EngineOptions::default() }
}

fn engine(runner: FakeRunner) -> Engine {
    Engine::start(&core(runner), options()).expect("a sound runner")
}

/// The completion of a session that runs alone.
fn alone(prompt: &[u32], params: &GenerationParams) -> Completion {
    let mut session: Session = session(FakeRunner::new(CONTEXT_LENGTH, 64));
    let generation = session.generate(prompt, params).expect("a sound request");
    generation.complete().expect("a runner that does not fail")
}

/// The text, tokens and final event of one choice.
fn put_together(events: &[Event], choice: usize) -> (Completion, Finished) {
    let (mut tokens, mut text, mut logprobs) = (Vec::new(), String::new(), Vec::new());
    let mut end = None;
    for event in events {
        match event {
            Event::Token(token) if token.choice == choice => {
                assert!(end.is_none(), "a token after the end");
                tokens.push(token.token.id);
                logprobs.extend(token.token.logprobs.clone());
                text.push_str(&token.text);
            }
            Event::Finished(finished) if finished.choice == choice => {
                assert!(end.replace(finished.clone()).is_none(), "it ends twice");
                text.push_str(&finished.text);
            }
            Event::Failed(error) => panic!("the request failed: {error}"),
            _ => {}
        }
    }
    let end = end.expect("it ends");
    assert_eq!(end.generated_tokens, tokens.len());
    (Completion { tokens, text, logprobs, finish_reason: end.reason }, end)
}

pub fn events(mut stream: EventStream) -> Vec<Event> {
    std::iter::from_fn(|| stream.blocking_next()).collect()
}

/// The result of a request with one choice.
pub fn only(stream: EventStream) -> (Completion, Finished) {
    put_together(&events(stream), 0)
}

pub fn submit(engine: &Engine, prompt: &[u32], params: &GenerationParams) -> EventStream {
    let request = Request::new(prompt.to_vec(), params.clone());
    engine.handle().submit(request).expect("a sound request")
}

/// The state after the last step of an engine without requests.
fn at_rest(engine: &Engine) -> EngineSnapshot {
    let handle = engine.handle();
    while !handle.is_idle() || handle.snapshot().blocks.num_in_use() > 0 {
        std::thread::yield_now();
    }
    handle.snapshot()
}

pub fn failure(stream: EventStream) -> String {
    match events(stream).pop() {
        Some(Event::Failed(error)) => error.to_string(),
        other => panic!("it did not fail: {other:?}"),
    }
}

fn finish_reason(stream: EventStream) -> FinishReason {
    only(stream).1.reason
}
