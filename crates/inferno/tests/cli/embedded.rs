//! Every command with the built-in model, the default.
#![cfg(feature = "embedded-model")]

use std::fs;

use crate::support::{Outcome, Run, model};

const NOTE: &str = "note: no model specified, using the built-in Ember (8 MB).";

/// Runs a command that must print the note once, on standard error only.
fn with_note(run: Run) -> Outcome {
    let outcome = run.success();
    assert_eq!(outcome.stderr.matches(NOTE).count(), 1, "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("no model specified"), "{}", outcome.stdout);
    outcome
}

fn inferno(args: &[&str]) -> Run {
    Run::inferno().args(args)
}

#[test]
fn text_is_generated_without_a_model_option() {
    let outcome = with_note(inferno(&["generate", "--greedy", "-n", "8", "Once upon a time"]));
    assert!(outcome.stdout.trim().len() > 8, "{}", outcome.stdout);
    let note = format!("{NOTE} Pass -m FILE or -m hf:OWNER/REPO to use another.\n");
    assert_eq!(outcome.stderr, note);
}

#[test]
fn chat_introduces_it_as_a_demo() {
    let chat = inferno(&["chat", "--greedy", "-n", "4", "--no-think"]).stdin("Hello!\n");
    let stderr = with_note(chat).stderr;
    assert!(
        stderr.contains("It is a demo; chat with a real model with: inferno chat -m"),
        "{stderr}"
    );
}

#[test]
fn quantizing_quantized_weights_is_reported_to_have_no_effect() {
    let run = inferno(&["generate", "--requantize", "q4_k", "-n", "1", "--greedy", "Once"]);
    let stderr = with_note(run).stderr;
    assert!(stderr.contains("note: requantizing has no effect"), "{stderr}");
}

#[test]
fn model_generate_prints_the_same_text_as_generate() {
    let args = ["--greedy", "-n", "8", "Once upon a time"];
    let inferno = with_note(Run::inferno().args(["generate"]).args(args)).stdout;
    let alone = with_note(Run::program(env!("CARGO_BIN_EXE_model-generate")).args(args)).stdout;
    assert_eq!(alone, inferno);
}

#[test]
fn decoding_reverses_encoding() {
    for flags in [&[][..], &["--no-bos"], &["--no-special"]] {
        let ids = with_note(inferno(&["tokenize"]).args(flags).stdin("A fox, 7 hens.")).stdout;
        let back = with_note(inferno(&["tokenize", "--decode"]).args(flags).stdin(ids));
        assert_eq!(back.stdout, "A fox, 7 hens.");
    }
}

#[test]
fn logits_have_one_row_per_token() {
    let rows = with_note(inferno(&["logits", "--tokens", "1,2,3"])).stdout;
    let rows: Vec<Vec<f32>> =
        rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [4096; 3]);
}

#[test]
fn perplexity_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.txt");
    fs::write(&text, "The little girl went to the garden to see the flowers. ".repeat(8)).unwrap();
    let run = inferno(&["perplexity", "--context", "64"]).args([&text]);
    let scored: serde_json::Value = serde_json::from_str(&with_note(run).stdout).unwrap();
    assert!((1.0..4096.0).contains(&scored["perplexity"].as_f64().unwrap()), "{scored}");
}

#[test]
fn it_is_inspected_like_a_file() {
    let described = with_note(inferno(&["inspect", "--json"])).stdout;
    let document: serde_json::Value = serde_json::from_str(&described).unwrap();
    assert_eq!(document["architecture"], "qwen3");
    assert_eq!(document["tokenizer"]["chat_template"], true);
    assert_eq!(document["files"], serde_json::json!([]));

    let listed = with_note(Run::program(env!("CARGO_BIN_EXE_gguf-inspect"))).stdout;
    assert!(listed.starts_with("file               built into this program\n"), "{listed}");
    assert!(listed.contains("blk.0.attn_q.weight"), "{listed}");
}

#[test]
fn the_demo_needs_only_a_text() {
    let demo = Run::program(env!("CARGO_BIN_EXE_tokenizer-demo")).args(["the end<|im_end|>"]);
    let shown = with_note(demo).stdout;
    assert!(shown.contains("<|im_end|>  (special)\n"), "{shown}");
}

#[test]
fn a_dry_run_counts_the_file_that_stays_in_memory() {
    let stdout = with_note(inferno(&["generate", "--dry-run"])).stdout;
    let file = fs::metadata("../../models/ember.gguf").unwrap().len() as f64;
    let mapped = format!("mapped file   {:>12}", format!("{:.2} MiB", file / (1024.0 * 1024.0)));
    assert!(stdout.contains(&mapped), "{mapped}: {stdout}");
}

#[test]
fn a_specified_model_is_used_without_a_note() {
    let named = inferno(&["generate", "--greedy", "-n", "2", "-m"]).args([model()]).args(["Once"]);
    assert_eq!(named.success().stderr, "");
    let named = inferno(&["generate", "--greedy", "-n", "2", "Once"]).env("INFERNO_MODEL", model());
    assert_eq!(named.success().stderr, "");
}

#[test]
fn the_built_in_model_has_a_name() {
    let greedy = ["generate", "--greedy", "-n", "4", "Once upon a time"];
    let expected = with_note(inferno(&greedy)).stdout;
    let named = inferno(&greedy).args(["-m", "ember"]).success();
    assert_eq!((named.stdout, named.stderr.as_str()), (expected, ""));
    let answer = inferno(&["run", "ember", "--greedy", "-n", "4", "Hello!"]).success();
    assert!(!answer.stdout.trim().is_empty());
}

#[test]
fn an_unknown_name_is_reported_with_similar_ones() {
    let missing = |name: &str| inferno(&["generate", "-m", name, "Hi"]).failure(2).stderr;
    for name in ["llama3", "qwen3-0.6b", "qwen3:9b"] {
        assert!(missing(name).contains("similar short names"), "{}", missing(name));
    }
    assert!(missing("nowhere").contains("inferno list --catalog"));
}
