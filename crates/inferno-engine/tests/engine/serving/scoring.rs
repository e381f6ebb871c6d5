//! Log-probabilities of continuations.

use inferno_engine::{
    Engine, Event, EventStream, Request, ScoringRequest, SubmitError, TokenLogprobs,
};
use proptest::prelude::*;

use super::{CONTEXT_LENGTH, at_rest, engine, events, failure, runner, submit};
use crate::fake_runner::Outcome;
use crate::session::greedy;

fn score(engine: &Engine, context: &[u32], continuation: &[u32]) -> EventStream {
    let request = ScoringRequest { context: context.to_vec(), continuation: continuation.to_vec() };
    engine.handle().score(request).expect("a valid request")
}

/// The log-probabilities, which must be the only event before the end.
fn logprobs(events: &[Event]) -> &[TokenLogprobs] {
    match events {
        [Event::Prompt(event), Event::Finished(end)] if end.generated_tokens == 0 => {
            &event.logprobs
        }
        other => panic!("unexpected events: {other:?}"),
    }
}

/// The log-probabilities of a whole prompt, without the prefix cache.
fn of_prompt(prompt: &[u32]) -> Vec<TokenLogprobs> {
    let mut params = greedy(1);
    params.stop.max_tokens = Some(0);
    let request = Request { prompt_logprobs: Some(0), ..Request::new(prompt.to_vec(), params) };
    let engine = engine(runner(60));
    let stream = engine.handle().submit(request).expect("a valid request");
    match events(stream).first() {
        Some(Event::Prompt(event)) => event.logprobs.clone(),
        other => panic!("unexpected event: {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn scores_are_the_log_probabilities_of_prompts_under_load(
        contexts in prop::collection::vec(prop::collection::vec(2u32..5, 1..30), 1..4),
        choices in prop::collection::vec(prop::collection::vec(2u32..5, 1..9), 1..5),
        num_blocks in 16usize..30,
    ) {
        let crowded = engine(runner(num_blocks));
        let mut answers = Vec::new();
        let mut streams = Vec::new();
        for context in &contexts {
            answers.push(submit(&crowded, context, &greedy(10)));
            for choice in &choices {
                streams.push((context, choice, score(&crowded, context, choice)));
            }
        }
        for (context, choice, stream) in streams {
            let events = events(stream);
            let whole = of_prompt(&[context.as_slice(), choice].concat());
            prop_assert_eq!(logprobs(&events), &whole[context.len() - 1..]);
        }
        answers.into_iter().for_each(|stream| drop(events(stream)));
        let blocks = at_rest(&crowded).blocks;
        prop_assert_eq!(blocks.num_free + blocks.num_cached, num_blocks);
    }
}

#[test]
fn continuations_share_the_context_through_the_prefix_cache() {
    let engine = engine(runner(60));
    let context = [2u32, 3, 4].repeat(7);
    let cached: Vec<usize> = [[3u32, 4], [4, 3]]
        .iter()
        .map(|choice| match events(score(&engine, &context, choice)).last() {
            Some(Event::Finished(end)) => end.cached_tokens,
            other => panic!("unexpected event: {other:?}"),
        })
        .collect();
    let block_tokens = engine.handle().core().snapshot().blocks.num_cached;
    assert!(block_tokens > 0);
    assert_eq!(cached[0], 0);
    assert!(cached[1] > 0 && cached[1] < context.len(), "{cached:?}");
}

#[test]
fn a_continuation_may_exceed_the_context_by_its_last_token() {
    let engine = engine(runner(60));
    let context = vec![2; CONTEXT_LENGTH - 2];
    let stream = score(&engine, &context, &[3, 4, 2]);
    assert_eq!(logprobs(&events(stream)).len(), 3);
    let request = ScoringRequest { context, continuation: vec![3, 4, 2, 2] };
    let Err(SubmitError::Refused(error)) = engine.handle().score(request) else {
        panic!("it was accepted");
    };
    assert!(error.to_string().contains("tokens, but the context holds"), "{error}");
}

#[test]
fn empty_contexts_and_continuations_are_rejected() {
    let engine = engine(runner(16));
    for (context, continuation) in [(vec![], vec![2]), (vec![2], vec![]), (vec![2], vec![9999])] {
        let refused = engine.handle().score(ScoringRequest { context, continuation });
        assert!(matches!(refused, Err(SubmitError::Refused(_))));
    }
}

#[test]
fn logits_that_are_not_finite_fail_the_request() {
    let engine = engine(runner(16).with_hook(|_| Outcome::GivesNan));
    let error = failure(score(&engine, &[2, 3], &[4]));
    assert!(error.contains("logit"), "{error}");
}
