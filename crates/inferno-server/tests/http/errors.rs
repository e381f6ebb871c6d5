//! Rejected requests and their errors.

use inferno_server::{Limits, Server, ServerError, ServerOptions};
use serde_json::{Map, Value, json};

use crate::client::{get, post, send};
use crate::fixtures::{later_word, stories};
use crate::server::{shared, start, strict};

const CHAT: &str = "/v1/chat/completions";

fn hello() -> Value {
    json!({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 1, "temperature": 0})
}

fn hello_with(field: &str, value: Value) -> Value {
    let mut request = hello();
    request[field] = value;
    request
}

fn biases(count: usize) -> Value {
    (0..count).map(|token| (token.to_string(), json!(1))).collect::<Map<_, _>>().into()
}

#[test]
fn an_invalid_field_is_named() {
    let long = "a ".repeat(3000);
    let cases = [
        ("messages", json!([]), "messages"),
        ("messages", json!("Hello!"), "messages"),
        ("messages", json!([{"content": "Hello!"}]), "messages[0].role"),
        ("messages", json!([{"role": "robot", "content": "Hello!"}]), "messages[0].role"),
        ("messages", json!([{"role": "user"}]), "messages[0].content"),
        ("messages", json!([{"role": "user", "content": 7}]), "messages[0].content"),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
            "messages[0].content[0].type",
        ),
        (
            "messages",
            json!([{"role": "user", "content": "Hi", "mood": "good"}]),
            "messages[0].mood",
        ),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "text", "text": "Hi", "mood": "good"}]}]),
            "messages[0].content[0].mood",
        ),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "text", "text": 7}]}]),
            "messages[0].content[0].text",
        ),
        ("messages", json!([{"role": "user", "content": long}]), "messages"),
        ("temperature", json!("hot"), "temperature"),
        ("temperature", json!(-1), "temperature"),
        ("top_p", json!(0), "top_p"),
        ("top_k", json!(-2), "top_k"),
        ("n", json!(0), "n"),
        ("n", json!(1000000), "n"),
        ("max_tokens", json!(0), "max_tokens"),
        ("min_tokens", json!(2), "min_tokens"),
        ("stop", json!([""]), "stop"),
        ("stop", json!(vec!["a"; 257]), "stop"),
        ("stop", json!("a".repeat(20_000)), "stop"),
        ("stop_token_ids", json!(vec![1; 1025]), "stop_token_ids"),
        ("logit_bias", biases(8193), "logit_bias"),
        ("stop", json!(7), "stop"),
        ("stop_token_ids", json!([99999999]), "stop_token_ids"),
        ("logit_bias", json!({"a": 1}), "logit_bias"),
        ("logit_bias", json!({"1": 101}), "logit_bias"),
        ("top_logprobs", json!(3), "top_logprobs"),
        ("stream_options", json!({"include_usage": true}), "stream_options"),
        ("response_format", json!({"type": "xml"}), "response_format.type"),
        ("response_format", json!({"type": "json_schema"}), "response_format.json_schema.schema"),
        ("frequency_penalty", json!(3), "frequency_penalty"),
        ("audio", json!({"voice": "x"}), "audio"),
        ("modalities", json!(["text", "audio"]), "modalities"),
        ("functions", json!([{"name": "f"}]), "functions"),
        ("guided_json", json!({}), "guided_json"),
        ("colour", json!("blue"), "colour"),
    ];
    for (field, value, param) in cases {
        let error = post(strict(), CHAT, &hello_with(field, value)).error(400);
        assert_eq!(error["param"], param, "{error}");
        assert_eq!(error["type"], "invalid_request_error");
    }
    let error = post(shared(), CHAT, &json!({})).error(400);
    assert_eq!(error["param"], "messages");
}

