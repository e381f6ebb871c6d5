//! Reports of how much of a prompt has been processed.

use serde_json::{Value, json};

use crate::client::post;
use crate::server::shared;

/// A prompt of about 400 tokens, in passes of at most 128. `name` makes it new to the prefix cache.
fn prompt(name: &str) -> String {
    format!("{name}. {}", "Once upon a time, there was a dog. ".repeat(40))
}

/// Checks the reports of one request, and returns the number of its cached tokens.
fn check(reports: &[&Value]) -> u64 {
    let number = |report: &Value, name: &str| report[name].as_u64().unwrap();
    let (first, last) = (reports[0], reports[reports.len() - 1]);
    assert_eq!(first["processed"], first["cache"], "the first precedes all computation");
    assert_eq!(last["processed"], last["total"]);
    for pair in reports.windows(2) {
        assert!(number(pair[0], "processed") < number(pair[1], "processed"), "{pair:?}");
        assert_eq!((&pair[0]["total"], &pair[0]["cache"]), (&pair[1]["total"], &pair[1]["cache"]));
        assert!(pair[0]["time_ms"].as_f64() <= pair[1]["time_ms"].as_f64(), "{pair:?}");
    }
    number(first, "cache")
}

#[test]
fn chats_report_each_pass_before_the_first_token() {
    let request = |progress: bool| {
        let messages = [json!({"role": "user", "content": prompt("Chats")})];
        json!({"messages": messages, "max_tokens": 3, "stream": true, "return_progress": progress})
    };
    for is_cached in [false, true] {
        let chunks = post(shared(), "/v1/chat/completions", &request(true)).chunks();
        let places: Vec<_> = (0..chunks.len())
            .filter(|&place| !chunks[place]["prompt_progress"].is_null())
            .collect();
        // The first chunk has the role.
        assert_eq!(places, (1..=places.len()).collect::<Vec<_>>());
        let reports: Vec<_> =
            places.iter().map(|&place| &chunks[place]["prompt_progress"]).collect();
        assert!(reports.len() >= if is_cached { 2 } else { 4 }, "{reports:?}");
        assert_eq!(check(&reports) > 0, is_cached);
        let choice = &chunks[places[0]]["choices"][0];
        assert_eq!((&choice["delta"], &choice["finish_reason"]), (&json!({}), &Value::Null));
    }
    let chunks = post(shared(), "/v1/chat/completions", &request(false)).chunks();
    assert!(chunks.iter().all(|chunk| chunk.get("prompt_progress").is_none()));
}

#[test]
fn completions_report_timings_with_the_progress() {
    let request = json!({
        "prompt": prompt("Completions"), "n_predict": 3, "stream": true, "return_progress": true,
        "timings_per_token": true,
    });
    let reply = post(shared(), "/completion", &request);
    let parts: Vec<Value> =
        reply.events().iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect();
    let reported: Vec<_> =
        parts.iter().filter(|part| part.get("prompt_progress").is_some()).collect();
    let progress: Vec<_> = reported.iter().map(|part| &part["prompt_progress"]).collect();
    let cached = check(&progress);
    let first = &reported[0]["timings"];
    assert_eq!((&first["prompt_n"], &first["prompt_ms"]), (&json!(0), &json!(0.0)));
    for part in &reported {
        let (timings, progress) = (&part["timings"], &part["prompt_progress"]);
        assert_eq!(timings["prompt_n"], progress["processed"].as_u64().unwrap() - cached);
        assert_eq!((&timings["predicted_n"], &part["content"]), (&json!(0), &json!("")));
    }
    let last = parts.last().unwrap();
    assert_eq!(last["timings"]["prompt_n"], reported[reported.len() - 1]["timings"]["prompt_n"]);
    assert!(last.get("prompt_progress").is_none());
}

#[test]
fn responses_report_progress_and_timings() {
    let request = json!({
        "input": prompt("Responses"), "max_output_tokens": 3, "stream": true, "return_progress": true,
        "timings_per_token": true,
    });
    let reply = post(shared(), "/v1/responses", &request);
    let events: Vec<Value> =
        reply.events().iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect();
    let reports = events.iter().filter(|event| event.get("prompt_progress").is_some());
    let reports: Vec<_> = reports
        .inspect(|event| assert_eq!(event["type"], "response.in_progress"))
        .map(|event| &event["prompt_progress"])
        .collect();
    check(&reports);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
        let is_delta = event["type"].as_str().unwrap().ends_with(".delta");
        assert!(!is_delta || event["timings"]["predicted_n"].is_number(), "{event}");
    }
    let last = events.last().unwrap();
    assert_eq!(last["timings"]["predicted_n"], last["response"]["usage"]["output_tokens"]);
}
