//! Tools in chat completions.

use serde_json::{Value, json};

use crate::client::post;
use crate::fixtures::{chat_request, conversation};
use crate::server::{shared, strict};

const PATH: &str = "/v1/chat/completions";

fn with(mut request: Value, fields: Value) -> Value {
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request
}

fn arguments(call: &Value) -> Value {
    serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap()
}

#[test]
fn a_call_is_told_as_one() {
    let expected = conversation("tool_call");
    // One token more than the text: the end-of-turn token.
    let request = chat_request(&expected);
    let answer = post(shared(), PATH, &request).ok();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["type"], "function");
    assert!(call["id"].as_str().unwrap().starts_with("call_"));
    assert_eq!(call["function"]["name"], "get_weather");
    assert_eq!(call["function"]["arguments"], "{\"city\": \"Paris\"}", "letter for letter");

    let chunks = post(shared(), PATH, &with(request, json!({"stream": true}))).chunks();
    let deltas: Vec<_> = chunks
        .iter()
        .filter_map(|it| it["choices"][0]["delta"]["tool_calls"][0].as_object())
        .collect();
    assert_eq!(deltas[0]["function"]["name"], "get_weather");
    let streamed: String =
        deltas.iter().filter_map(|delta| delta["function"]["arguments"].as_str()).collect();
    assert_eq!(streamed, "{\"city\": \"Paris\"}");
    assert!(deltas.len() > 2, "arguments come as they are made");
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn an_answer_after_a_tool_result_matches_transformers() {
    let expected = conversation("tool_answer");
    let answer = post(shared(), PATH, &chat_request(&expected)).ok();
    assert_eq!(answer["choices"][0]["message"]["content"], expected["text"]);
}

#[test]
fn unsupported_schema_keywords_are_ignored_unless_strict() {
    let mut request = with(
        chat_request(&conversation("tool_call")),
        json!({"max_tokens": 200, "tool_choice": "required", "parallel_tool_calls": false}),
    );
    let parameters = json!({
        "type": "object", "required": ["sides"], "additionalProperties": false, "not": {"required": ["x"]},
        "properties": {"sides": {"type": "array", "uniqueItems": true, "items": {"enum": [6, 20]}, "maxItems": 2}},
    });
    let roll = json!({"name": "roll", "parameters": parameters});
    request["tools"] = json!([{"type": "function", "function": roll}]);
    let answer = post(shared(), PATH, &request).ok();
    let call = &answer["choices"][0]["message"]["tool_calls"][0];
    let sides = arguments(call)["sides"].as_array().expect("it is a list").clone();
    assert!(sides.iter().all(|it| [json!(6), json!(20)].contains(it)), "{call}");

    request["tools"][0]["function"]["strict"] = json!(true);
    let refused = post(shared(), PATH, &request).error(400);
    assert_eq!(refused["param"], "tools[0]");
}

#[test]
fn a_function_without_parameters_accepts_no_arguments() {
    let mut request = with(
        chat_request(&conversation("tool_call")),
        json!({"max_tokens": 200, "tool_choice": "required", "parallel_tool_calls": false}),
    );
    request["tools"] = json!([{"type": "function", "function": {"name": "now"}}]);
    let answer = post(shared(), PATH, &request).ok();
    assert_eq!(arguments(&answer["choices"][0]["message"]["tool_calls"][0]), json!({}));
}

#[test]
fn a_required_call_is_always_made() {
    let mut request = with(chat_request(&conversation("tool_call")), json!({"max_tokens": 200}));
    request["messages"] = json!([{"role": "user", "content": "Hello!"}]);
    request["tools"].as_array_mut().unwrap().push(json!({"type": "function", "function": {
        "name": "roll", "parameters": {
            "type": "object", "properties": {"sides": {"enum": [6, 20]}}, "required": ["sides"],
            "additionalProperties": false,
        },
    }}));
    let required =
        with(request.clone(), json!({"tool_choice": "required", "parallel_tool_calls": false}));
    let answer = post(shared(), PATH, &required).ok();
    let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 1);

    let named = json!({"tool_choice": {"type": "function", "function": {"name": "roll"}}, "parallel_tool_calls": false});
    let answer = post(shared(), PATH, &with(request.clone(), named)).ok();
    let call = &answer["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "roll");
    assert!([json!(6), json!(20)].contains(&arguments(call)["sides"]), "{call}");

    let answer = post(shared(), PATH, &with(request, json!({"tool_choice": "none"}))).ok();
    assert!(answer["choices"][0]["message"].get("tool_calls").is_none());
}

