//! Reference answers by Hugging Face transformers (`crates/inferno/tests/fixtures/ember/make_fixtures.py`).

use std::path::Path;

use serde_json::{Value, json};

fn read(file: &str, key: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno/tests/fixtures/ember");
    let text = std::fs::read_to_string(folder.join(file)).expect("the fixture is there");
    let mut document: Value = serde_json::from_str(&text).expect("the fixture is JSON");
    match document[key].take() {
        Value::Array(found) if !found.is_empty() => found,
        _ => panic!("{file} has no {key}"),
    }
}

/// Prompts with their greedy continuations.
pub fn stories() -> Vec<Value> {
    read("greedy.json", "stories")
}

/// Texts with the log-probabilities of their tokens and their hidden states.
pub fn prompts() -> Vec<Value> {
    read("prompts.json", "prompts")
}

/// Conversations with their greedy answers.
pub fn conversations() -> Vec<Value> {
    read("chat.json", "conversations")
}

/// The conversation of one kind.
pub fn conversation(kind: &str) -> Value {
    let mut all = conversations().into_iter();
    all.find(|found| found["kind"] == kind).expect("there is one of this kind")
}

/// The reasoning of a conversation's answer, without tags, and the answer after it.
pub fn reasoning_and_answer(conversation: &Value) -> (Option<&str>, &str) {
    let text = conversation["text"].as_str().expect("it is a string");
    match text.split_once("\n</think>\n\n") {
        Some((reasoning, answer)) => (reasoning.strip_prefix("<think>\n"), answer),
        None => (None, text),
    }
}

/// A word from the middle of a story's continuation, with the space before it.
pub fn later_word(story: &Value) -> String {
    let text = story["text"].as_str().expect("it is a string");
    let words: Vec<_> = text.split_whitespace().collect();
    format!(" {}", words[words.len() / 2])
}

/// A greedy chat completion request for a conversation.
pub fn chat_request(conversation: &Value) -> Value {
    let asked = &conversation["request"];
    let mut request = json!({
        "messages": asked["messages"],
        "temperature": 0,
        "max_tokens": conversation["max_tokens"],
        "chat_template_kwargs": {"enable_thinking": asked["enable_thinking"]},
    });
    // Arguments are strings in requests and objects in templates.
    for message in request["messages"].as_array_mut().expect("it is a list") {
        for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
            call["function"]["arguments"] = json!(call["function"]["arguments"].to_string());
        }
    }
    if asked["tools"].is_array() {
        request["tools"] = asked["tools"].clone();
    }
    request
}
