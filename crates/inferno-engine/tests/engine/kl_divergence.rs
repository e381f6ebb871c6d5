//! Divergence from another model compared with numpy, on models that are lookup tables.

use std::io::Write;

use inferno_engine::{
    EngineError, Estimate, KlBase, KlDivergence, StoredLogits, TextWindows, kl_divergence,
    store_logits,
};
use serde::Deserialize;

use crate::fake_runner::{FakeRunner, Outcome};

/// The output of `tests/fixtures/make_kl_divergence.py`.
#[derive(Deserialize)]
struct Fixture {
    window: usize,
    bos: u32,
    tokens: Vec<u32>,
    base: Vec<Vec<f32>>,
    model: Vec<Vec<f32>>,
    /// In hexadecimal digits.
    stored: String,
    of_model: Expected,
    of_stored: Expected,
}

#[derive(Deserialize)]
struct Expected {
    num_tokens: usize,
    mean: (f64, f64),
    perplexity: (f64, f64),
    base_perplexity: (f64, f64),
    log_ratio: (f64, f64),
    difference: (f64, f64),
    correlation: f64,
    same_top: (f64, f64),
    mean_probability_difference: (f64, f64),
    rms: (f64, f64),
    percentiles: Vec<(f64, f64, f64)>,
}

impl Fixture {
    fn read() -> Self {
        serde_json::from_str(include_str!("../fixtures/kl_divergence.json")).expect("a fixture")
    }

    fn text(&self) -> TextWindows {
        TextWindows::new(self.tokens.clone(), self.window, Some(self.bos))
    }

    fn stored(&self) -> Vec<u8> {
        let digits = |at: usize| u8::from_str_radix(&self.stored[at..at + 2], 16).expect("digits");
        (0..self.stored.len()).step_by(2).map(digits).collect()
    }

    fn stored_file(&self, bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(bytes).expect("room for it");
        file
    }
}

/// A runner with these logits, which computes at most 7 of them at once.
fn table_runner(table: &[Vec<f32>]) -> FakeRunner {
    let (table, vocab_size) = (table.to_vec(), table.len());
    let runner = FakeRunner::new(150, 8).with_vocab_size(vocab_size).with_num_logit_rows(7);
    runner.with_logits(move |history, token| {
        let last = *history.last().expect("at least one token") as usize;
        table[last][token] * (1.0 + (history.len() - 1) as f32 / 64.0)
    })
}

fn check(found: &KlDivergence, expected: &Expected) {
    let close = |name: &str, found: f64, expected: f64| {
        let error = (found - expected).abs();
        assert!(error < 1e-5 * (1.0 + expected.abs()), "{name}: {found}, expected {expected}");
    };
    let estimates = |name: &str, found: Estimate, (value, error): (f64, f64)| {
        close(name, found.value, value);
        close(name, found.standard_error.expect("several tokens"), error);
    };
    assert_eq!(found.num_tokens(), expected.num_tokens);
    estimates("mean", found.mean(), expected.mean);
    estimates("perplexity", found.perplexity(), expected.perplexity);
    estimates("base perplexity", found.base_perplexity(), expected.base_perplexity);
    estimates("log ratio", found.log_ratio(), expected.log_ratio);
    let ratio = expected.log_ratio.0.exp();
    estimates("ratio", found.ratio(), (ratio, ratio * expected.log_ratio.1));
    estimates("difference", found.difference(), expected.difference);
    close("correlation", found.correlation().expect("several tokens"), expected.correlation);
    estimates("same top", found.same_top(), expected.same_top);
    let difference = expected.mean_probability_difference;
    estimates("probability difference", found.mean_probability_difference(), difference);
    estimates("rms", found.rms_probability_difference(), expected.rms);
    let (divergences, differences) =
        (found.distribution(), found.probability_difference_distribution());
    for &(percent, divergence, difference) in &expected.percentiles {
        close("divergence", divergences.percentile(percent), divergence);
        close("difference", differences.percentile(percent), difference);
    }
}

#[test]
fn divergence_from_a_model_matches_numpy() {
    let fixture = Fixture::read();
    let (mut base, mut model) = (table_runner(&fixture.base), table_runner(&fixture.model));
    let mut num_windows = Vec::new();
    let found = kl_divergence(&mut model, KlBase::Model(&mut base), &fixture.text(), &mut |done| {
        num_windows.push(done);
    });
    check(&found.expect("runners that do not fail"), &fixture.of_model);
    assert_eq!(num_windows, [1, 2, 3, 4]);
}

