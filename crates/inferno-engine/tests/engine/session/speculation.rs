//! Speculative decoding changes only the number of passes.

use std::collections::HashSet;

use inferno_engine::{
    DryParams, EngineError, GenerationParams, GenerationStep, SamplingParams, Session,
    SessionOptions, StopParams,
};
use proptest::prelude::*;

use super::{greedy, session};
use crate::cores::core;
use crate::fake_runner::{FakeRunner, Outcome};
use crate::vocabulary::VOCAB_SIZE;

pub const CONTEXT_LENGTH: usize = 120;

/// A repetitive runner: the next token depends only on the last two.
pub fn repetitive() -> FakeRunner {
    FakeRunner::new(CONTEXT_LENGTH, 16).with_num_logit_rows(16).with_logits(|history, token| {
        let last = history.iter().rev().take(2).fold(token, |hash, &it| 37 * hash + it as usize);
        (last * 7919 % 1009) as f32 / 50.0
    })
}

/// A runner that generates `text`, position by position.
pub fn scripted(text: Vec<u32>) -> FakeRunner {
    let context_length = text.len() + 1;
    FakeRunner::new(context_length, 64).with_num_logit_rows(64).with_logits(
        move |history, token| {
            if text.get(history.len()) == Some(&(token as u32)) { 9.0 } else { 0.0 }
        },
    )
}

pub fn speculating(params: &GenerationParams, num_speculative_tokens: usize) -> GenerationParams {
    GenerationParams { num_speculative_tokens, ..params.clone() }
}

/// The first `count` steps, and the tokens that the session holds then.
pub fn steps(
    session: &mut Session,
    prompt: &[u32],
    params: &GenerationParams,
    count: usize,
) -> (Vec<GenerationStep>, Vec<u32>) {
    let generation = session.generate(prompt, params).expect("a sound request");
    let steps = generation.take(count).map(|step| step.expect("a runner that does not fail"));
    (steps.collect(), session.tokens().to_vec())
}

/// An aperiodic text of `len` tokens, determined by `seed`.
fn varied(seed: u32, len: usize) -> Vec<u32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        2 + (state >> 16) % (VOCAB_SIZE as u32 - 2)
    };
    (0..len).map(next).collect()
}

pub fn sampling() -> impl Strategy<Value = SamplingParams> {
    let biases = prop::collection::vec((0..VOCAB_SIZE as u32, -5f32..5.0), 0..3);
    let truncation = (0usize..8, 0.5f32..=1.0, 0f32..0.2);
    let penalties = (0.8f32..1.4, -0.5f32..0.5, -0.5f32..0.5);
    let chance = (prop_oneof![Just(0.0), 0.1f32..1.5], any::<u64>());
    let penalties = (prop::option::of(penalties), prop::option::of(dry()));
    (chance, truncation, penalties, biases, prop::option::of(0usize..3)).prop_map(
        |((temperature, seed), (top_k, top_p, min_p), (penalties, dry), logit_bias, logprobs)| {
            let (repetition_penalty, frequency_penalty, presence_penalty) =
                penalties.unwrap_or((1.0, 0.0, 0.0));
            SamplingParams {
                temperature,
                top_k,
                top_p,
                min_p,
                repetition_penalty,
                frequency_penalty,
                presence_penalty,
                dry: dry.unwrap_or_default(),
                logit_bias,
                logprobs,
                seed: Some(seed),
                ..SamplingParams::default()
            }
        },
    )
}

/// DRY with strong penalties, and breakers of one token, of two, and of a part of a token.
pub fn dry() -> impl Strategy<Value = DryParams> {
    let breakers = prop::sample::subsequence(vec!["e", "\u{e9}", "h", "de"], 0..3);
    (1f32..10.0, 1f32..3.0, 0usize..4, prop::option::of(1usize..40), breakers).prop_map(
        |(multiplier, base, allowed_length, penalty_last_n, breakers)| DryParams {
            multiplier,
            base,
            allowed_length,
            penalty_last_n,
            sequence_breakers: breakers.into_iter().map(str::to_owned).collect(),
        },
    )
}

