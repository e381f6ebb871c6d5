//! The chain against transformers, and draws against the distribution they come from.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// What `tests/fixtures/make_sampler.py` wrote.
#[derive(Deserialize)]
struct Fixture {
    prompt: Vec<u32>,
    output: Vec<u32>,
    rows: Vec<Vec<f32>>,
    logprobs: Vec<Vec<f32>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    row: usize,
    params: CaseParams,
    kept: Vec<(u32, f64)>,
}

#[derive(Deserialize)]
struct CaseParams {
    temperature: f32,
    top_k: usize,
    top_p: f32,
    min_p: f32,
    typical_p: f32,
    repetition_penalty: f32,
    frequency_penalty: f32,
    presence_penalty: f32,
    logit_bias: Vec<(u32, f32)>,
}

impl CaseParams {
    fn sampling_params(&self) -> SamplingParams {
        SamplingParams {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            typical_p: self.typical_p,
            repetition_penalty: self.repetition_penalty,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            logit_bias: self.logit_bias.clone(),
            ..SamplingParams::default()
        }
    }
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../../tests/fixtures/sampler.json")).expect("a fixture")
}

/// The probability of every token that may be drawn, by rising id.
fn distribution(sampler: &mut Sampler, logits: &[f32]) -> Vec<(u32, f64)> {
    sampler.truncate(logits, &[], None).expect("finite logits");
    let temperature = sampler.params.temperature;
    let sum = temperature::weigh(temperature, &sampler.candidates, &mut sampler.weights);
    let ids = sampler.candidates.as_slice().iter().map(|candidate| candidate.id);
    let shares = sampler.weights.iter().map(|&weight| f64::from(weight) / sum);
    let mut distribution: Vec<_> = ids.zip(shares).collect();
    distribution.sort_by_key(|&(id, _)| id);
    distribution
}

#[test]
fn every_stage_keeps_what_transformers_keeps() {
    let fixture = fixture();
    assert_eq!(fixture.cases.len(), 66);
    for case in &fixture.cases {
        let params = case.params.sampling_params();
        let mut sampler = Sampler::new(params.clone(), 150).expect("valid parameters");
        sampler.add_prompt(&fixture.prompt);
        for &token in &fixture.output {
            sampler.history.add_generated(&params, token);
        }
        let found = distribution(&mut sampler, &fixture.rows[case.row]);
        let ids = |kept: &[(u32, f64)]| kept.iter().map(|&(id, _)| id).collect::<Vec<_>>();
        assert_eq!(ids(&found), ids(&case.kept), "row {} with {params:?}", case.row);
        for (&(id, found), &(_, expected)) in found.iter().zip(&case.kept) {
            let allowed = 1e-5 * expected + 1e-12;
            assert!(
                (found - expected).abs() <= allowed,
                "token {id}: {found} {expected} {params:?}"
            );
        }
    }
}

#[test]
fn logprobs_are_those_of_the_unmodified_distribution() {
    let fixture = fixture();
    for (logits, expected) in fixture.rows.iter().zip(&fixture.logprobs) {
        let params = SamplingParams {
            temperature: 0.0,
            logit_bias: vec![(9, 100.0)],
            logprobs: Some(5),
            ..SamplingParams::default()
        };
        let mut sampler = Sampler::new(params, logits.len()).expect("valid parameters");
        let token = sampler.sample(logits, &[]).expect("finite logits");
        assert_eq!(token.id, 9);
        let found = token.logprobs.expect("they were asked for");

        let mut best: Vec<_> = (0..).zip(expected.iter().copied()).collect();
        best.sort_by(|a: &(u32, f32), b| b.1.total_cmp(&a.1));
        assert!((found.logprob - expected[9]).abs() < 1e-5);
        assert_eq!(found.rank, 1 + best.iter().position(|&(id, _)| id == 9).expect("it is there"));
        assert_eq!(found.top.len(), 5);
        for (found, expected) in found.top.iter().zip(&best) {
            assert_eq!(found.0, expected.0);
            assert!((found.1 - expected.1).abs() < 1e-5);
        }
    }
}

#[test]
fn draws_follow_the_distribution() {
    let logits = [1.0, -0.5, 2.0, 0.3, 1.9, -3.0, 0.0, 1.2];
    let params = SamplingParams {
        temperature: 0.9,
        top_p: 0.98,
        seed: Some(11),
        ..SamplingParams::default()
    };
    let mut sampler = Sampler::new(params, logits.len()).expect("valid parameters");
    let expected = distribution(&mut sampler, &logits);
    assert_eq!(expected.len(), 7, "top-p drops token 5 alone");

    let draws = 200_000;
    let mut counts = [0u32; 8];
    for _ in 0..draws {
        counts[sampler.sample(&logits, &[]).expect("finite logits").id as usize] += 1;
    }
    assert_eq!(counts[5], 0);
    let chi_squared: f64 = expected
        .iter()
        .map(|&(id, probability)| {
            let expected = probability * f64::from(draws);
            (f64::from(counts[id as usize]) - expected).powi(2) / expected
        })
        .sum();
    // The 99.9th percentile of the chi-squared distribution with 6 degrees of freedom.
    assert!(chi_squared < 22.458, "{chi_squared}");
}

