//! Constrained answers.

use inferno_engine::{
    ConstraintError, ConstraintState, EngineError, FinishReason, Request, TokenConstraint,
    TokenMask,
};

use super::{CONTEXT_LENGTH, engine, events, failure, put_together, runner};
use crate::fake_runner::FakeRunner;
use crate::session::{greedy, session};
use crate::vocabulary::VOCAB_SIZE;

/// Even and odd tokens alternate.
#[derive(Clone, Default)]
pub struct Alternates {
    is_odd: bool,
}

impl TokenConstraint for Alternates {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(self.clone())
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        let tokens = 2..VOCAB_SIZE as u32;
        tokens
            .filter(|token| (token % 2 == 1) == self.is_odd)
            .for_each(|token| allowed.allow(token));
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        assert_eq!(token % 2 == 1, self.is_odd, "it was not allowed");
        self.is_odd = !self.is_odd;
        Ok(ConstraintState::Open)
    }
}

/// Counts up from a token: each may be followed by the next or the one after it, up to a last one.
#[derive(Clone)]
struct CountsUp {
    from: u32,
    last: u32,
    breaks_at: Option<u32>,
}

impl TokenConstraint for CountsUp {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(self.clone())
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        assert!(allowed.words().iter().all(|&word| word == 0), "the mask is empty at first");
        allowed.allow(self.from);
        allowed.allow((self.from + 1).min(self.last));
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        if self.breaks_at.is_some_and(|at| token >= at) {
            return Err(ConstraintError("the rules broke".to_owned()));
        }
        self.from = token + 1;
        match token == self.last {
            true => Ok(ConstraintState::Complete),
            false => Ok(ConstraintState::Open),
        }
    }
}

fn counting(num_choices: usize, breaks_at: Option<u32>) -> Request {
    let rules = CountsUp { from: 5, last: 20, breaks_at };
    let mut params = greedy(40);
    params.sampling.temperature = 1.0;
    params.sampling.seed = Some(3);
    Request { num_choices, constraint: Some(Box::new(rules)), ..Request::new(vec![2, 3], params) }
}

#[test]
fn only_allowed_tokens_are_generated_until_the_constraint_ends() {
    let engine = engine(runner(40));
    let stream = engine.handle().submit(counting(4, None)).expect("a sound request");
    let events = events(stream);
    let all = [0, 1, 2, 3].map(|choice| {
        let (said, end) = put_together(&events, choice);
        let tokens = &said.tokens;
        assert!(tokens[0] == 5 || tokens[0] == 6);
        assert!(tokens.windows(2).all(|pair| [1, 2].contains(&(pair[1] - pair[0]))), "{tokens:?}");
        assert_eq!((tokens.last(), end.reason), (Some(&20), FinishReason::EndOfGeneration));
        said.tokens
    });
    assert!(all.iter().any(|tokens| *tokens != all[0]), "the choices differ");
}

#[test]
fn a_failing_constraint_fails_the_request() {
    let engine = engine(runner(40));
    let stream = engine.handle().submit(counting(2, Some(12))).expect("a sound request");
    let failed = failure(stream);
    assert!(failed.contains("the rules broke"), "{failed}");
}

#[test]
fn a_session_with_a_constraint_generates_what_a_request_does() {
    let constraint = || CountsUp { from: 3, last: 9, breaks_at: None };
    let engine = engine(runner(40));
    let request = Request {
        constraint: Some(Box::new(constraint())),
        ..Request::new(vec![2, 3], greedy(30))
    };
    let (expected, _) = put_together(&events(engine.handle().submit(request).expect("sound")), 0);
    let mut session = session(FakeRunner::new(CONTEXT_LENGTH, 8));
    let generation = session.generate_constrained(&[2, 3], &greedy(30), Box::new(constraint()));
    let completion = generation.expect("it fits").complete().expect("the rules hold");
    assert_eq!(completion, expected);

    let broken = Box::new(CountsUp { breaks_at: Some(5), ..constraint() });
    let generation = session.generate_constrained(&[2], &greedy(30), broken).expect("it fits");
    let error = generation.complete().expect_err("the rules break");
    assert!(matches!(error, EngineError::Constraint(_)), "{error}");
}