#[test]
fn invalid_tools_are_named() {
    let tool =
        json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}});
    let cases = [
        (json!({"tools": [{"type": "retrieval", "function": {"name": "f"}}]}), "tools[retrieval]"),
        (json!({"tools": [tool, tool]}), "tools[1]"),
        (json!({"tools": [tool], "tool_choice": "maybe"}), "tool_choice"),
        (
            json!({"tools": [tool], "tool_choice": {"type": "function", "function": {"name": "g"}}}),
            "tool_choice",
        ),
        (
            json!({"tools": [tool], "tool_choice": {"type": "function", "function": {"name": "f", "mood": 1}}}),
            "tool_choice.function.mood",
        ),
        (json!({"tool_choice": "required"}), "tool_choice"),
        (
            json!({"tools": [{"type": "function", "function": {"name": "f", "strict": true, "parameters": {"type": "nonsense"}}}]}),
            "tools[0]",
        ),
    ];
    for (fields, param) in cases {
        let request = with(json!({"messages": [{"role": "user", "content": "Hi"}]}), fields);
        let error = post(strict(), PATH, &request).error(400);
        assert_eq!(error["param"], param, "{error}");
    }
}

#[test]
fn earlier_calls_may_have_empty_arguments_in_every_api() {
    let question = json!({"role": "user", "content": "Roll a die."});
    let function = |arguments: &Value| json!({"name": "roll", "arguments": arguments});
    let chat = |arguments: &Value| {
        let calls = json!([{"id": "a", "type": "function", "function": function(arguments)}]);
        json!({"messages": [question, {"role": "assistant", "content": "", "tool_calls": calls}]})
    };
    let responses = |arguments: &Value| {
        let item = json!({
            "type": "function_call", "call_id": "a", "name": "roll", "arguments": arguments,
        });
        json!({"input": [question, item]})
    };
    let anthropic = |arguments: &Value| {
        let block = json!({"type": "tool_use", "id": "a", "name": "roll", "input": arguments});
        json!({"messages": [question, {"role": "assistant", "content": [block]}, question]})
    };
    let ollama = |arguments: &Value| {
        let calls = json!([{"function": function(arguments)}]);
        let call = json!({"role": "assistant", "content": "", "tool_calls": calls});
        let messages = json!([question, call, question]);
        json!({"messages": messages, "stream": false, "options": {"num_predict": 1}})
    };
    type Request<'r> = &'r dyn Fn(&Value) -> Value;
    let apis: [(&str, Request<'_>, &str); 4] = [
        ("/v1/chat/completions/input_tokens", &chat, "input_tokens"),
        ("/v1/responses/input_tokens", &responses, "input_tokens"),
        ("/v1/messages/count_tokens", &anthropic, "input_tokens"),
        ("/api/chat", &ollama, "prompt_eval_count"),
    ];
    for (path, request, count) in apis {
        let expected = post(shared(), path, &request(&json!({}))).ok()[count].clone();
        assert!(expected.as_u64() > Some(0), "{path}");
        for empty in [json!(""), json!(null), json!("{}")] {
            assert_eq!(post(shared(), path, &request(&empty)).ok()[count], expected, "{path}");
        }
        let full = post(shared(), path, &request(&json!("{\"sides\": 6}"))).ok();
        assert!(full[count].as_u64() > expected.as_u64(), "{path}");
        for invalid in [json!("{\"sides\":"), json!([6])] {
            let reply = post(shared(), path, &request(&invalid));
            assert_eq!(reply.status, 400, "{path}: {}", reply.body);
            assert!(reply.body.contains("must be a JSON object"), "{path}: {}", reply.body);
        }
    }
}
