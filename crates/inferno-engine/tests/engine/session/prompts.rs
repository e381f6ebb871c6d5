//! Valid and invalid prompts.

use inferno_engine::{EngineError, GenerationParams, SamplingParams};

use super::{CONTEXT_LENGTH, continuation_of_a_fresh_session, fresh, greedy, tokens_of};
use crate::vocabulary::{BEGIN, END, VOCAB_SIZE};

#[test]
fn only_the_first_prompt_gets_the_bos_token() {
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
fn a_prompt_that_does_not_fit_is_rejected_with_all_counts() {
    let mut session = fresh();
    session.extend(&[2; 10]).expect("it fits");
    for result in [
        session.generate(&[3; 54], &greedy(1)).map(|_| ()),
        session.generate(&vec![3; 55], &greedy(1)).map(|_| ()),
        session.extend(&vec![3; 55]),
    ] {
        let error = result.expect_err("it does not fit");
        let EngineError::PromptTooLong { prompt_tokens, session_tokens, room, context_length } =
            error
        else {
            panic!("{error}")
        };
        assert_eq!((session_tokens, context_length), (10, CONTEXT_LENGTH));
        assert!(session_tokens + prompt_tokens + room > context_length);
    }
    assert_eq!(session.tokens(), [2; 10]);
    let said = tokens_of(&mut session, &[3], &greedy(2));
    assert_eq!(said, continuation_of_a_fresh_session(&[&[2; 10][..], &[3]].concat(), 2));
    session.truncate(10);
    session.extend(&[3; 54]).expect("it fits exactly");
    assert_eq!(session.tokens().len(), CONTEXT_LENGTH);
}

#[test]
fn other_invalid_prompts_are_rejected() {
    let mut session = fresh();
    let refused = |result: Result<_, EngineError>| result.map(|_| ()).expect_err("refused");
    let none: [u32; 0] = [];
    let error = refused(session.generate(&none, &greedy(1)).map(|_| ()));
    assert!(matches!(error, EngineError::EmptyPrompt), "{error}");
    let error = refused(session.generate(&[2, VOCAB_SIZE as u32], &greedy(1)).map(|_| ()));
    assert!(matches!(error, EngineError::TokenOutOfRange { token: 34, .. }), "{error}");
    let params = GenerationParams {
        sampling: SamplingParams { top_p: 7.0, ..Default::default() },
        ..Default::default()
    };
    let error = refused(session.generate(&[2], &params).map(|_| ()));
    assert!(matches!(error, EngineError::ParamOutOfRange { field: "top_p", .. }), "{error}");
    assert_eq!(session.tokens(), [0u32; 0]);
}
