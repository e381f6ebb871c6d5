//! The same tokens for any order and chunking of requests.

use std::sync::{Arc, Mutex};

use inferno_engine::{GenerationParams, SamplingParams, Session, SessionOptions};
use proptest::prelude::*;

use super::{CONTEXT_LENGTH, continuation_of_a_fresh_session, greedy, session, tokens_of};
use crate::cores::core;
use crate::fake_runner::{FakeRunner, Outcome};
use crate::vocabulary::VOCAB_SIZE;

/// An event for a session.
#[derive(Debug, Clone)]
enum Event {
    Generate { prompt: Vec<u32>, steps: usize },
    Extend { prompt: Vec<u32> },
    Truncate { keep: usize },
    SaveAndLoad,
    NextPassFails { nan: bool },
}

fn event() -> impl Strategy<Value = Event> {
    let prompt = || prop::collection::vec(2u32..VOCAB_SIZE as u32, 0..14);
    prop_oneof![
        4 => (prompt(), 0usize..6).prop_map(|(prompt, steps)| Event::Generate { prompt, steps }),
        2 => prompt().prop_map(|prompt| Event::Extend { prompt }),
        1 => (0usize..50).prop_map(|keep| Event::Truncate { keep }),
        1 => Just(Event::SaveAndLoad),
        2 => any::<bool>().prop_map(|nan| Event::NextPassFails { nan }),
    ]
}

proptest! {
    #[test]
    fn tokens_do_not_depend_on_how_they_are_computed(
        prompt in prop::collection::vec(2u32..VOCAB_SIZE as u32, 1..40),
        max_num_tokens in 1usize..50,
        seed: u64,
    ) {
        let sampling = SamplingParams { seed: Some(seed), top_k: 5, ..Default::default() };
        let params = GenerationParams { sampling, ..greedy(10) };
        let run = |max_num_tokens, kv_cache| {
            let runner = FakeRunner::new(CONTEXT_LENGTH, max_num_tokens);
            let options = SessionOptions { kv_cache, ..Default::default() };
            let mut session = Session::new(core(runner), options).expect("sound");
            tokens_of(&mut session, &prompt, &params)
        };
        let whole = run(CONTEXT_LENGTH, true);
        prop_assert_eq!(whole.len(), 10);
        prop_assert_eq!(&run(max_num_tokens, true), &whole);
        prop_assert_eq!(&run(max_num_tokens, false), &whole);
    }

    #[test]
    fn a_session_continues_like_a_fresh_one_with_its_tokens(
        events in prop::collection::vec(event(), 0..12),
        window in prop::option::of(1usize..12),
    ) {
        let next: Arc<Mutex<Outcome>> = Arc::new(Mutex::new(Outcome::Runs));
        let hook = {
            let next = Arc::clone(&next);
            move |_| std::mem::replace(&mut *next.lock().expect("no panic"), Outcome::Runs)
        };
        let runner = FakeRunner::new(CONTEXT_LENGTH, 5).with_num_logit_rows(1).with_hook(hook);
        let runner = match window {
            Some(len) => runner.with_window(len),
            None => runner,
        };
        let mut session = session(runner);
        let folder = tempfile::tempdir().expect("a temporary folder");
        for event in events {
            let before = session.tokens().to_vec();
            match event {
                Event::Generate { prompt, steps } => {
                    let mut said = Vec::new();
                    if let Ok(generation) = session.generate(&prompt, &greedy(5)) {
                        for step in generation.take(steps) {
                            said.extend(step.ok().and_then(|step| step.token).map(|it| it.id));
                        }
                    }
                    let read = if said.is_empty() { &[][..] } else { &prompt };
                    prop_assert_eq!(session.tokens(), [&before, read, &said].concat());
                }
                Event::Extend { prompt } => {
                    let read = if session.extend(&prompt).is_ok() { &prompt[..] } else { &[] };
                    prop_assert_eq!(session.tokens(), [&before, read].concat());
                }
                Event::Truncate { keep } => session.truncate(keep),
                Event::SaveAndLoad => {
                    let path = folder.path().join("state");
                    session.save(&path).expect("it can be written");
                    session.reset();
                    session.load(&path).expect("it can be read");
                    prop_assert_eq!(session.tokens(), before);
                }
                Event::NextPassFails { nan } => {
                    let outcome = if nan { Outcome::GivesNan } else { Outcome::Fails };
                    *next.lock().expect("no panic") = outcome;
                }
            }
        }
        *next.lock().expect("no panic") = Outcome::Runs;
        session.truncate(CONTEXT_LENGTH - 5);
        let tokens = [session.tokens(), &[7]].concat();
        let said = tokens_of(&mut session, &[7], &greedy(4));
        prop_assert_eq!(said, continuation_of_a_fresh_session(&tokens, 4));
    }
}
