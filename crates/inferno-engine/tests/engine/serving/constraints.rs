//! Constrained answers.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use inferno_engine::{
    ConstraintError, ConstraintState, EngineError, FinishReason, Request, TokenConstraint,
    TokenMask,
};

use super::{CONTEXT_LENGTH, alone, engine, events, failure, only, put_together, runner, submit};
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

/// Whether a mask may be computed, and how many were asked for while it was not.
type Gate = Arc<(Mutex<bool>, Condvar)>;

/// Computes no mask until its gate opens.
#[derive(Clone)]
struct Gated {
    rules: CountsUp,
    gate: Gate,
}

impl TokenConstraint for Gated {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(self.clone())
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        let (is_open, opened) = &*self.gate;
        let is_open = is_open.lock().expect("nobody panicked");
        let timeout = Duration::from_secs(60);
        let waited = opened.wait_timeout_while(is_open, timeout, |is_open| !*is_open);
        assert!(!waited.expect("nobody panicked").1.timed_out(), "others had to wait for it");
        self.rules.mask(allowed)
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        self.rules.accept(token)
    }
}

#[test]
fn other_requests_continue_while_a_mask_is_computed() {
    let (rules, gate) = (CountsUp { from: 5, last: 20, breaks_at: None }, Gate::default());
    let engine = engine(runner(40));
    let constraint = Box::new(Gated { rules: rules.clone(), gate: Arc::clone(&gate) });
    let request = |constraint| Request {
        constraint: Some(constraint),
        ..Request::new(vec![2, 3], greedy(30))
    };
    let gated = engine.handle().submit(request(constraint)).expect("a sound request");
    for _ in 0..3 {
        let other = only(submit(&engine, &[4, 5, 6], &greedy(40))).0;
        assert_eq!(other, alone(&[4, 5, 6], &greedy(40)));
    }
    *gate.0.lock().expect("nobody panicked") = true;
    gate.1.notify_all();
    let expected = only(engine.handle().submit(request(Box::new(rules))).expect("sound")).0;
    assert_eq!(only(gated).0, expected);
}

/// Uses this much processor time for each token it accepts and for each mask.
#[derive(Clone)]
struct Slow {
    rules: CountsUp,
    time: Duration,
}

impl Slow {
    fn work(&self) {
        // Wall-clock time is at least processor time, so more is used than the loop measures.
        let mut num_turns = 0u64;
        for _ in 0..4 {
            let started = Instant::now();
            while started.elapsed() < self.time {
                num_turns = std::hint::black_box(num_turns + 1);
            }
        }
    }
}

impl TokenConstraint for Slow {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(self.clone())
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        self.work();
        self.rules.mask(allowed)
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        self.work();
        self.rules.accept(token)
    }
}

#[test]
fn a_slow_constraint_changes_no_token() {
    let rules = CountsUp { from: 5, last: 20, breaks_at: None };
    let slow = || Box::new(Slow { rules: rules.clone(), time: Duration::from_millis(4) });
    let params = greedy(30);
    let request = |constraint| Request {
        constraint: Some(constraint),
        num_choices: 2,
        ..Request::new(vec![2, 3], params.clone())
    };
    let engine = engine(runner(40));
    let fast = events(engine.handle().submit(request(Box::new(rules.clone()))).expect("sound"));
    let held = events(engine.handle().submit(request(slow())).expect("sound"));
    for choice in 0..2 {
        assert_eq!(put_together(&held, choice).0, put_together(&fast, choice).0);
    }
    let mut session = session(FakeRunner::new(CONTEXT_LENGTH, 8));
    let generation = session.generate_constrained(&[2, 3], &params, slow()).expect("it fits");
    assert_eq!(generation.complete().expect("the rules hold"), put_together(&fast, 0).0);
}

#[test]
fn a_constraint_that_takes_too_long_fails_its_request_alone() {
    let rules = CountsUp { from: 5, last: 20, breaks_at: None };
    let constraint = Box::new(Slow { rules, time: Duration::from_secs(1) });
    let engine = engine(runner(40));
    let request = Request { constraint: Some(constraint), ..Request::new(vec![2, 3], greedy(30)) };
    let too_slow = engine.handle().submit(request).expect("a sound request");
    let other = submit(&engine, &[4, 5, 6], &greedy(40));
    let message = failure(too_slow);
    assert!(message.contains("at most 500 ms are accepted"), "{message}");
    assert_eq!(only(other).0, alone(&[4, 5, 6], &greedy(40)));
}
