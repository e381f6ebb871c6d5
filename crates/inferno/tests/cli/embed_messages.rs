//! Messages of `inferno embed`, and of other commands with encoders and rerankers, about inputs and options.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::time::{Duration, SystemTime};

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
    // The output exceeds what a pipe and the requests in progress hold, so that the last texts wait for a reader.
    let num_texts = 4000;
    let folder = tempfile::tempdir().expect("a folder");
    let [file, model] = ["texts.txt", "bert.gguf"].map(|name| folder.path().join(name));
    fs::write(&file, "a cat swims\n".repeat(num_texts)).expect("it can be written");
    fs::copy(encoder("bert.gguf"), &model).expect("it can be copied");
    let run = Run::inferno().args(["embed", "-m"]).args([&model]).args(["--file"]).args([file]);
    let mut child = run.start_piped();
    let mut lines = BufReader::new(child.stdout.take().expect("it was piped")).lines();
    lines.next().expect("a line").expect("text");
    // Nothing is computed with a model file that was changed.
    let model = File::options().append(true).open(model).expect("the file");
    model.set_modified(SystemTime::now() + Duration::from_secs(3600)).expect("a new time");
    let num_others = lines.count();
    assert!(num_others < num_texts - 1, "all were computed before the first was printed");
    assert!(!child.wait().expect("it ends").success());
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