pub fn stop() -> impl Strategy<Value = StopParams> {
    let strings = prop::collection::vec("[a-d]{2,4}", 0..2);
    let tokens = prop::collection::vec(2..VOCAB_SIZE as u32, 0..2);
    let limits = (prop::option::of(30usize..90), 0usize..30);
    (limits, strings, tokens, any::<bool>(), any::<bool>()).prop_map(
        |((max_tokens, min_tokens), stop, stop_token_ids, ignore_eos, shown)| StopParams {
            max_tokens,
            min_tokens,
            stop,
            stop_token_ids,
            ignore_eos,
            include_stop_str_in_output: shown,
        },
    )
}

proptest! {
    #[test]
    fn steps_do_not_depend_on_the_number_of_drafts(
        sampling in sampling(),
        stop in stop(),
        prompt in prop::collection::vec(2u32..VOCAB_SIZE as u32, 1..30),
        num_drafts in 1usize..=15,
        dropped_after in 0usize..100,
        num_slots in prop::option::of(1usize..6),
    ) {
        let plain = GenerationParams { sampling, stop, ..GenerationParams::default() };
        let mut without = session(repetitive());
        let mut with = session(repetitive().with_optional_state(num_slots));
        let speculating = speculating(&plain, num_drafts);
        let expected = steps(&mut without, &prompt, &plain, dropped_after);
        prop_assert_eq!(&steps(&mut with, &prompt, &speculating, dropped_after), &expected);

        // Rejected drafts are removed from the cache as well.
        if with.tokens().len() + 2 < CONTEXT_LENGTH {
            let expected = steps(&mut without, &[5], &plain, usize::MAX);
            prop_assert_eq!(steps(&mut with, &[5], &plain, usize::MAX), expected);
        }
    }
}

#[test]
fn quoting_the_prompt_needs_fewer_than_half_of_the_passes() {
    let original = varied(1, 400);
    let mut edited = original.clone();
    for place in [30, 110, 111, 112, 230, 340] {
        edited[place] = 2 + (edited[place] + 5) % 30;
    }
    edited.drain(180..200);
    let text = [&original[..], &edited].concat();
    let runner = scripted(text.clone());
    let passes = runner.passes();
    let mut session = session(runner);
    let params = speculating(&greedy(edited.len()), 12);
    let (_, said) = steps(&mut session, &original, &params, usize::MAX);
    assert_eq!(said, text);

    let metrics = session.metrics();
    let num_decode_passes = metrics.decode_passes.durations().len();
    assert_eq!(metrics.generated_tokens, 1 + num_decode_passes + metrics.accepted_tokens);
    let widest = passes.lock().expect("no panic").iter().skip(7).copied().max();
    assert_eq!(widest, Some(13), "a token and twelve drafts");
    assert!(2 * num_decode_passes < edited.len(), "{num_decode_passes} passes");
}

#[test]
fn false_repetitions_soon_get_few_drafts() {
    // The same three tokens recur, each time followed by a new one.
    let mut text = vec![2, 3, 4];
    let mut followed = HashSet::new();
    for first_choice in varied(2, 900) {
        let last: [u32; 3] = *text.last_chunk().expect("there are three");
        let mut choices = (first_choice..).map(|choice| 2 + choice % 10);
        text.extend(choices.find(|&choice| followed.insert((last, choice))));
    }
    let params = speculating(&greedy(text.len() - 1), 12);
    let mut session = session(scripted(text.clone()));
    let (_, said) = steps(&mut session, &text[..1], &params, usize::MAX);
    assert_eq!(said, text);
    let metrics = session.metrics();
    assert_eq!(metrics.accepted_tokens, 0);
    let num_drafts = metrics.drafted_tokens;
    assert!(num_drafts > 0 && num_drafts < text.len() / 10, "{num_drafts} drafts");
}

