//! `inferno perplexity --kl-divergence`, compared with `inferno logits` and with llama.cpp.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Outcome, Run, expected, fixture, model};

const WINDOW: usize = 32;

/// A text of several windows, in a file.
fn text(folder: &Path) -> PathBuf {
    let path = folder.join("text.txt");
    fs::write(&path, expected()["text"].as_str().unwrap()).unwrap();
    path
}

fn perplexity(flags: &[&str], paths: &[&Path]) -> Run {
    let run = Run::inferno().args(["perplexity", "--kv-dtype", "f32", "-m"]).args([model()]);
    run.args(flags).args(paths)
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).expect("one JSON object")
}

fn number(report: &Value, path: &str) -> f64 {
    report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} of {report}"))
}

/// The log-probabilities of each row.
fn log_probabilities(tokens: &str, flags: &[&str]) -> Vec<Vec<f64>> {
    let run = Run::inferno().args(["logits", "--kv-dtype", "f32", "--tokens", tokens, "-m"]);
    let outcome = run.args([model()]).args(flags).success();
    let rows = outcome.stdout.lines().map(|line| {
        let row: Vec<f64> = serde_json::from_str(line).expect("an array");
        let sum: f64 = row.iter().map(|logit| logit.exp()).sum();
        row.iter().map(|logit| logit - sum.ln()).collect()
    });
    rows.collect()
}

