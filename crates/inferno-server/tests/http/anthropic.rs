//! `/v1/messages` and token counting.

use serde_json::{Value, json};

use crate::client::post;
use crate::fixtures::{conversation, reasoning_and_answer};
use crate::server::{shared, strict};

const PATH: &str = "/v1/messages";

/// A conversation of the fixtures in Anthropic's format.
fn request(conversation: &Value) -> Value {
    let asked = &conversation["request"];
    let (system, messages): (Vec<_>, Vec<_>) = asked["messages"]
        .as_array()
        .unwrap()
        .iter()
        .cloned()
        .partition(|message| message["role"] == "system");
    let thinking = if asked["enable_thinking"] == true { "adaptive" } else { "disabled" };
    let mut request = json!({
        "model": "ember", "messages": messages, "temperature": 0,
        "max_tokens": conversation["max_tokens"], "thinking": {"type": thinking},
    });
    if let [system] = &system[..] {
        request["system"] = json!([{"type": "text", "text": system["content"]}]);
    }
    if let Some(tools) = asked["tools"].as_array() {
        let tool = |tool: &Value| {
            let function = &tool["function"];
            json!({
                "name": function["name"], "description": function["description"],
                "input_schema": function["parameters"],
            })
        };
        request["tools"] = tools.iter().map(tool).collect();
    }
    request
}

#[test]
fn answers_match_transformers() {
    for kind in ["plain", "system", "memory"] {
        let expected = conversation(kind);
        let answer = post(shared(), PATH, &request(&expected)).ok();
        assert_eq!(answer["type"], "message");
        assert_eq!(answer["content"], json!([{"type": "text", "text": expected["text"]}]));
        assert_eq!(answer["stop_reason"], "end_turn");
        let usage = &answer["usage"];
        let read =
            ["input_tokens", "cache_read_input_tokens"].map(|it| usage[it].as_u64().unwrap());
        let prompt_tokens = expected["prompt_tokens"].as_array().unwrap().len();
        assert_eq!(read[0] + read[1], prompt_tokens as u64);
        let count = {
            let mut request = request(&expected);
            for field in ["max_tokens", "temperature"] {
                request.as_object_mut().unwrap().remove(field);
            }
            post(shared(), "/v1/messages/count_tokens", &request).ok()
        };
        assert_eq!(count, json!({"input_tokens": prompt_tokens}));
        let rendered = post(shared(), "/v1/messages/render", &request(&expected)).ok();
        assert_eq!(rendered["token_ids"], expected["prompt_tokens"]);
    }
}

#[test]
fn reasoning_and_calls_are_blocks() {
    let expected = conversation("thinking");
    let (reasoning, text) = reasoning_and_answer(&expected);
    let answer = post(shared(), PATH, &request(&expected)).ok();
    assert_eq!(
        answer["content"][0],
        json!({"type": "thinking", "thinking": reasoning.unwrap(), "signature": ""})
    );
    assert_eq!(answer["content"][1], json!({"type": "text", "text": text}));

    let answer = post(shared(), PATH, &request(&conversation("tool_call"))).ok();
    assert_eq!(answer["stop_reason"], "tool_use");
    let call = &answer["content"][0];
    assert_eq!(call["type"], "tool_use");
    assert_eq!(call["name"], "get_weather");
    assert_eq!(call["input"], json!({"city": "Paris"}));

    let told = conversation("tool_answer");
    let messages = &told["request"]["messages"];
    let mut call = call.clone();
    call["input"] = messages[1]["tool_calls"][0]["function"]["arguments"].clone();
    let mut goes_on = request(&conversation("tool_call"));
    goes_on["max_tokens"] = json!(20);
    goes_on["messages"] = json!([
        messages[0],
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{
            "type": "tool_result", "tool_use_id": call["id"],
            "content": [{"type": "text", "text": messages[2]["content"]}],
        }]},
    ]);
    let answer = post(shared(), PATH, &goes_on).ok();
    assert_eq!(answer["content"][0]["text"], told["text"]);
}

