//! Speculative decoding changes the number of steps but no answer.

use std::time::Duration;

use inferno_engine::{
    Completion, ConstraintError, ConstraintState, Engine, EngineOptions, GenerationParams, Request,
    TokenConstraint, TokenMask,
};
use proptest::prelude::*;

use super::constraints::Alternates;
use super::{at_rest, events, only, options, put_together};
use crate::cores::core;
use crate::fake_runner::FakeRunner;
use crate::session::speculation::{CONTEXT_LENGTH, repetitive, sampling, stop};
use crate::session::{greedy, session};
use crate::vocabulary::VOCAB_SIZE;

fn engine(runner: FakeRunner, num_speculative_tokens: usize) -> Engine {
    let options = EngineOptions { num_speculative_tokens, ..options() };
    Engine::start(&core(runner), options).expect("a sound runner")
}

fn alone(prompt: &[u32], params: &GenerationParams) -> Completion {
    let mut session = session(repetitive());
    let generation = session.generate(prompt, params).expect("a sound request");
    generation.complete().expect("a runner that does not fail")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn answers_do_not_depend_on_the_number_of_drafts(
        requests in prop::collection::vec(
            (sampling(), stop(), prop::collection::vec(2u32..VOCAB_SIZE as u32, 1..30), 1usize..3),
            1..5,
        ),
        num_drafts in 1usize..=15,
        num_blocks in 30usize..70,
        num_slots in prop::option::of(1usize..30),
    ) {
        let runner = repetitive().with_num_blocks(num_blocks).with_optional_state(num_slots);
        let engine = engine(runner, num_drafts);
        let requests: Vec<_> = requests.into_iter().map(|(sampling, stop, prompt, num_choices)| {
            let params = GenerationParams { sampling, stop, ..GenerationParams::default() };
            (prompt, params, num_choices)
        }).collect();
        let streams: Vec<_> = requests.iter().map(|(prompt, params, num_choices)| {
            let request = Request::new(prompt.clone(), params.clone());
            let request = Request { num_choices: *num_choices, ..request };
            engine.handle().submit(request).expect("a sound request")
        }).collect();
        for ((prompt, params, num_choices), stream) in requests.iter().zip(streams) {
            let events = events(stream);
            for choice in 0..*num_choices {
                let mut params = params.clone();
                let seed = params.sampling.seed.expect("it has one");
                params.sampling.seed = Some(seed.wrapping_add(choice as u64));
                prop_assert_eq!(put_together(&events, choice).0, alone(prompt, &params));
            }
        }
        let snapshot = at_rest(&engine);
        let blocks = snapshot.blocks;
        prop_assert_eq!(blocks.num_free + blocks.num_cached, num_blocks);
        let states = snapshot.states;
        prop_assert_eq!(states.num_free + states.num_checkpoints, num_slots.unwrap_or(0));
        let counts = snapshot.scheduler;
        prop_assert!(counts.accepted_tokens <= counts.drafted_tokens);
        prop_assert_eq!(counts.accepted_at.iter().sum::<u64>(), counts.accepted_tokens);
        prop_assert!(counts.accepted_at.is_sorted_by(|before, after| before >= after));
    }
}

#[test]
fn repetitive_text_needs_fewer_steps() {
    let num_steps = |num_drafts| {
        let engine = engine(repetitive(), num_drafts);
        let request = Request::new(vec![2, 3, 4], greedy(CONTEXT_LENGTH - 10));
        let said = only(engine.handle().submit(request).expect("a sound request")).0;
        assert_eq!(said, alone(&[2, 3, 4], &greedy(CONTEXT_LENGTH - 10)));
        let snapshot = at_rest(&engine);
        assert_eq!(snapshot.scheduler.drafted_tokens > 0, num_drafts > 0);
        assert_eq!(snapshot.generation_tokens, CONTEXT_LENGTH as u64 - 10);
        snapshot.steps
    };
    let (without, with) = (num_steps(0), num_steps(8));
    assert_eq!(without, CONTEXT_LENGTH as u64 - 10);
    assert!(2 * with < without, "{with} of {without} steps");
}

/// A constraint of which every third mask takes long, so that the sequence waits for it, also after accepted drafts.
#[derive(Clone, Default)]
struct Hesitates {
    rules: Alternates,
    num_masks: usize,
}

impl TokenConstraint for Hesitates {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(self.clone())
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        self.num_masks += 1;
        if self.num_masks.is_multiple_of(3) {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.rules.mask(allowed)
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        self.rules.accept(token)
    }
}

#[test]
fn constraints_apply_to_drafts() {
    for num_slots in [None, Some(4)] {
        let runs = [false, true].map(|hesitates| {
            // At every other token, the constraint forbids what the model would repeat.
            let engine = engine(repetitive().with_optional_state(num_slots), 8);
            let constraint: Box<dyn TokenConstraint> = match hesitates {
                true => Box::new(Hesitates::default()),
                false => Box::new(Alternates::default()),
            };
            let request = Request::new(vec![2, 3, 4], greedy(60));
            let request = Request { constraint: Some(constraint), ..request };
            let said = only(engine.handle().submit(request).expect("a sound request")).0;
            let odd = |place: usize| said.tokens[place] % 2 == place as u32 % 2;
            assert!((0..60).all(odd), "{:?}", said.tokens);
            assert!(at_rest(&engine).scheduler.accepted_tokens > 0);
            said
        });
        assert_eq!(runs[0], runs[1]);
    }
}
