//! Streams that report usage in every chunk.

use serde_json::{Value, json};

use crate::client::post;
use crate::server::shared;

/// Checks the usage of all chunks of a stream with two choices, and returns the final usage.
fn check(path: &str, mut request: Value) -> Value {
    for (field, value) in [
        ("stream", json!(true)),
        ("stream_options", json!({"include_usage": true, "continuous_usage_stats": true})),
        ("n", json!(2)),
        ("temperature", json!(0)),
        ("max_tokens", json!(6)),
    ] {
        request[field] = value;
    }
    let mut chunks = post(shared(), path, &request).chunks();
    let all = chunks.pop().expect("there is one of the usage")["usage"].take();
    let mut last = [0, 0];
    for chunk in &chunks {
        let usage = &chunk["usage"];
        let number = |name: &str| usage[name].as_u64().unwrap();
        assert_eq!(number("prompt_tokens"), all["prompt_tokens"].as_u64().unwrap());
        assert_eq!(number("total_tokens"), number("prompt_tokens") + number("completion_tokens"));
        let choice = chunk["choices"][0]["index"].as_u64().unwrap() as usize;
        assert!(
            (last[choice]..=last[choice] + 3).contains(&number("completion_tokens")),
            "{chunk}"
        );
        last[choice] = number("completion_tokens");
    }
    assert_eq!(last, [6, 6]);
    all
}

#[test]
fn every_chunk_reports_the_tokens_of_its_choice() {
    let all = check("/v1/completions", json!({"prompt": "Once upon a time", "ignore_eos": true}));
    assert_eq!(all["completion_tokens"], 12);
    let messages = json!([{"role": "user", "content": "Tell me a story."}]);
    let all = check("/v1/chat/completions", json!({"messages": messages}));
    assert_eq!(all["completion_tokens"], 12);
}

#[test]
fn continuous_usage_requires_final_usage() {
    let request = json!({
        "prompt": "Once", "max_tokens": 3, "stream": true, "stream_options": {"continuous_usage_stats": true},
    });
    let chunks = post(shared(), "/v1/completions", &request).chunks();
    assert!(chunks.iter().all(|chunk| chunk["usage"].is_null()));
}