#[test]
fn a_stream_returns_blocks_in_order() {
    for kind in ["thinking", "tool_call"] {
        let mut request = request(&conversation(kind));
        let whole = post(shared(), PATH, &request).ok();
        request["stream"] = json!(true);
        let events = post(shared(), PATH, &request).events();
        let data: Vec<Value> =
            events.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect();
        for (event, data) in events.iter().zip(&data) {
            assert_eq!(data["type"], event.name.as_deref().unwrap());
        }
        let names: Vec<_> = data.iter().map(|it| it["type"].as_str().unwrap()).collect();
        assert_eq!(names[..2], ["message_start", "ping"]);
        assert_eq!(names[names.len() - 2..], ["message_delta", "message_stop"]);

        let blocks = whole["content"].as_array().unwrap();
        for (index, block) in blocks.iter().enumerate() {
            let mut told = data.iter().filter(|it| it["index"] == index);
            let started = told.next().unwrap();
            assert_eq!(started["type"], "content_block_start");
            assert_eq!(started["content_block"]["type"], block["type"]);
            let text: String = told
                .filter(|it| it["type"] == "content_block_delta")
                .flat_map(|it| {
                    ["text", "thinking", "partial_json"].map(|key| it["delta"][key].as_str())
                })
                .flatten()
                .collect();
            match block["type"].as_str().unwrap() {
                "tool_use" => {
                    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), block["input"])
                }
                kind => assert_eq!(text, block[kind].as_str().unwrap()),
            }
        }
        let end = &data[data.len() - 2];
        assert_eq!(end["delta"]["stop_reason"], whole["stop_reason"]);
        assert_eq!(end["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
    }
}

#[test]
fn a_prefilled_answer_is_continued() {
    let mut request = request(&conversation("plain"));
    request["max_tokens"] = json!(10);
    request["messages"] = json!([
        {"role": "user", "content": "What is the capital of France?"},
        {"role": "assistant", "content": "The capital of France is"},
    ]);
    let answer = post(shared(), PATH, &request).ok();
    assert_eq!(answer["content"][0]["text"], " Paris.");
    // Nothing is left of this message, so the question is answered.
    let redacted = json!([{"type": "redacted_thinking", "data": "x"}]);
    request["messages"][1]["content"] = redacted;
    let answer = post(shared(), PATH, &request).ok();
    request["messages"].as_array_mut().unwrap().pop();
    assert_eq!(answer["content"], post(shared(), PATH, &request).ok()["content"]);
}

#[test]
fn stop_sequences_are_reported() {
    let mut request = request(&conversation("system"));
    request["stop_sequences"] = json!([" is"]);
    let answer = post(shared(), PATH, &request).ok();
    assert_eq!(answer["stop_reason"], "stop_sequence");
    assert_eq!(answer["stop_sequence"], " is");
    assert_eq!(answer["content"][0]["text"], "The capital of France");
}

