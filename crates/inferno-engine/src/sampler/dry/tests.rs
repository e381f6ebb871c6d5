//! Penalties against llama.cpp, and against the definition.

use std::path::Path;

use inferno_gguf::Gguf;
use inferno_tokenizer::Tokenizer;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// A case of `tests/fixtures/make_dry.py`.
#[derive(Deserialize)]
struct Case {
    multiplier: f32,
    base: f32,
    allowed_length: usize,
    penalty_last_n: Option<usize>,
    sequence_breakers: Vec<String>,
    tokens: Vec<u32>,
    penalties: Vec<(u32, f32)>,
}

fn ember() -> Tokenizer {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/ember.gguf");
    let file = Gguf::open(path).expect("the embedded model");
    Tokenizer::from_metadata(file.metadata()).expect("a sound vocabulary")
}

/// What is subtracted from logits of 0 after `tokens`, by ascending id.
fn penalties(
    params: &DryParams,
    breakers: &Arc<SequenceBreakers>,
    tokens: &[u32],
    vocab_size: usize,
) -> Vec<(u32, f32)> {
    let mut dry = Dry::default();
    dry.set_sequence_breakers(Arc::clone(breakers));
    dry.add(tokens);
    let mut logits = vec![0.0; vocab_size];
    dry.penalize(params, &mut logits);
    (0..).zip(logits).filter(|&(_, logit)| logit != 0.0).map(|(id, logit)| (id, -logit)).collect()
}

#[test]
fn penalties_are_those_of_llama_cpp() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../../tests/fixtures/dry.json")).expect("a fixture");
    assert_eq!(cases.len(), 96);
    let tokenizer = ember();
    let cache = SequenceBreakerCache::default();
    for (index, case) in cases.into_iter().enumerate() {
        let Case { multiplier, base, allowed_length, penalty_last_n, sequence_breakers, .. } = case;
        let params =
            DryParams { multiplier, base, allowed_length, penalty_last_n, sequence_breakers };
        let breakers = cache.get(&tokenizer, &params.sequence_breakers);
        let found = penalties(&params, &breakers, &case.tokens, tokenizer.vocab_size());
        assert_eq!(found, case.penalties, "case {index}: {params:?}");
    }
}

/// The definition: the longest sequence of last tokens, up to the last breaker, that occurs before each token.
fn expected(params: &DryParams, breaker: Option<u32>, tokens: &[u32]) -> Vec<(u32, f32)> {
    let first = tokens.len() - params.penalty_last_n.unwrap_or(usize::MAX).min(tokens.len());
    let tokens = &tokens[first..];
    let is_breaker = |token: u32| Some(token) == breaker;
    let limit = tokens.iter().rev().take_while(|&&token| !is_breaker(token)).count();
    let longest_before = |next: u32| {
        let places = (1..tokens.len()).filter(|&place| tokens[place] == next);
        let lengths = places.flat_map(|place| {
            (0..=limit.min(place))
                .filter(move |&length| tokens[..place].ends_with(&tokens[tokens.len() - length..]))
        });
        lengths.max().filter(|&length| length >= params.allowed_length)
    };
    let is_long = tokens.len() > params.allowed_length;
    (0..8)
        .filter(|&next| is_long && !is_breaker(next))
        .filter_map(|next| Some((next, params.penalty(longest_before(next)?))))
        .collect()
}

proptest! {
    #[test]
    fn penalties_follow_the_definition(
        tokens in prop::collection::vec(0u32..4, 0..40),
        allowed_length in 0usize..5,
        penalty_last_n in prop::option::of(1usize..30),
        breaker in prop::option::of(0u32..4),
    ) {
        let params =
            DryParams { multiplier: 0.75, base: 1.5, allowed_length, penalty_last_n, ..Default::default() };
        let breakers = Arc::new(breaker.map_or_else(SequenceBreakers::default, SequenceBreakers::of_token));
        prop_assert_eq!(penalties(&params, &breakers, &tokens, 8), expected(&params, breaker, &tokens));
    }
}

#[test]
fn excluded_tokens_remain_excluded_and_others_finite() {
    let params = DryParams { multiplier: f32::MAX, base: f32::MAX, ..Default::default() };
    let mut dry = Dry::default();
    dry.add(&[0, 1, 2, 3, 0, 1, 2]);
    let mut logits = [0.0, 1.0, 2.0, 3.0];
    dry.penalize(&params, &mut logits);
    assert_eq!(logits, [0.0, 1.0, 2.0, f32::MIN]);
    logits[3] = f32::NEG_INFINITY;
    dry.penalize(&params, &mut logits);
    assert_eq!(logits[3], f32::NEG_INFINITY);
}
