//! Perplexity compared with torch's cross-entropy, on a model that is a lookup table.

use inferno_engine::{EngineError, PerplexityOptions, perplexity};
use serde::Deserialize;

use crate::fake_runner::{FakeRunner, Outcome};

/// The output of `tests/fixtures/make_perplexity.py`.
#[derive(Deserialize)]
struct Fixture {
    table: Vec<Vec<f32>>,
    tokens: Vec<u32>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    window: usize,
    stride: Option<usize>,
    num_windows: usize,
    num_scored: usize,
    value: f64,
    standard_error: f64,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../fixtures/perplexity.json")).expect("a fixture")
}

fn table_runner(table: Vec<Vec<f32>>) -> FakeRunner {
    let vocab_size = table.len();
    FakeRunner::new(150, 8).with_vocab_size(vocab_size).with_logits(move |history, token| {
        let last = *history.last().expect("at least one token") as usize;
        table[last][token] * (1.0 + (history.len() - 1) as f32 / 64.0)
    })
}

#[test]
fn the_second_half_of_each_window_matches_torch() {
    let fixture = fixture();
    let mut runner = table_runner(fixture.table);
    for case in &fixture.cases {
        let options = PerplexityOptions { window: case.window, stride: case.stride, bos: None };
        let mut seen = 0;
        let result = perplexity(&mut runner, &fixture.tokens, options, &mut |so_far| {
            seen += 1;
            assert_eq!((so_far.num_windows, so_far.total_windows), (seen, case.num_windows));
        });
        let result = result.expect("a runner that does not fail");
        assert_eq!((seen, result.num_scored), (case.num_windows, case.num_scored));
        let close = |found: f64, expected: f64| (found - expected).abs() < 1e-5 * expected;
        assert!(close(result.value(), case.value), "{options:?}: {}", result.value());
        assert!(
            close(result.standard_error().expect("several tokens"), case.standard_error),
            "{options:?}"
        );
    }
}

#[test]
fn bos_replaces_the_first_token_of_each_window() {
    let Fixture { table, tokens, .. } = fixture();
    // Each token depends on the first one of its window.
    let mut runner = FakeRunner::new(150, 8)
        .with_vocab_size(table.len())
        .with_logits(move |history, token| table[history[0] as usize][token]);
    let mut score = |tokens: &[u32], bos| {
        let options = PerplexityOptions { window: 4, stride: None, bos };
        perplexity(&mut runner, tokens, options, &mut |_| ()).expect("a sound runner").value()
    };
    let replaced: Vec<u32> =
        tokens.iter().enumerate().map(|(at, &token)| if at % 4 == 0 { 1 } else { token }).collect();
    assert_eq!(score(&tokens, Some(1)), score(&replaced, None));
    assert_ne!(score(&tokens, Some(1)), score(&tokens, None));
}

#[test]
fn invalid_windows_are_rejected() {
    let mut runner = FakeRunner::new(20, 8);
    let mut score = |tokens: &[u32], window, stride| {
        let options = PerplexityOptions { window, stride, bos: None };
        perplexity(&mut runner, tokens, options, &mut |_| ()).expect_err("refused")
    };
    for (window, stride) in [(2, None), (21, None), (20, Some(0))] {
        let error = score(&[2; 100], window, stride);
        assert!(matches!(error, EngineError::Window { context_length: 20, .. }), "{error}");
    }
    let error = score(&[2; 19], 20, None);
    assert!(matches!(error, EngineError::TextTooShort { found: 19, window: 20 }), "{error}");
    let error = score(&[2, 2, 2, 999], 4, None);
    assert!(matches!(error, EngineError::TokenOutOfRange { token: 999, .. }), "{error}");
}

#[test]
fn a_nan_logit_is_an_error() {
    let mut runner = FakeRunner::new(20, 8).with_hook(|_| Outcome::GivesNan);
    let options = PerplexityOptions { window: 4, stride: None, bos: None };
    let error = perplexity(&mut runner, &[2; 10], options, &mut |_| ()).expect_err("NaN");
    assert!(matches!(error, EngineError::NonFiniteLogit { token: 0, .. }), "{error}");
}
