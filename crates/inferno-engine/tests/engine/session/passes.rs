//! Passes: chunked prefill, caching, continued conversations.

use inferno_engine::{EngineError, Session, SessionOptions};

use super::{CONTEXT_LENGTH, continuation_of_a_fresh_session, fresh, greedy, session, tokens_of};
use crate::cores::core;
use crate::fake_runner::FakeRunner;

#[test]
fn a_long_prompt_is_prefilled_in_chunks_and_decoded_token_by_token() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8);
    let passes = runner.passes();
    let tokens = tokens_of(&mut session(runner), &[5; 19], &greedy(4));
    assert_eq!(tokens.len(), 4);
    assert_eq!(*passes.lock().expect("no panic"), [8, 8, 3, 1, 1, 1]);
}

#[test]
fn without_a_kv_cache_every_step_recomputes_everything() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8);
    let passes = runner.passes();
    let options = SessionOptions { kv_cache: false, ..Default::default() };
    let mut session = Session::new(core(runner), options).expect("a sound runner");
    assert_eq!(tokens_of(&mut session, &[5; 7], &greedy(3)).len(), 3);
    assert_eq!(*passes.lock().expect("no panic"), [7, 8, 8, 1]);
}

#[test]
fn continuing_a_conversation_computes_only_new_tokens() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8);
    let passes = runner.passes();
    let mut session = session(runner);
    let first = tokens_of(&mut session, &[3, 4, 5], &greedy(2));
    passes.lock().expect("no panic").clear();
    let second = tokens_of(&mut session, &[6, 7], &greedy(2));
    // The last generated token was never computed; it is computed with the new prompt.
    assert_eq!(*passes.lock().expect("no panic"), [3, 1]);

    let whole = [&[3, 4, 5], &first[..], &[6, 7]].concat();
    assert_eq!(second, continuation_of_a_fresh_session(&whole, 2));
    assert_eq!(session.tokens(), [&whole[..], &second].concat());
}

#[test]
fn an_empty_prompt_continues_from_the_session() {
    let mut session = fresh();
    session.extend(&[3, 4, 5, 6]).expect("it fits");
    assert_eq!(session.tokens(), [3, 4, 5, 6]);
    let said = tokens_of(&mut session, &[], &greedy(5));
    assert_eq!(said, continuation_of_a_fresh_session(&[3, 4, 5, 6], 5));
}

#[test]
fn a_cache_smaller_than_the_context_is_rejected() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8).with_num_blocks(3);
    let session = Session::new(core(runner), SessionOptions::default());
    let Err(error) = session else { panic!("it was accepted") };
    assert!(
        matches!(error, EngineError::CacheTooSmall { cache_tokens: 12, context_length: 64 }),
        "{error}"
    );
}

#[test]
fn a_session_can_move_to_another_thread() {
    let mut session = fresh();
    let said = std::thread::spawn(move || tokens_of(&mut session, &[3], &greedy(3)));
    assert_eq!(said.join().expect("no panic"), continuation_of_a_fresh_session(&[3], 3));
}