#[test]
fn errors_have_anthropic_s_format() {
    let hello = json!([{"role": "user", "content": "Hi"}]);
    let cases = [
        (json!({"messages": hello}), "max_tokens"),
        (json!({"max_tokens": 1}), "messages"),
        (json!({"max_tokens": 1, "messages": []}), "messages"),
        (json!({"max_tokens": 0, "messages": hello}), "max_tokens"),
        (
            json!({"max_tokens": 1, "messages": [{"role": "robot", "content": "Hi"}]}),
            "messages.0.role",
        ),
        (
            json!({"max_tokens": 1, "messages": [hello[0], {"role": "assistant", "content": "So "}]}),
            "messages.1.content",
        ),
        (
            json!({"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "image"}]}]}),
            "messages.0.content.0.type",
        ),
        (
            json!({"max_tokens": 1, "messages": [{"role": "user", "content": [
                {"type": "text", "text": "Hi", "mood": "good"}]}]}),
            "messages.0.content.0.mood",
        ),
        (
            json!({"max_tokens": 1, "messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "Hi", "mood": 1}]}]}]}),
            "messages.0.content.0.content.0.mood",
        ),
        (
            json!({"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}),
            "messages.0.content.0.tool_use_id",
        ),
        (
            json!({"max_tokens": 1, "messages": hello, "system": [{"type": "text", "text": "Hi", "mood": 1}]}),
            "system.0.mood",
        ),
        (
            json!({"max_tokens": 1, "messages": hello, "mcp_servers": [{"type": "url"}]}),
            "mcp_servers",
        ),
        (json!({"max_tokens": 1, "messages": hello, "colour": 1}), "colour"),
        (
            json!({"max_tokens": 1, "messages": hello, "tools": [{"type": "bash_20250124", "name": "bash"}]}),
            "tools[bash_20250124]",
        ),
    ];
    for (request, named) in cases {
        let reply = post(strict(), PATH, &request);
        assert_eq!(reply.status, 400, "{request}");
        let body = reply.json();
        assert_eq!(body["type"], "error");
        assert_eq!(body["error"]["type"], "invalid_request_error");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{message}");
    }
    let unknown = json!({"max_tokens": 1, "messages": hello, "model": "claude"});
    let reply = post(shared(), PATH, &unknown);
    assert_eq!((reply.status, &reply.json()["error"]["type"]), (404, &json!("not_found_error")));
}

#[test]
fn reasoning_ends_at_its_budget() {
    let expected = conversation("thinking");
    let mut request = request(&expected);
    request["thinking"] = json!({"type": "enabled", "budget_tokens": 3});
    request["max_tokens"] = json!(60);
    let answer = post(shared(), PATH, &request).ok();
    // Three tokens after the tag: a line break and two of the reasoning.
    let tokens = &expected["tokens"].as_array().unwrap()[1..4];
    let cut = post(shared(), "/detokenize", &json!({"tokens": tokens})).ok();
    let cut = cut["content"].as_str().unwrap().trim_start();
    assert_eq!(answer["content"][0]["thinking"], cut);
    assert_eq!(answer["content"][1]["type"], "text");
}

#[test]
fn fields_without_effect_are_accepted() {
    let asked = request(&conversation("system"));
    let expected = post(shared(), PATH, &asked).ok();
    for (field, value) in [
        ("cache_control", json!({"type": "ephemeral"})),
        ("metadata", json!({"user_id": "someone"})),
        ("service_tier", json!("auto")),
        ("speed", json!("standard")),
        ("output_config", json!({"effort": "high"})),
        (
            "context_management",
            json!({"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}),
        ),
        ("context_management", json!({"edits": []})),
        ("context_management", json!({"edits": [{"type": "clear_tool_uses_20250919"}]})),
        ("service_tier", json!("flex")),
        ("mcp_servers", json!([])),
    ] {
        let mut request = asked.clone();
        request[field] = value;
        assert_eq!(post(shared(), PATH, &request).ok()["content"], expected["content"], "{field}");
    }
    for (field, value, named) in [
        ("speed", json!("fast"), "speed"),
        (
            "output_config",
            json!({"format": {"type": "xml", "schema": {}}}),
            "output_config.format.type",
        ),
        ("output_config", json!({"colour": "blue"}), "output_config.colour"),
        (
            "tools",
            json!([{"name": "f", "allowed_callers": ["code_execution_20260120"]}]),
            "tools[].allowed_callers",
        ),
    ] {
        let mut request = asked.clone();
        request[field] = value;
        let reply = post(strict(), PATH, &request);
        assert_eq!(reply.status, 400, "{field}");
        let error = reply.json();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn an_answer_has_the_requested_format() {
    let mut request = request(&conversation("plain"));
    request["output_config"] = json!({"format": {"type": "json_schema", "schema": {
        "type": "object", "properties": {"legs": {"enum": [2, 4]}}, "required": ["legs"],
        "additionalProperties": false,
    }}});
    request["max_tokens"] = json!(40);
    let answer = post(shared(), PATH, &request).ok();
    let text = answer["content"][0]["text"].as_str().unwrap();
    let legs = &serde_json::from_str::<Value>(text).unwrap()["legs"];
    assert!([json!(2), json!(4)].contains(legs), "{text}");
}

#[test]
fn a_system_message_may_follow_others() {
    let expected = conversation("system");
    let messages = &expected["request"]["messages"];
    let mut request = request(&expected);
    request.as_object_mut().unwrap().remove("system");
    request["messages"] = messages.clone();
    let answer = post(shared(), PATH, &request).ok();
    assert_eq!(answer["content"][0]["text"], expected["text"]);
}