#[test]
fn errors_say_what_to_do() {
    let message = |path: &str, body: &Value| {
        let error = post(shared(), path, body).error(400);
        error["message"].as_str().unwrap().to_owned()
    };
    let messages = json!([{"role": "user", "content": "Hello!"}]);
    for (path, body, expected) in [
        (CHAT, hello_with("max_tokens", json!("4")), "a non-negative integer, but is \"4\""),
        (CHAT, json!({"prompt": "Hello!"}), "use messages, or /v1/completions"),
        (CHAT, hello_with("max_output_tokens", json!(4)), "use max_completion_tokens"),
        ("/v1/completions", json!({"messages": messages}), "/v1/chat/completions"),
        ("/v1/responses", json!({"messages": messages}), "use input, or /v1/chat/completions"),
        ("/v1/responses", json!({"input": "Hi", "max_tokens": 4}), "use max_output_tokens"),
    ] {
        let message = message(path, &body);
        assert!(message.contains(expected), "{message}");
    }
    let wrong =
        [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://a.example")];
    let error = send(shared(), "POST", CHAT, &wrong, "{}").error(415);
    assert!(error["message"].as_str().unwrap().contains("send the header"), "{error}");
    let json = [("content-type", "application/json")];
    let error = send(shared(), "POST", CHAT, &json, "").error(400);
    assert!(error["message"].as_str().unwrap().contains("the body is empty"), "{error}");
    let error = post(shared(), "/chat", &hello()).error(404);
    assert!(error["message"].as_str().unwrap().contains("/openapi.json"), "{error}");
}

#[test]
fn a_prompt_beyond_the_context_is_rejected_with_both_counts() {
    let prompt = vec![300; 5000];
    let error = post(shared(), "/v1/completions", &json!({"prompt": prompt})).error(400);
    assert_eq!(error["code"], "context_length_exceeded");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("5000") && message.contains("1024"), "{message}");

    // Each API's own field is named, also where there are so many messages that none is looked at.
    let hello = json!({"role": "user", "content": "Hello!"});
    let long = json!({"role": "user", "content": "word ".repeat(3000)});
    for messages in [vec![long], vec![hello; 2000]] {
        let error = post(shared(), CHAT, &json!({"messages": messages})).error(400);
        assert_eq!(
            (&error["param"], &error["code"]),
            (&json!("messages"), &json!("context_length_exceeded"))
        );
        assert!(error["message"].as_str().unwrap().contains("1024"), "{error}");
        let error = post(shared(), "/v1/responses", &json!({"input": messages})).error(400);
        assert_eq!(error["param"], "input");
    }
}

#[test]
fn null_fields_are_treated_as_absent() {
    post(shared(), CHAT, &hello_with("temperature", Value::Null)).ok();
    post(shared(), CHAT, &hello_with("audio", Value::Null)).ok();
    post(shared(), CHAT, &hello_with("stop", Value::Null)).ok();
    let part = json!({"type": "text", "text": "Hi", "mood": null});
    let message = json!({"role": "user", "content": [part], "mood": null});
    post(shared(), CHAT, &hello_with("messages", json!([message]))).ok();
}

#[test]
fn fields_without_effect_are_accepted() {
    for (field, value) in [
        ("store", json!(false)),
        ("metadata", json!({"a": "b"})),
        ("user", json!("someone")),
        ("service_tier", json!("default")),
        ("parallel_tool_calls", json!(true)),
        ("modalities", json!(["text"])),
        ("prompt_cache_key", json!("a")),
        ("safety_identifier", json!("someone")),
        ("verbosity", json!("medium")),
        ("tools", json!([])),
    ] {
        post(shared(), CHAT, &hello_with(field, value)).ok();
    }
    let mut request = hello_with("stream", json!(true));
    request["stream_options"] = json!({"include_obfuscation": false});
    assert_eq!(post(shared(), CHAT, &request).status, 200);
}

/// The fields that vllm-router 0.1.17 and smg 1.13.0 add to a minimal request.
#[test]
fn fields_added_by_routers_are_accepted() {
    let added = [
        (
            CHAT,
            json!({
                "logprobs": false, "no_stop_trim": false, "ignore_eos": false,
                "continue_final_message": false, "skip_special_tokens": true,
                "separate_reasoning": true, "stream_reasoning": true,
                "return_hidden_states": false, "include_reasoning": true,
            }),
        ),
        (
            "/v1/completions",
            json!({
                "prompt": "Once", "stream": false, "echo": false, "no_stop_trim": false,
                "ignore_eos": false, "skip_special_tokens": true, "return_hidden_states": false,
            }),
        ),
        (
            "/v1/responses",
            json!({
                "input": "Hi", "priority": 0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0,
                "store": false,
            }),
        ),
    ];
    for (path, fields) in added {
        let mut request = if path == CHAT { hello() } else { json!({"model": "ember"}) };
        request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        post(shared(), path, &request).ok();
    }
    let (story, word) = (&stories()[0], later_word(&stories()[0]));
    let kept = json!({
        "prompt": story["prompt"], "temperature": 0, "max_tokens": story["max_tokens"],
        "stop": [word], "no_stop_trim": true,
    });
    let answer = post(shared(), "/v1/completions", &kept).ok();
    assert!(answer["choices"][0]["text"].as_str().unwrap().ends_with(&word), "{answer}");
    for field in ["separate_reasoning", "stream_reasoning", "include_reasoning"] {
        let error = post(shared(), CHAT, &hello_with(field, json!(false))).error(400);
        assert_eq!(error["param"], field);
    }
}