#[test]
fn an_error_is_returned_at_its_own_step() {
    let fails_at = 20;
    let runner = || {
        FakeRunner::new(CONTEXT_LENGTH, 16).with_num_logit_rows(16).with_logits(
            move |history, token| {
                let expected = 2 + history.len() % 3;
                match (history.len() == fails_at, token == expected) {
                    (true, _) => f32::NAN,
                    (false, true) => 9.0,
                    (false, false) => 0.0,
                }
            },
        )
    };
    let run = |num_drafts| {
        let mut session = session(runner());
        let params = speculating(&greedy(60), num_drafts);
        let generation = session.generate(&[2, 3, 4], &params).expect("a sound request");
        let steps: Vec<_> = generation.collect();
        let error = steps.last().and_then(|step| step.as_ref().err()).map(ToString::to_string);
        (steps.len(), error, session.tokens().to_vec(), session.metrics().accepted_tokens)
    };
    let (plain, speculated) = (run(0), run(8));
    assert_eq!((&plain.0, &plain.1, &plain.2), (&speculated.0, &speculated.1, &speculated.2));
    assert!(plain.1.is_some_and(|error| error.contains("NaN")) && plain.0 == fails_at - 2);
    assert!(plain.3 == 0 && speculated.3 > 0);
}

#[test]
fn a_failed_pass_leaves_only_returned_tokens() {
    for failing in 3..8 {
        let hook = move |pass| if pass == failing { Outcome::Fails } else { Outcome::Runs };
        let mut failed = session(repetitive().with_hook(hook));
        let params = speculating(&greedy(100), 8);
        let generation = failed.generate(&[2, 3, 4], &params).expect("a sound request");
        let said: Vec<u32> = generation
            .map_while(|step| step.ok().and_then(|step| step.token).map(|token| token.id))
            .collect();
        assert_eq!(failed.tokens(), [&[2, 3, 4], &said[..]].concat());
        let (rest, _) = steps(&mut failed, &[], &greedy(20), usize::MAX);

        let whole = [&[2, 3, 4], &said[..]].concat();
        let (expected, _) = steps(&mut session(repetitive()), &whole, &greedy(20), usize::MAX);
        let ids = |steps: &[GenerationStep]| -> Vec<_> {
            steps.iter().flat_map(|step| &step.token).map(|token| token.id).collect()
        };
        assert_eq!(ids(&rest), ids(&expected));
    }
}

#[test]
fn a_cancelled_generation_keeps_returned_tokens() {
    let mut session = session(repetitive());
    let params = speculating(&greedy(100), 8);
    let mut generation = session.generate(&[2, 3, 4], &params).expect("a sound request");
    let cancel = generation.cancel_handle();
    let said: Vec<_> =
        generation.by_ref().take(41).flat_map(|step| step.expect("it runs").token).collect();
    cancel.cancel();
    assert!(generation.all(|step| step.expect("no error").token.is_none()));
    drop(generation);
    assert_eq!(session.tokens().len(), 3 + said.len());
}

#[test]
fn more_drafts_than_logit_rows_are_rejected() {
    let mut small = session(FakeRunner::new(CONTEXT_LENGTH, 16).with_num_logit_rows(4));
    let refused = small.generate(&[2], &speculating(&greedy(5), 4)).err();
    let expected = EngineError::TooManyDrafts { asked_for: 4, limit: 3 }.to_string();
    assert_eq!(refused.map(|error| error.to_string()), Some(expected));
    assert!(small.generate(&[2], &speculating(&greedy(5), 3)).is_ok());

    let options = SessionOptions { kv_cache: false, ..SessionOptions::default() };
    let mut uncached = Session::new(core(repetitive()), options).expect("sound");
    let refused = uncached.generate(&[2], &speculating(&greedy(5), 1)).err();
    assert!(matches!(refused, Some(EngineError::SpeculationWithoutCache)));
}
