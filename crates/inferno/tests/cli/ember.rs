//! Outputs of the built-in model compared with Hugging Face transformers (`fixtures/ember/make_fixtures.py`).
#![cfg(feature = "embedded-model")]

use std::fs;

use crate::support::{Run, fixture};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Returns the fixtures of `key` in one of the files next to the script.
fn fixtures(file: &str, key: &str) -> Vec<Value> {
    let text = fs::read_to_string(fixture("ember").join(file)).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let model = fs::read("../../models/ember.gguf").unwrap();
    let sha256: String = Sha256::digest(&model).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(document["sha256"], sha256, "made for another model; run make_fixtures.py again");
    let Value::Array(found) = document[key].take() else { panic!("{file} has no {key}") };
    assert!(!found.is_empty());
    found
}

fn stories() -> Vec<Value> {
    fixtures("greedy.json", "stories")
}

fn conversations() -> Vec<Value> {
    fixtures("chat.json", "conversations")
}

/// Returns the conversation of one kind.
fn conversation(kind: &str) -> Value {
    conversations().into_iter().find(|found| found["kind"] == kind).unwrap()
}

#[test]
fn an_empty_prompt_generates_text() {
    let any = Run::inferno().args(["generate", "--greedy", "--max-tokens", "8", ""]).success();
    assert!(!any.stdout.trim().is_empty());
}

/// Runs greedy decoding with the maximum length of the fixture.
fn greedy(expected: &Value) -> Run {
    let max_tokens = expected["max_tokens"].to_string();
    Run::inferno().args(["generate", "--greedy", "--max-tokens", &max_tokens])
}

fn answer(expected: &Value) -> String {
    let run = greedy(expected).args(["--chat", "--input", "-"]);
    run.stdin(expected["request"].to_string()).success().stdout
}

/// What is printed for the text of a reply: a tool call as one line of JSON.
fn printed(text: &str) -> String {
    let call = text.trim().strip_prefix("<tool_call>");
    match call.and_then(|call| call.strip_suffix("</tool_call>")) {
        Some(call) => format!("{}\n", serde_json::from_str::<Value>(call).unwrap()),
        None => format!("{text}\n"),
    }
}

#[test]
fn the_tokens_match_hugging_face_tokenizers() {
    for expected in stories().into_iter().chain(conversations()) {
        let prompt = expected["prompt"].as_str().unwrap();
        let found = Run::inferno().args(["tokenize"]).stdin(prompt).success().stdout;
        assert_eq!(found, format!("{}\n", expected["prompt_tokens"]), "{prompt}");
    }
}

#[test]
fn the_greedy_text_matches_transformers() {
    for expected in stories() {
        let prompt = expected["prompt"].as_str().unwrap();
        let text = expected["text"].as_str().unwrap().to_owned() + "\n";
        for flags in [&[][..], &["--backend", "scalar"], &["--no-kv"]] {
            let found = greedy(&expected).args(flags).args([prompt]).success().stdout;
            assert_eq!(found, text, "{prompt} {flags:?}");
        }
    }
}

#[test]
fn conversations_render_as_in_jinja2() {
    for expected in conversations() {
        let run = Run::inferno().args(["template", "--input", "-"]);
        let found = run.stdin(expected["request"].to_string()).success().stdout;
        assert_eq!(found, expected["prompt"].as_str().unwrap(), "{}", expected["kind"]);
    }
}

#[test]
fn replies_match_transformers() {
    for expected in conversations() {
        let text = printed(expected["text"].as_str().unwrap());
        assert_eq!(answer(&expected), text, "{}", expected["kind"]);
    }
}

#[test]
fn an_available_tool_is_called_with_the_arguments_of_its_schema() {
    let expected = conversation("tool_call");
    let answer = answer(&expected);
    let call: Value = serde_json::from_str(&answer).expect("one line of JSON");
    let mut tools = expected["request"]["tools"].as_array().unwrap().iter();
    let tool = tools.find_map(|tool| {
        let function = &tool["function"];
        (function["name"] == call["name"]).then_some(function)
    });
    let tool = tool.expect("the tool is on offer");
    let arguments: Vec<_> = call["arguments"].as_object().unwrap().keys().collect();
    assert_eq!(json!(arguments), tool["parameters"]["required"]);
}

#[test]
fn reasoning_precedes_the_content_only_if_enabled() {
    let thought = answer(&conversation("thinking"));
    let (thought, said) = thought.split_once("</think>").expect("it thinks");
    assert!(thought.starts_with("<think>") && !said.trim().is_empty(), "{thought}{said}");
    assert!(!answer(&conversation("plain")).contains("<think>"));
}
