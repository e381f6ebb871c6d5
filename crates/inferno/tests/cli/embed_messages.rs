//! Messages of `inferno embed`, and of other commands with encoders and rerankers, about inputs and options.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::embed::{embed, encoder, post, server};
use crate::support::Run;

#[test]
fn inputs_and_queries_that_are_too_long_are_named() {
    let long = "cat ".repeat(100);
    let error =
        embed("bert.gguf", &["-c", "32"]).stdin(format!("a cat\n{long}\n")).failure(1).stderr;
    assert!(error.contains("standard input, line 2 has"), "{error}");
    assert!(error.contains("--truncate or a larger --context"), "{error}");
    let error = embed("bert.gguf", &["a", &long]).failure(1).stderr;
    assert!(error.contains("argument 2 has") && !error.contains("--context"), "{error}");
    let error =
        embed("bert-reranker.gguf", &["--truncate", "--query", &long, "a"]).failure(1).stderr;
    assert!(error.contains("the query has"), "{error}");
    let request = json!({"query": long, "documents": ["a"], "truncate_prompt_tokens": -1});
    let (status, answer) = post(&server("bert-reranker.gguf"), "/v1/rerank", &request);
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(status == 400 && message.starts_with("query is too large"), "{answer}");
    let request = json!({"query": "a", "documents": vec!["b"; 3000]});
    let (status, answer) = post(&server("bert-reranker.gguf"), "/v1/rerank", &request);
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(
        status == 400 && message.ends_with("between 1 and 2048 items, but has 3000"),
        "{answer}"
    );
}

#[test]
fn embeddings_are_printed_as_soon_as_they_are_computed() {
    let texts = "a cat swims\n".repeat(2000);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("texts.txt");
    std::fs::write(&file, texts).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_inferno"));
    command.args(["embed", "-m"]).arg(encoder("bert.gguf")).arg("--file").arg(file);
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it was piped")).lines();
    lines.next().expect("a line").expect("text");
    let first = started.elapsed();
    assert_eq!(lines.count(), 1999);
    let all = started.elapsed();
    assert!(child.wait().expect("it ends").success());
    assert!(first * 2 < all, "the first after {first:?}, all after {all:?}");
}

#[test]
fn options_without_an_effect_are_warned_of() {
    let warned = |model: &str, args: &[&str], warning: &str| {
        let stderr = embed(model, args).success().stderr;
        assert!(stderr.contains(warning), "{stderr}");
    };
    let none = ["--pooling", "none", "--dimensions", "2", "a"];
    warned("bert.gguf", &none, "--dimensions has no effect with --pooling none");
    warned(
        "bert-reranker.gguf",
        &["--query", "q", "--no-normalize", "a"],
        "--no-normalize has no effect",
    );
    let scores = "--dimensions has no effect on the outputs of a classifier";
    warned("bert-reranker.gguf", &["--dimensions", "1", "a"], scores);
    warned("bert.gguf", &["--kv-dtype", "q8_0", "a"], "--kv-dtype has no effect");
    let serve = Run::inferno().args(["serve", "--dry-run", "--speculate", "4", "-m"]);
    let stderr = serve.args([encoder("bert.gguf")]).success().stderr;
    assert!(stderr.contains("--speculate has no effect: this model generates no text"), "{stderr}");
}

#[test]
fn options_of_llama_embedding_are_understood() {
    embed("bert.gguf", &["-p", "a cat", "--output", "json", "--embd-normalize", "2"]).success();
    let error = embed("bert.gguf", &["--embd-normalize", "-1", "a"]).failure(2).stderr;
    assert!(error.contains("--no-normalize"), "{error}");
}

#[test]
fn the_kind_of_the_model_is_reported_before_its_context() {
    let run = Run::inferno().args(["perplexity", "text", "-m"]).args([encoder("bert.gguf")]);
    let error = run.failure(1).stderr;
    assert!(error.contains("this model computes embeddings"), "{error}");
}
