//! The policy on unknown and unimplemented request fields.

use serde_json::{Value, json};

use crate::client::{get, metric, post};
use crate::server::{shared, start, strict};

const CHAT: &str = "/v1/chat/completions";
const HEADER: &str = "x-inferno-ignored-fields";

/// A short request to an endpoint, with more fields.
fn request(path: &str, more: Value) -> Value {
    let mut request = match path {
        CHAT => json!({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 1}),
        "/v1/completions" => json!({"prompt": "Once", "max_tokens": 1}),
        "/v1/responses" => json!({"input": "Hello!", "max_output_tokens": 1}),
        "/v1/messages" => {
            json!({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 1})
        }
        "/v1/embeddings" => json!({"input": "Hello!"}),
        _ => unreachable!("{path}"),
    };
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

#[test]
fn unknown_fields_are_ignored_and_reported() {
    let server = start(inferno_server::ServerOptions::default());
    let more = json!({"mood": "good", "cheers": 1});
    for path in [CHAT, "/v1/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"] {
        let reply = post(server.address, path, &request(path, more.clone()));
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert_eq!(reply.header(HEADER), Some("cheers, mood"), "{path}");
    }
    let part = json!({"type": "text", "text": "Hi", "mood": "good"});
    let messages = json!([{"role": "user", "content": [part], "mood": null}]);
    for (path, streams) in [(CHAT, false), (CHAT, true), ("/v1/messages", false)] {
        let fields = json!({"messages": messages, "stream": streams});
        let reply = post(server.address, path, &request(path, fields));
        assert_eq!(reply.header(HEADER), Some("messages[].content[].mood"), "{path}");
    }
    let reply = post(server.address, CHAT, &request(CHAT, json!({})));
    assert_eq!(reply.header(HEADER), None);
    let count = |field: &str| {
        metric(server.address, &format!("inferno_ignored_fields_total{{field=\"{field}\""))
    };
    assert_eq!((count("mood"), count("messages[].content[].mood")), (5.0, 3.0));
    server.stop();
    server.join();
}

#[test]
fn strict_fields_rejects_unknown_fields() {
    for path in [CHAT, "/v1/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"] {
        let reply = post(strict(), path, &request(path, json!({"mood": "good"})));
        assert_eq!(reply.status, 400, "{path}");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(message, "unknown field mood; remove it", "{path}");
        post(strict(), path, &request(path, json!({"mood": null}))).ok();
    }
}

#[test]
fn fields_that_ask_for_nothing_are_accepted_without_a_report() {
    for (path, fields) in [
        (
            CHAT,
            json!({
                "use_beam_search": false, "echo": false, "length_penalty": 1.0, "bad_words": [],
                "return_token_ids": false, "add_special_tokens": false, "best_of": 1,
                "request_id": "a", "cache_salt": "b", "keep_alive": "5m", "cache_prompt": true,
                "functions": [], "service_tier": "flex", "metadata": {"a": "b"}, "mirostat": 0,
                "dry_multiplier": 0.0, "xtc_probability": 0, "lora": [], "client_metadata": {},
                "store": false, "id_slot": -1, "prompt_cache_retention": "24h",
            }),
        ),
        ("/v1/completions", json!({"use_beam_search": false, "cache_prompt": true, "n": 1.0})),
        (
            "/v1/responses",
            json!({
                "truncation": "auto", "max_tool_calls": 3, "top_logprobs": 0, "background": false,
                "reasoning": {"summary": "concise"}, "client_metadata": {"a": "b"},
                "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
            }),
        ),
        ("/v1/messages", json!({"mcp_servers": [], "speed": "standard", "inference_geo": "eu"})),
        ("/v1/embeddings", json!({"user": "me", "normalize": true})),
    ] {
        for address in [shared(), strict()] {
            let reply = post(address, path, &request(path, fields.clone()));
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            assert_eq!(reply.header(HEADER), None, "{path}");
        }
    }
}

#[test]
fn fields_that_would_change_the_answer_are_rejected() {
    for (path, field, value) in [
        (CHAT, "use_beam_search", json!(true)),
        (CHAT, "length_penalty", json!(1.5)),
        (CHAT, "bad_words", json!(["a"])),
        (CHAT, "audio", json!({"voice": "x"})),
        (CHAT, "mirostat", json!(2)),
        (CHAT, "best_of", json!(2)),
        ("/v1/completions", "return_token_ids", json!(true)),
        ("/v1/responses", "background", json!(true)),
        ("/v1/responses", "include", json!(["message.output_text.logprobs"])),
        ("/v1/messages", "container", json!("c")),
        ("/v1/embeddings", "pooling", json!("mean")),
    ] {
        let mut request = request(path, json!({}));
        request[field] = value;
        let reply = post(shared(), path, &request);
        assert_eq!(reply.status, 400, "{path} {field}: {}", reply.body);
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with(&format!("{field} is not supported: ")), "{message}");
    }
}

