//! Sessions: the same tokens in every mode, and a consistent session after every event.

mod answers;
mod endings;
mod metrics;
mod passes;
mod prompts;
mod properties;
pub mod speculation;

use inferno_engine::{GenerationParams, SamplingParams, Session, SessionOptions, StopParams};

use crate::cores::core;
use crate::fake_runner::FakeRunner;

const CONTEXT_LENGTH: usize = 64;

pub fn session(runner: FakeRunner) -> Session {
    Session::new(core(runner), SessionOptions::default()).expect("a sound runner")
}

fn fresh() -> Session {
    session(FakeRunner::new(CONTEXT_LENGTH, 8))
}

/// Greedy decoding of exactly `max_tokens` tokens, ignoring end tokens.
pub fn greedy(max_tokens: usize) -> GenerationParams {
    GenerationParams {
        sampling: SamplingParams::greedy(),
        stop: StopParams { max_tokens: Some(max_tokens), ignore_eos: true, ..Default::default() },
        ..Default::default()
    }
}

pub fn tokens_of(session: &mut Session, prompt: &[u32], params: &GenerationParams) -> Vec<u32> {
    let generation = session.generate(prompt, params).expect("a sound request");
    generation.complete().expect("a runner that does not fail").tokens
}

/// The continuation of `tokens` by a fresh session.
fn continuation_of_a_fresh_session(tokens: &[u32], max_tokens: usize) -> Vec<u32> {
    tokens_of(&mut fresh(), tokens, &greedy(max_tokens))
}