#[test]
fn each_kind_of_error_has_its_status() {
    let json = [("content-type", "application/json")];
    let address = shared();
    send(address, "POST", CHAT, &json, "{\"messages\": [").error(400);
    send(address, "POST", CHAT, &json, "[]").error(400);
    send(address, "POST", CHAT, &json, "").error(400);
    send(address, "POST", CHAT, &json, &"[".repeat(10_000)).error(400);
    for browser in [("origin", "http://a.example"), ("sec-fetch-site", "cross-site")] {
        send(address, "POST", CHAT, &[browser], "{}").error(415);
        send(address, "POST", CHAT, &[("content-type", "text/plain"), browser], "{}").error(415);
    }
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let error = send(address, "POST", CHAT, &packed, "\u{1f}").error(415);
    assert!(error["message"].as_str().unwrap().contains("compressed"), "{error}");
    post(address, CHAT, &hello_with("model", json!("gpt-4"))).error(404);
    post(address, CHAT, &hello_with("model", json!("alias"))).ok();
    get(address, "/v1/nothing").error(404);
    get(address, "/v1/models/gpt-4").error(404);
    get(address, CHAT).error(405);
    get(address, "/v1/models/%ff").error(400);
}

#[test]
fn the_content_type_may_be_missing_unless_a_browser_sends_the_request() {
    let form = ("content-type", "application/x-www-form-urlencoded");
    for (path, body) in [
        (CHAT, hello()),
        ("/v1/completions", json!({"prompt": "Hi", "max_tokens": 1})),
        ("/v1/responses", json!({"input": "Hi", "max_output_tokens": 1})),
        ("/v1/embeddings", json!({"input": "Hi"})),
        ("/v1/messages", hello_with("max_tokens", json!(1))),
        ("/tokenize", json!({"prompt": "Hi"})),
        ("/detokenize", json!({"tokens": [5]})),
        ("/apply-template", hello()),
    ] {
        send(shared(), "POST", path, &[form], &body.to_string()).ok();
        send(shared(), "POST", path, &[], &body.to_string()).ok();
        let browser = ("origin", "http://page.example");
        let refused = send(shared(), "POST", path, &[form, browser], &body.to_string());
        assert_eq!(refused.status, 415, "{path}");
        assert_eq!(refused.header("access-control-allow-origin"), None, "{path}");
    }
}

#[test]
fn long_prompts_are_described_in_the_terms_of_llama_server_as_well() {
    let prompt = json!({"prompt": vec![300; 5000]});
    for (path, kind) in [
        ("/v1/completions", "invalid_request_error"),
        ("/completions", "exceed_context_size_error"),
        ("/completion", "exceed_context_size_error"),
    ] {
        let error = post(shared(), path, &prompt).error(400);
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!(kind), &json!("context_length_exceeded"))
        );
        assert_eq!((&error["n_prompt_tokens"], &error["n_ctx"]), (&json!(5000), &json!(1024)));
        let message = error["message"].as_str().unwrap();
        for words in ["exceeds the available context size", "maximum context length is 1024 tokens"]
        {
            assert!(message.contains(words), "{message}");
        }
    }
    let other = post(shared(), "/completion", &json!({"prompt": 5})).error(400);
    assert_eq!((&other["type"], &other["n_ctx"]), (&json!("invalid_request_error"), &Value::Null));
}

#[test]
fn the_limits_hold() {
    let limits = Limits { max_body_bytes: 1000, max_num_choices: 2, ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() });
    let long = hello_with("user", json!("x".repeat(1000)));
    post(server.address, CHAT, &long).error(413);
    post(server.address, CHAT, &hello_with("n", json!(3))).error(400);
    // What no API has may be there, what this server does not honour may not.
    post(server.address, CHAT, &hello_with("colour", json!("blue"))).ok();
    let part = json!({"type": "text", "text": "Hi", "mood": "good"});
    let message = json!({"role": "user", "content": [part], "mood": "good"});
    post(server.address, CHAT, &hello_with("messages", json!([message]))).ok();
    post(server.address, CHAT, &hello_with("audio", json!({}))).error(400);
    server.stop();
    server.join();
}