#[test]
fn hints_are_accepted_by_every_template() {
    for (path, fields, ignored) in [
        (CHAT, json!({"reasoning_effort": "xhigh", "verbosity": "low"}), Some("verbosity")),
        (CHAT, json!({"thinking_budget": 100, "enable_thinking": true}), None),
        (CHAT, json!({"store": true}), Some("store")),
        (
            "/v1/responses",
            json!({"reasoning": {"effort": "minimal"}, "text": {"verbosity": "low"}}),
            Some("text.verbosity"),
        ),
        (
            "/v1/messages",
            json!({
                "output_config": {"effort": "high"},
                "thinking": {"type": "adaptive", "budget_tokens": 1024, "display": "omitted"},
            }),
            Some("thinking.display"),
        ),
    ] {
        let reply = post(shared(), path, &request(path, fields));
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert_eq!(reply.header(HEADER), ignored, "{path}");
    }
}

#[test]
fn integers_may_have_a_decimal_point_and_limits_may_be_absent() {
    let length = |fields: Value| {
        let answer = post(shared(), CHAT, &request(CHAT, fields)).ok();
        answer["usage"]["completion_tokens"].as_u64().unwrap()
    };
    assert_eq!(length(json!({"max_tokens": 3.0, "top_k": 5.0, "seed": 7.0})), 3);
    assert!(length(json!({"max_tokens": -1, "temperature": 0})) > 3);
    let error = post(shared(), CHAT, &request(CHAT, json!({"max_tokens": 3.5}))).error(400);
    let message = "max_tokens must be a non-negative integer, but is 3.5";
    assert_eq!(error["message"], message);
    post(shared(), CHAT, &request(CHAT, json!({"max_tokens": -2}))).error(400);
    let story = request("/v1/completions", json!({"max_tokens": -1, "temperature": 0}));
    let answer = post(shared(), "/v1/completions", &story).ok();
    assert!(answer["usage"]["completion_tokens"].as_u64().unwrap() > 16, "{answer}");
    let response = request("/v1/responses", json!({"max_output_tokens": 2.0}));
    let response = post(shared(), "/v1/responses", &response).ok();
    assert_eq!(response["usage"]["output_tokens"], 2);
}

#[test]
fn the_description_states_the_policy() {
    let schema = |address| {
        let description = get(address, "/openapi.json").ok();
        description["components"]["schemas"]["ResponsesRequest"].clone()
    };
    let lenient = schema(shared());
    assert_eq!(lenient["additionalProperties"], true);
    assert_eq!(schema(strict())["unevaluatedProperties"], false);
    let fields = lenient["allOf"].as_array().unwrap().last().unwrap()["properties"].clone();
    let background = json!([{"type": "null"}, {"const": false}]);
    assert_eq!(fields["background"]["anyOf"], background);
    assert!(fields["text"]["properties"]["verbosity"]["description"].is_string());
    let description = get(shared(), "/openapi.json").ok();
    let schemas = &description["components"]["schemas"];
    assert_eq!(schemas["TokenizeRequest"]["anyOf"].as_array().unwrap().len(), 3);
    assert_eq!(schemas["MessageField"]["anyOf"][0]["required"], json!(["content"]));
    let names = ["MessageField", "AnthropicMessage", "ToolField", "AnthropicTool", "ResponsesTool"];
    for name in names {
        assert!(schemas[name].is_object(), "{name}");
    }
}