#[test]
fn divergence_is_that_of_the_logits() {
    let folder = tempfile::tempdir().unwrap();
    let text = text(folder.path());
    let run = Run::inferno().args(["tokenize", "--no-bos", "-m"]).args([model()]);
    let tokens = run.args([expected()["text"].as_str().unwrap()]).success().stdout;
    let tokens: Vec<u32> = serde_json::from_str(&tokens).unwrap();
    let quantized = ["--requantize", "q4_0"];
    let (mut divergences, mut losses, mut base_losses) = (Vec::new(), Vec::new(), Vec::new());
    for window in tokens.chunks_exact(WINDOW) {
        let ids = format!("{window:?}");
        let (base, rows) = (log_probabilities(&ids, &[]), log_probabilities(&ids, &quantized));
        for at in WINDOW / 2..WINDOW - 1 {
            let terms = base[at].iter().zip(&rows[at]).map(|(base, row)| base.exp() * (base - row));
            divergences.push(terms.sum::<f64>());
            losses.push(-rows[at][window[at + 1] as usize]);
            base_losses.push(-base[at][window[at + 1] as usize]);
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let base = model();
    let flags = ["--context", "32", "-o", "json", "--requantize", "q4_0", "--kl-divergence"];
    let found = json(&perplexity(&flags, &[&base, &text]).success());
    let close = |path: &str, expected: f64| {
        let found = number(&found, path);
        assert!(
            (found - expected).abs() < 1e-5 * (1.0 + expected.abs()),
            "{path}: {found} {expected}"
        );
    };
    assert_eq!(number(&found, "/tokens") as usize, divergences.len());
    close("/kl_divergence/mean", mean(&divergences));
    close("/kl_divergence/maximum", divergences.iter().copied().fold(f64::MIN, f64::max));
    close("/perplexity", mean(&losses).exp());
    close("/base_perplexity", mean(&base_losses).exp());
    assert!(number(&found, "/kl_divergence/mean") > 1e-4);

    // A file of the base has the same divergence, within its 16 bits.
    let stored = folder.path().join("base.kld");
    let flags = ["--context", "32", "--kl-divergence-base"];
    let outcome = perplexity(&flags, &[&stored, &text]).success();
    let value = number(&json(&outcome), "/perplexity");
    assert!((value - mean(&base_losses).exp()).abs() < 1e-3 * value);
    let flags = ["-o", "json", "--requantize", "q4_0", "--kl-divergence"];
    let of_file = json(&perplexity(&flags, &[&stored]).success());
    let difference = number(&of_file, "/kl_divergence/mean") - mean(&divergences);
    assert!(difference.abs() < 1e-4, "{difference}");
    // As llama.cpp reads it.
    let flags = ["-o", "json", "--requantize", "q4_0", "--kl-divergence", "--kl-divergence-base"];
    assert_eq!(json(&perplexity(&flags, &[&stored]).success()), of_file);
    let again = perplexity(&["--context", "32", "--kl-divergence-base"], &[&stored, &text]);
    assert!(again.failure(1).stderr.contains("--force"));
}

/// `evaluation/make_kl_divergence.py` runs llama.cpp.
#[test]
fn files_of_llama_cpp_have_its_results() {
    let report = fs::read_to_string(fixture("evaluation/llama_cpp.json")).unwrap();
    let expected: Value = serde_json::from_str(&report).unwrap();
    let stored = fixture("evaluation/llama_cpp.kld");
    let compare = |model: &Path| {
        let run = Run::inferno().args(["perplexity", "--kv-dtype", "f32", "-o", "json", "-m"]);
        json(&run.args([model]).args(["--kl-divergence"]).args([&stored]).success())
    };
    let found = compare(&fixture("evaluation/qwen3-q4_0.gguf"));
    for (path, expected) in expected["report"].as_object().unwrap() {
        let (found, expected) = (number(&found, path), expected.as_f64().unwrap());
        // Both quantize activations, but not alike; the perplexity of a random model reacts by about a percent.
        let bound = match path.as_str() {
            "/perplexity_ratio" | "/log_perplexity_ratio" => 0.01,
            "/perplexity_difference" => 4.0,
            // 150 positions, at some of which the two largest logits are nearly equal.
            "/same_top" => 0.04,
            _ => 0.05 * expected.abs() + 0.003,
        };
        assert!((found - expected).abs() < bound, "{path}: {found} {expected}");
    }
    // The same model has nearly no divergence from what llama.cpp computes.
    let found = compare(&model());
    assert!(number(&found, "/kl_divergence/mean").abs() < 1e-4, "{found}");
    assert!(number(&found, "/same_top") > 0.98, "{found}");
}

#[test]
fn the_table_names_percentiles() {
    let folder = tempfile::tempdir().unwrap();
    let (text, base) = (text(folder.path()), model());
    let flags = ["--context", "32", "--kl-divergence"];
    let found = perplexity(&flags, &[&base, &text]).success().stdout;
    for row in
        ["| PPL(model) / PPL(base) | 1.000000 |", "| mean | 0.000000 ±", "| 99.9% | 0.000000 |"]
    {
        assert!(found.contains(row), "{found}");
    }
    assert!(found.contains("Same most probable token: 100.000"), "{found}");
}

#[test]
fn a_dry_run_adds_both_models() {
    let base = model();
    let outcome =
        perplexity(&["--dry-run", "--context", "32", "--kl-divergence"], &[&base]).success();
    assert!(outcome.stdout.contains("both models fit"), "{}", outcome.stdout);
}

#[test]
fn what_cannot_be_compared_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let text = text(folder.path());
    let ember = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/ember.gguf");
    let other = perplexity(&["--context", "32", "--kl-divergence"], &[&ember, &text]).failure(1);
    assert!(other.stderr.contains("split the text into different tokens"), "{}", other.stderr);
    let without = perplexity(&["--kl-divergence"], &[]).failure(2).stderr;
    assert!(without.contains("--kl-divergence requires a base"), "{without}");
    let flags = ["--kl-divergence", "a.gguf", "--kl-divergence-base", "b.kld"];
    assert!(perplexity(&flags, &[&text]).failure(2).stderr.contains("one after the other"));
    let stored = fixture("evaluation/llama_cpp.kld");
    let context = perplexity(&["--context", "48", "--kl-divergence"], &[&stored]).failure(2);
    assert!(context.stderr.contains("windows of 32 tokens"), "{}", context.stderr);
    let run = Run::inferno().args(["perplexity", "-m"]).args([&ember]).args(["--kl-divergence"]);
    let other = run.args([&stored]).failure(1).stderr;
    assert!(other.contains("only models with the same vocabulary can be compared"), "{other}");
}

#[test]
fn a_base_does_not_replace_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let text = text(folder.path());
    let before = fs::read(&text).unwrap();
    let flags = ["--context", "32", "--force", "--kl-divergence-base"];
    let stderr = perplexity(&flags, &[&text, &text]).failure(2).stderr;
    assert!(stderr.contains("is also an input of this command"), "{stderr}");
    assert_eq!(fs::read(&text).unwrap(), before);
    let run = perplexity(&flags, &[Path::new("-"), &text]).current_dir(folder.path());
    let stderr = run.failure(2).stderr;
    assert!(stderr.contains("cannot be written to standard output"), "{stderr}");
    assert!(!folder.path().join("-").exists());
}

#[test]
fn chunks_limit_the_windows_of_models_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = text(folder.path());
    let (base, stored) = (model(), folder.path().join("base.kld"));
    let flags = ["--context", "32", "--chunks", "2", "--kl-divergence-base"];
    perplexity(&flags, &[&stored, &text]).success();
    let whole = folder.path().join("whole.kld");
    perplexity(&["--context", "32", "--kl-divergence-base"], &[&whole, &text]).success();
    let flags = ["-o", "json", "--requantize", "q4_0", "--kl-divergence"];
    let of_stored = json(&perplexity(&flags, &[&stored]).success());
    assert_eq!(number(&of_stored, "/windows"), 2.0);
    let flags = ["-o", "json", "--requantize", "q4_0", "--chunks", "2", "--kl-divergence"];
    assert_eq!(json(&perplexity(&flags, &[&whole]).success()), of_stored);
    let flags = [&["--context", "32"], &flags[..]].concat();
    let of_model = json(&perplexity(&flags, &[&base, &text]).success());
    assert_eq!(number(&of_model, "/windows"), 2.0);
    let difference =
        number(&of_model, "/kl_divergence/mean") - number(&of_stored, "/kl_divergence/mean");
    assert!(difference.abs() < 1e-4, "{difference}");
}