#[test]
fn divergence_from_a_file_matches_numpy() {
    let fixture = Fixture::read();
    let file = fixture.stored_file(&fixture.stored());
    let (stored, text) = StoredLogits::open(file.path(), Some(fixture.bos)).expect("a sound file");
    assert_eq!((text.window(), text.num_windows()), (fixture.window, 4));
    let mut model = table_runner(&fixture.model);
    let found = kl_divergence(&mut model, KlBase::Stored(stored), &text, &mut |_| ());
    check(&found.expect("a runner that does not fail"), &fixture.of_stored);
}

#[test]
fn files_are_written_as_by_numpy() {
    let fixture = Fixture::read();
    let mut found = Vec::new();
    let mut base = table_runner(&fixture.base);
    let result = store_logits(&mut base, &fixture.text(), &mut found, &mut |_| ());
    let (perplexity, _) = fixture.of_model.base_perplexity;
    let value = result.expect("a runner that does not fail").value();
    assert!((value - perplexity).abs() < 1e-5 * perplexity, "{value}");
    let expected = fixture.stored();
    let vocab_size = fixture.base.len();
    let (header, row_bytes) = (20 + 4 * 4 * fixture.window, 8 + 2 * vocab_size.next_multiple_of(2));
    assert_eq!((found.len(), &found[..header]), (expected.len(), &expected[..header]));
    let rows = |bytes: &[u8]| -> Vec<(Vec<f32>, Vec<u16>)> {
        let rows = bytes[header..].chunks_exact(row_bytes).map(|row| {
            let (floats, codes) = row.split_at(8);
            let floats = floats.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes));
            let codes = codes.as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes));
            (floats.collect(), codes.collect())
        });
        rows.collect()
    };
    for ((floats, codes), (expected_floats, expected_codes)) in
        rows(&found).iter().zip(rows(&expected))
    {
        for (found, expected) in floats.iter().zip(expected_floats) {
            assert!((found - expected).abs() < 1e-5 * expected.abs(), "{found}, {expected}");
        }
        for (&found, expected) in codes.iter().zip(expected_codes) {
            assert!(found.abs_diff(expected) <= 1, "{found}, {expected}");
        }
    }
}

#[test]
fn equal_models_have_no_divergence() {
    let fixture = Fixture::read();
    let (mut base, mut model) = (table_runner(&fixture.base), table_runner(&fixture.base));
    let found = kl_divergence(&mut model, KlBase::Model(&mut base), &fixture.text(), &mut |_| ());
    let found = found.expect("runners that do not fail");
    assert_eq!((found.mean().value, found.distribution().percentile(100.0)), (0.0, 0.0));
    assert_eq!((found.same_top().value, found.ratio().value), (1.0, 1.0));
}

#[test]
fn models_with_other_vocabularies_are_rejected() {
    let fixture = Fixture::read();
    let file = fixture.stored_file(&fixture.stored());
    let (stored, text) = StoredLogits::open(file.path(), None).expect("a sound file");
    let mut model = FakeRunner::new(150, 8).with_vocab_size(14);
    let error = kl_divergence(&mut model, KlBase::Stored(stored), &text, &mut |_| ());
    let error = error.expect_err("another vocabulary");
    assert!(matches!(error, EngineError::VocabularySize { expected: 13, found: 14 }), "{error}");
}

#[test]
fn a_nan_logit_is_an_error() {
    let fixture = Fixture::read();
    let mut base = FakeRunner::new(150, 8).with_vocab_size(13).with_hook(|_| Outcome::GivesNan);
    let mut model = table_runner(&fixture.model);
    let error = kl_divergence(&mut model, KlBase::Model(&mut base), &fixture.text(), &mut |_| ());
    assert!(matches!(error, Err(EngineError::NonFiniteLogit { .. })));
}

#[test]
fn damaged_files_are_rejected() {
    let fixture = Fixture::read();
    let sound = fixture.stored();
    let error = |bytes: &[u8]| {
        let file = fixture.stored_file(bytes);
        StoredLogits::open(file.path(), None).expect_err("damaged").to_string()
    };
    assert!(error(&sound[..sound.len() - 1]).contains("its header requires"));
    assert!(error(&sound[..15]).contains("failed to read"));
    assert!(error(b"GGUF").contains("does not begin with _logits_"));
    let with = |at: usize, value: u32| {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        error(&bytes)
    };
    assert!(with(8, 2).contains("the number of tokens in a window is 2"));
    assert!(with(12, 0).contains("the size of the vocabulary is 0"));
    assert!(with(16, u32::MAX).contains("the number of windows is"));
    for at in [8, 12, 16] {
        assert!(with(at, i32::MAX as u32).contains("its header requires"));
    }
}