#[test]
fn greedy_takes_the_lowest_id_among_equals() {
    let mut sampler = Sampler::new(SamplingParams::greedy(), 5).expect("valid parameters");
    assert_eq!(sampler.sample(&[0.0, 2.0, 1.0, 2.0, -0.0], &[]).expect("finite").id, 1);
    assert_eq!(sampler.sample(&[0.0, 2.0, 1.0, 2.0, -0.0], &[1]).expect("finite").id, 3);
    assert_eq!(sampler.sample(&[-0.0, 0.0, -1.0, 0.0, -2.0], &[]).expect("finite").id, 0);
}

#[test]
fn greedy_finds_the_highest_anywhere_in_a_large_vocabulary() {
    let mut sampler = Sampler::new(SamplingParams::greedy(), 5000).expect("valid parameters");
    for place in [0, 1023, 1024, 2047, 3000, 4096, 4999] {
        let mut logits = vec![-1.0; 5000];
        logits[place..].fill(1.5);
        assert_eq!(sampler.sample(&logits, &[]).expect("finite").id, place as u32);
    }
}

#[test]
fn one_candidate_by_top_k_is_greedy() {
    let params = SamplingParams { top_k: 1, ..SamplingParams::default() };
    let mut sampler = Sampler::new(params, 4).expect("valid parameters");
    for _ in 0..20 {
        assert_eq!(sampler.sample(&[0.5, 1.0, 1.0, 0.9], &[]).expect("finite").id, 1);
    }
}

#[test]
fn one_seed_gives_one_sequence_and_another_seed_another() {
    let draw = |seed| {
        let params = SamplingParams { seed, ..SamplingParams::default() };
        let mut sampler = Sampler::new(params, 50).expect("valid parameters");
        let ids = (0..40).map(|_| sampler.sample(&[0.0; 50], &[]).expect("finite").id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(draw(Some(5)), draw(Some(5)));
    assert_ne!(draw(Some(5)), draw(Some(6)));
    assert_ne!(draw(None), draw(None));
}

#[test]
fn the_penalties_remember_what_was_drawn() {
    let params = SamplingParams { presence_penalty: 2.0, ..SamplingParams::greedy() };
    let mut sampler = Sampler::new(params, 3).expect("valid parameters");
    let ids = [(); 3].map(|()| sampler.sample(&[1.5, 2.0, 1.0], &[]).expect("finite").id);
    assert_eq!(ids, [1, 0, 2]);
}

#[test]
fn damaged_logits_are_refused_with_their_token() {
    let mut sampler = Sampler::new(SamplingParams::default(), 3).expect("valid parameters");
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = sampler.sample(&[0.0, 1.0, value], &[]).expect_err("it is not finite");
        assert!(matches!(error, EngineError::NonFiniteLogit { token: 2, .. }), "{error}");
    }
    let error = sampler.sample(&[0.0], &[]).expect_err("two logits are missing");
    assert!(matches!(error, EngineError::LogitsLength { expected: 3, found: 1 }), "{error}");
    let error = sampler.sample(&[0.0; 3], &[0, 1, 2]).expect_err("nothing is left");
    assert!(matches!(error, EngineError::NoCandidates), "{error}");
}

#[test]
fn a_bias_on_a_token_that_does_not_exist_is_refused() {
    let params = SamplingParams { logit_bias: vec![(8, 1.0)], ..SamplingParams::default() };
    let error = Sampler::new(params, 8).expect_err("there is no token 8");
    assert!(matches!(error, EngineError::TokenOutOfRange { token: 8, vocab_size: 8, .. }));
}

proptest! {
    #[test]
    fn any_finite_logits_and_valid_parameters_give_a_token_that_is_allowed(
        logits in prop::collection::vec(
            prop_oneof![-20f32..20.0, prop::num::f32::NORMAL | prop::num::f32::ZERO | prop::num::f32::SUBNORMAL],
            2..400,
        ),
        temperature in prop_oneof![Just(0.0), Just(f32::MIN_POSITIVE), 0.01f32..5.0, Just(f32::MAX)],
        top_k in 0usize..500,
        top_p in prop_oneof![Just(f32::MIN_POSITIVE), 0.01f32..=1.0],
        min_p in 0f32..=1.0,
        typical_p in prop_oneof![Just(f32::MIN_POSITIVE), 0.01f32..=1.0],
        repetition_penalty in prop_oneof![Just(f32::MIN_POSITIVE), 0.1f32..3.0, Just(f32::MAX)],
        frequency_penalty in -2f32..=2.0,
        (multiplier, base, allowed_length) in
            (prop_oneof![Just(0.0), 0f32..5.0, Just(f32::MAX)], prop_oneof![1f32..3.0, Just(f32::MAX)], 0usize..3),
        logprobs in prop::option::of(0usize..500),
        seed in any::<u64>(),
    ) {
        let params = SamplingParams {
            temperature, top_k, top_p, min_p, typical_p, repetition_penalty, frequency_penalty,
            presence_penalty: 0.5,
            dry: DryParams { multiplier, base, allowed_length, ..DryParams::default() },
            logit_bias: vec![(0, 3.0), (1, -100.0)],
            seed: Some(seed),
            logprobs,
        };
        let mut sampler = Sampler::new(params, logits.len()).expect("valid parameters");
        sampler.add_prompt(&[0, 0, 1]);
        for _ in 0..3 {
            let token = sampler.sample(&logits, &[1]).expect("finite logits");
            prop_assert_ne!(token.id, 1);
            prop_assert!((token.id as usize) < logits.len());
        }
    }
}