#[test]
fn requests_need_the_api_key_if_one_is_set() {
    let api_keys = vec!["first".to_owned(), "second".to_owned()];
    let server = start(ServerOptions { api_keys, ..ServerOptions::default() });
    let ask = |path: &str, headers: &[(&str, &str)]| {
        let mut headers = headers.to_vec();
        headers.push(("content-type", "application/json"));
        send(server.address, "POST", path, &headers, &hello().to_string())
    };
    let refused = ask(CHAT, &[]);
    assert_eq!(refused.error(401)["type"], "authentication_error");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    ask(CHAT, &[("authorization", "Bearer wrong")]).error(401);
    ask(CHAT, &[("authorization", "Bearer firstt")]).error(401);
    ask(CHAT, &[("authorization", "Basic first")]).error(401);
    ask(CHAT, &[("authorization", "Bearer first")]).ok();
    ask(CHAT, &[("authorization", "bearer second")]).ok();
    ask("/v1/messages", &[("x-api-key", "second")]).ok();
    // Some clients also send the key of another server.
    ask("/v1/messages", &[("x-api-key", "other"), ("authorization", "Bearer first")]).ok();
    ask("/v1/messages", &[("x-api-key", "other"), ("authorization", "Bearer wrong")]).error(401);
    let refused = ask("/v1/messages", &[]);
    assert_eq!(refused.status, 401);
    assert_eq!(refused.json()["error"]["type"], "authentication_error");
    assert_eq!(refused.json()["type"], "error");
    get(server.address, "/v1/models").error(401);
    assert_eq!(get(server.address, "/health").status, 200);
    assert_eq!(get(server.address, "/metrics").status, 200);
    server.stop();
    server.join();
}

#[test]
fn an_empty_api_key_prevents_the_start() {
    for key in ["", " "] {
        let api_keys = vec!["first".to_owned(), key.to_owned()];
        let bound = Server::bind(ServerOptions { api_keys, ..ServerOptions::default() });
        assert!(matches!(bound, Err(ServerError::EmptyApiKey)));
    }
}

#[test]
fn only_allowed_origins_may_call() {
    let allowed_origins = vec!["http://a.example".to_owned()];
    let server = start(ServerOptions { allowed_origins, ..ServerOptions::default() });
    let preflight = |address, origin| {
        let headers = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type,authorization"),
        ];
        send(address, "OPTIONS", CHAT, &headers, "")
    };
    let allowed = preflight(server.address, "http://a.example");
    assert_eq!(allowed.header("access-control-allow-origin"), Some("http://a.example"));
    assert_eq!(allowed.header("access-control-allow-headers"), Some("content-type,authorization"));
    let other = preflight(server.address, "http://b.example");
    assert_eq!(other.header("access-control-allow-origin"), None);
    let local = "http://localhost:3000";
    assert_eq!(preflight(server.address, local).header("access-control-allow-origin"), None);
    for origin in [local, "https://127.0.0.1", "http://[::1]:8080"] {
        let allowed = preflight(shared(), origin);
        assert_eq!(allowed.header("access-control-allow-origin"), Some(origin));
    }
    let anyone =
        ServerOptions { allowed_origins: vec!["*".to_owned()], ..ServerOptions::default() };
    let anyone = start(anyone);
    let allowed = preflight(anyone.address, "http://b.example");
    assert_eq!(allowed.header("access-control-allow-origin"), Some("http://b.example"));
    assert_eq!(allowed.header("access-control-allow-credentials"), None);
    anyone.stop();
    anyone.join();
    for origin in ["http://a.example", "http://localhost.a.example", "null", "file://localhost"] {
        let other = preflight(shared(), origin);
        assert_eq!(other.header("access-control-allow-origin"), None, "{origin}");
    }
    server.stop();
    server.join();
}

#[test]
fn every_response_has_a_request_id() {
    let headers = [("x-request-id", "mine-7")];
    let reply = send(shared(), "GET", "/v1/nothing", &headers, "");
    assert_eq!(reply.header("x-request-id"), Some("mine-7"));
    let (first, second) = (get(shared(), "/health"), get(shared(), "/health"));
    assert!(first.header("x-request-id").unwrap().starts_with("req_"));
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}
