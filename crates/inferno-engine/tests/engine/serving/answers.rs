//! Responses: choices, cached tokens, times, and reading them from any thread.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use inferno_engine::{
    CoreOptions, Engine, EngineError, Event, GenerationCore, Request, StopParams, SubmitError,
};

use super::{
    CONTEXT_LENGTH, alone, at_rest, engine, events, only, options, put_together, runner, submit,
};
use crate::session::greedy;
use crate::vocabulary::{VOCAB_SIZE, tokenizer_that_suppresses};

#[test]
fn cached_prompt_tokens_are_reported() {
    let engine = engine(runner(40));
    let prompt: Vec<u32> = (2..20).collect();
    let (first, second) =
        (only(submit(&engine, &prompt, &greedy(5))), only(submit(&engine, &prompt, &greedy(5))));
    assert_eq!(first.0, second.0);
    assert_eq!((first.1.cached_tokens, second.1.cached_tokens), (0, 16));
    let counts = at_rest(&engine).scheduler;
    assert_eq!((counts.prefix_queries, counts.prefix_hits), (36, 16));
}

#[test]
fn every_computed_token_belongs_to_a_step() {
    let engine = engine(runner(40));
    only(submit(&engine, &[2, 3, 4, 5, 6], &greedy(4)));
    let snapshot = at_rest(&engine);
    let steps = snapshot.step_tokens;
    // The last sampled token is not computed.
    assert_eq!((steps.num_tokens, snapshot.steps), (5 + 3, 4));
    assert_eq!((steps.num_steps[0], steps.num_steps[3]), (3, 1));
    assert_eq!(steps.num_steps.iter().sum::<u64>(), 4);
}

#[test]
fn choices_share_their_prompt_and_differ_by_their_seed() {
    let engine = engine(runner(40));
    let prompt: Vec<u32> = (2..20).collect();
    let mut params = greedy(10);
    params.sampling.temperature = 1.5;
    params.sampling.seed = Some(u64::MAX);
    let request = Request { num_choices: 3, ..Request::new(prompt.clone(), params.clone()) };
    let stream = engine.handle().submit(request).expect("a sound request");
    assert_eq!(stream.seed(), u64::MAX);
    let events = events(stream);
    let said = [(0, u64::MAX), (1, 0), (2, 1)].map(|(choice, seed)| {
        params.sampling.seed = Some(seed);
        let (said, _) = put_together(&events, choice);
        assert_eq!(said, alone(&prompt, &params));
        said.text
    });
    assert!(said[0] != said[1] && said[1] != said[2]);
    assert_eq!(at_rest(&engine).scheduler.prefix_hits, 2 * 16);
}

#[test]
fn tokens_that_the_model_suppresses_are_never_generated() {
    let prefers_five = |_: &[u32], token: usize| match token {
        5 => 9.0,
        6 => 8.0,
        _ => 0.0,
    };
    for runner in [runner(40), runner(40).with_candidates()] {
        let runner = Box::new(runner.with_logits(prefers_five));
        let tokenizer = tokenizer_that_suppresses(&[5]);
        let core = GenerationCore::new(runner, tokenizer, CoreOptions::default());
        let engine = Engine::start(&core.expect("a sound runner"), options());
        let (said, _) = only(submit(&engine.expect("a sound runner"), &[2, 3], &greedy(3)));
        assert_eq!(said.tokens, [6; 3]);
    }
}

#[test]
fn an_invalid_request_is_rejected_with_the_reason() {
    let engine = engine(runner(40));
    let handle = engine.handle();
    let refused = |request: Request| match handle.submit(request) {
        Err(SubmitError::Refused(error)) => error.to_string(),
        other => panic!("it was not refused: {other:?}"),
    };
    let ask = |prompt: &[u32]| Request::new(prompt.to_vec(), greedy(5));
    assert_eq!(refused(ask(&[])), EngineError::EmptyPrompt.to_string());
    let long = refused(ask(&[2; CONTEXT_LENGTH]));
    assert!(long.contains("64 tokens") && long.contains("holds 64"), "{long}");
    let unknown = refused(ask(&[VOCAB_SIZE as u32]));
    assert!(unknown.contains("names token 34"), "{unknown}");
    for num_choices in [0, 129] {
        let many = refused(Request { num_choices, ..ask(&[2]) });
        assert!(many.contains("between 1 and 128"), "{many}");
    }
    let mut hot = greedy(5);
    hot.sampling.temperature = -1.0;
    assert!(refused(Request::new(vec![2], hot)).contains("temperature"));
    let stop = StopParams { max_tokens: Some(0), ..StopParams::default() };
    let mut nothing = greedy(5);
    nothing.stop = stop;
    assert!(refused(Request::new(vec![2], nothing)).contains("max_tokens"));
}

#[test]
fn a_cache_smaller_than_the_context_limits_prompt_and_answer() {
    let engine = engine(runner(5));
    assert_eq!(engine.handle().context_length(), 20);
    let too_long = engine.handle().submit(Request::new(vec![2; 20], greedy(5))).err();
    let Some(SubmitError::Refused(error)) = too_long else { panic!("it was accepted") };
    assert!(matches!(*error, EngineError::PromptTooLong { context_length: 20, .. }), "{error}");
    let (said, end) = only(submit(&engine, &[2; 15], &greedy(50)));
    assert_eq!((said.tokens.len(), end.reason.name()), (5, "context_full"));
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn events_can_be_awaited_without_any_runtime() {
    let engine = engine(runner(40));
    let mut stream = submit(&engine, &[2, 3], &greedy(6));
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut events: Vec<Event> = Vec::new();
    loop {
        match stream.poll_next(&mut context) {
            Poll::Ready(Some(event)) => events.push(event),
            Poll::Ready(None) => break,
            Poll::Pending => std::thread::park(),
        }
    }
    assert_eq!(put_together(&events, 0).0, alone(&[2, 3], &greedy(6)));
    assert!(stream.blocking_next().is_none(), "no event follows the end");
}
