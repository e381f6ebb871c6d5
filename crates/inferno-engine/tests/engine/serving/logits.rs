//! Logits of prompts.

use inferno_engine::{Engine, Event, EventStream, SubmitError};
use proptest::prelude::*;

use super::{CONTEXT_LENGTH, alone, at_rest, engine, events, failure, only, runner, submit};
use crate::fake_runner::Outcome;
use crate::session::greedy;

fn logits(engine: &Engine, prompt: &[u32], all_positions: bool) -> EventStream {
    engine.handle().logits(prompt.to_vec(), all_positions).expect("a valid request")
}

/// The rows, which must be the only event before the end.
fn values(stream: EventStream) -> Vec<f32> {
    match events(stream).as_slice() {
        [Event::Logits(values), Event::Finished(end)] if end.generated_tokens == 0 => {
            values.clone()
        }
        other => panic!("unexpected events: {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn logits_do_not_depend_on_concurrent_requests(
        prompts in prop::collection::vec((prop::collection::vec(2u32..5, 1..40), any::<bool>()), 1..12),
        num_blocks in 16usize..30,
    ) {
        let crowded = engine(runner(num_blocks));
        let vocab_size = crowded.handle().vocab_size();
        let mut answers = Vec::new();
        let mut streams = Vec::new();
        for (prompt, all_positions) in &prompts {
            answers.push(submit(&crowded, prompt, &greedy(10)));
            streams.push(logits(&crowded, prompt, *all_positions));
        }
        for ((prompt, all_positions), stream) in prompts.iter().zip(streams) {
            let found = values(stream);
            let expected = values(logits(&engine(runner(60)), prompt, true));
            prop_assert_eq!(expected.len(), prompt.len() * vocab_size);
            let first = if *all_positions { 0 } else { expected.len() - vocab_size };
            prop_assert_eq!(&found, &expected[first..]);
            // The most probable token after the prompt is the one that greedy decoding selects.
            let last = &expected[expected.len() - vocab_size..];
            let best = (0..vocab_size).rev().max_by(|&a, &b| last[a].total_cmp(&last[b]));
            let selected = alone(prompt, &greedy(1)).tokens[0];
            prop_assert_eq!(best, Some(selected as usize));
        }
        for ((prompt, _), stream) in prompts.iter().zip(answers) {
            prop_assert_eq!(only(stream).0, alone(prompt, &greedy(10)));
        }
        let blocks = at_rest(&crowded).blocks;
        prop_assert_eq!(blocks.num_free + blocks.num_cached, num_blocks);
    }
}

#[test]
fn logits_that_are_not_finite_fail_the_request() {
    let engine = engine(runner(40).with_hook(|_| Outcome::GivesNan));
    let message = failure(logits(&engine, &[2, 3, 4], true));
    assert!(message.contains("the model computed the logit NaN"), "{message}");
}

#[test]
fn a_prompt_without_tokens_or_beyond_the_context_is_rejected() {
    let engine = engine(runner(40));
    for prompt in [vec![], vec![3; CONTEXT_LENGTH + 1]] {
        let rejected = engine.handle().logits(prompt, true);
        assert!(matches!(rejected, Err(SubmitError::Refused(_))), "{rejected:?}");
    }
    assert_eq!(
        values(logits(&engine, &[3; CONTEXT_LENGTH], false)).len(),
        engine.handle().vocab_size()
    );
}
