//! Every command on the model inside, where none is named.
#![cfg(feature = "embedded-model")]

mod support;

use std::fs;

use support::{Outcome, Run, model};

const NOTE: &str = "note: no model was given; this is ember, the small one inside";

/// What a run prints that must say once, and only on standard error, that the model inside is used.
fn told_once(run: Run) -> Outcome {
    let outcome = run.success();
    assert_eq!(outcome.stderr.matches(NOTE).count(), 1, "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("no model was given"), "{}", outcome.stdout);
    outcome
}

fn inferno(args: &[&str]) -> Run {
    Run::inferno().args(args)
}

#[test]
fn a_text_goes_on_without_a_model_being_named() {
    let outcome = told_once(inferno(&["generate", "--greedy", "-n", "8", "Once upon a time"]));
    assert!(outcome.stdout.trim().len() > 8, "{}", outcome.stdout);
    let note = format!("{NOTE} (-m FILE or -m hf:owner/repo takes another)\n");
    assert_eq!(outcome.stderr, note);
}

#[test]
fn model_generate_says_what_generate_says() {
    let args = ["--greedy", "-n", "8", "Once upon a time"];
    let inferno = told_once(Run::inferno().args(["generate"]).args(args)).stdout;
    let alone = told_once(Run::program(env!("CARGO_BIN_EXE_model-generate")).args(args)).stdout;
    assert_eq!(alone, inferno);
}

#[test]
fn ids_become_the_text_again() {
    for flags in [&[][..], &["--no-bos"], &["--no-special"]] {
        let ids = told_once(inferno(&["tokenize"]).args(flags).stdin("A fox, 7 hens.")).stdout;
        let back = told_once(inferno(&["tokenize", "--decode"]).args(flags).stdin(ids));
        assert_eq!(back.stdout, "A fox, 7 hens.");
    }
}

#[test]
fn logits_are_one_row_a_token() {
    let rows = told_once(inferno(&["logits", "--tokens", "1,2,3"])).stdout;
    let rows: Vec<Vec<f32>> =
        rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [4096; 3]);
}

#[test]
fn a_text_is_scored() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.txt");
    fs::write(&text, "The little girl went to the garden to see the flowers. ".repeat(8)).unwrap();
    let run = inferno(&["perplexity", "--context", "64"]).args([&text]);
    let scored: serde_json::Value = serde_json::from_str(&told_once(run).stdout).unwrap();
    assert!((1.0..4096.0).contains(&scored["perplexity"].as_f64().unwrap()), "{scored}");
}

#[test]
fn it_is_described_as_a_file_would_be() {
    let described = told_once(inferno(&["inspect", "--json"])).stdout;
    let document: serde_json::Value = serde_json::from_str(&described).unwrap();
    assert_eq!(document["architecture"], "qwen3");
    assert_eq!(document["tokenizer"]["chat_template"], true);
    assert_eq!(document["files"], serde_json::json!([]));

    let listed = told_once(Run::program(env!("CARGO_BIN_EXE_gguf-inspect"))).stdout;
    assert!(listed.starts_with("file               inside this program\n"), "{listed}");
    assert!(listed.contains("blk.0.attn_q.weight"), "{listed}");
}

#[test]
fn the_demo_needs_only_a_text() {
    let demo = Run::program(env!("CARGO_BIN_EXE_tokenizer-demo")).args(["the end<|im_end|>"]);
    let shown = told_once(demo).stdout;
    assert!(shown.contains("<|im_end|>  (special)\n"), "{shown}");
}

#[test]
fn a_dry_run_counts_the_file_that_stays_in_memory() {
    let stdout = told_once(inferno(&["generate", "--dry-run"])).stdout;
    let file = fs::metadata("../../models/ember.gguf").unwrap().len() as f64;
    let mapped = format!("mapped file   {:>12}", format!("{:.2} MiB", file / (1024.0 * 1024.0)));
    assert!(stdout.contains(&mapped), "{mapped}: {stdout}");
}

#[test]
fn a_model_that_is_named_is_taken_and_nothing_is_said() {
    let named = inferno(&["generate", "--greedy", "-n", "2", "-m"]).args([model()]).args(["Once"]);
    assert_eq!(named.success().stderr, "");
    let named = inferno(&["generate", "--greedy", "-n", "2", "Once"]).env("INFERNO_MODEL", model());
    assert_eq!(named.success().stderr, "");
}
