//! `/v1/responses`.

use serde_json::{Value, json};

use crate::client::post;
use crate::fixtures::{conversation, reasoning_and_answer};
use crate::server::{shared, strict};

const PATH: &str = "/v1/responses";

fn ask(input: Value) -> Value {
    json!({"input": input, "temperature": 0, "reasoning": {"effort": "none"}})
}

#[test]
fn input_tokens_are_counted() {
    let asked = json!({"input": "Hello!", "instructions": "Be brief."});
    let counted = post(shared(), "/v1/responses/input_tokens", &asked).ok();
    assert_eq!(counted["object"], "response.input_tokens");
    let mut short = asked;
    short["max_output_tokens"] = json!(16);
    let answer = post(shared(), "/v1/responses", &short).ok();
    assert_eq!(counted["input_tokens"], answer["usage"]["input_tokens"]);
}

#[test]
fn answers_match_transformers() {
    let expected = conversation("system");
    let messages = &expected["request"]["messages"];
    let mut request = ask(messages[1]["content"].clone());
    request["instructions"] = messages[0]["content"].clone();
    let response = post(shared(), PATH, &request).ok();
    assert_eq!(response["object"], "response");
    assert_eq!(response["status"], "completed");
    assert_eq!(response["output"][0]["content"][0]["text"], expected["text"]);
    let prompt_tokens = expected["prompt_tokens"].as_array().unwrap().len();
    assert_eq!(response["usage"]["input_tokens"], prompt_tokens);

    let memory = conversation("memory");
    let response = post(shared(), PATH, &ask(memory["request"]["messages"].clone())).ok();
    assert_eq!(response["output"][0]["content"][0]["text"], memory["text"]);
}

#[test]
fn calls_and_their_outputs_are_items() {
    let expected = conversation("tool_call");
    let function = &expected["request"]["tools"][0]["function"];
    let tool = json!({
        "type": "function", "name": function["name"], "description": function["description"],
        "parameters": function["parameters"],
    });
    let question = json!({"role": "user", "content": "What is the weather in Paris?"});
    let mut request = ask(json!([question]));
    request["tools"] = json!([tool]);
    let response = post(shared(), PATH, &request).ok();
    let mut call = response["output"][0].clone();
    assert_eq!(call["type"], "function_call");
    assert_eq!(call["name"], "get_weather");
    assert_eq!(call["arguments"], "{\"city\": \"Paris\"}");

    let told = conversation("tool_answer");
    let messages = &told["request"]["messages"];
    let arguments = &messages[1]["tool_calls"][0]["function"]["arguments"];
    call["arguments"] = json!(arguments.to_string());
    let gave = json!({
        "type": "function_call_output", "call_id": call["call_id"], "output": messages[2]["content"],
    });
    request["input"] = json!([messages[0], call, gave]);
    let response = post(shared(), PATH, &request).ok();
    assert_eq!(response["output"][0]["content"][0]["text"], told["text"]);
}

#[test]
fn a_stream_returns_the_same_response() {
    let expected = conversation("thinking");
    let question = &expected["request"]["messages"][0]["content"];
    let (reasoning, text) = reasoning_and_answer(&expected);
    let mut request = json!({
        "input": question, "temperature": 0, "stream": true, "reasoning": {"effort": "low"},
    });
    let events = post(shared(), PATH, &request).events();
    let data: Vec<Value> =
        events.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect();
    for (place, (event, data)) in events.iter().zip(&data).enumerate() {
        assert_eq!(data["type"], event.name.as_deref().unwrap());
        assert_eq!(data["sequence_number"], place);
    }
    let names: Vec<_> = data.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["response.created", "response.in_progress"]);
    assert_eq!(names.last(), Some(&"response.completed"));
    let joined = |name: &str| -> String {
        data.iter().filter(|it| it["type"] == name).filter_map(|it| it["delta"].as_str()).collect()
    };
    assert_eq!(joined("response.reasoning_text.delta"), reasoning.unwrap());
    assert_eq!(joined("response.output_text.delta"), text);

    request["stream"] = json!(false);
    let whole = post(shared(), PATH, &request).ok();
    let streamed = &data.last().unwrap()["response"];
    let without_ids = |response: &Value| {
        let items = response["output"].as_array().unwrap().iter().cloned();
        items
            .map(|mut item| item.as_object_mut().unwrap().remove("id").map(|_| item.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(without_ids(streamed), without_ids(&whole));
    assert_eq!(streamed["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
}

#[test]
fn unsupported_features_are_rejected() {
    for (field, value) in [
        ("conversation", json!("conv_1")),
        ("background", json!(true)),
        ("include", json!(["message.output_text.logprobs"])),
        ("max_output_tokens", json!(0)),
        ("colour", json!("blue")),
    ] {
        let mut request = ask(json!("Hi"));
        request[field] = value;
        assert_eq!(post(strict(), PATH, &request).error(400)["param"], field);
    }
    let mut taken = ask(json!("Hi"));
    taken["include"] = json!(["reasoning.encrypted_content"]);
    taken["reasoning"]["summary"] = json!("detailed");
    taken["text"] = json!({"verbosity": "low"});
    taken["truncation"] = json!("auto");
    taken["service_tier"] = json!("flex");
    taken["store"] = json!(false);
    taken["prompt_cache_key"] = json!("a");
    taken["max_output_tokens"] = json!(4);
    taken["temperature"] = json!(0.7);
    assert_eq!(post(shared(), PATH, &taken).ok()["temperature"], 0.7);
    let mut cut = ask(json!("Tell me a story."));
    cut["max_output_tokens"] = json!(3);
    let response = post(shared(), PATH, &cut).ok();
    assert_eq!(response["status"], "incomplete");
    assert_eq!(response["incomplete_details"]["reason"], "max_output_tokens");
    assert_eq!(response["output"][0]["status"], "incomplete");

    // If it is cut off while reasoning, it contains nothing else, streamed or not.
    let mut thinking = json!({
        "input": "What is 2 + 3?", "temperature": 0, "max_output_tokens": 4,
        "reasoning": {"effort": "low"},
    });
    let whole = post(shared(), PATH, &thinking).ok();
    thinking["stream"] = json!(true);
    let events = post(shared(), PATH, &thinking).events();
    let last: Value = serde_json::from_str(&events.last().unwrap().data).unwrap();
    for output in [&whole["output"], &last["response"]["output"]] {
        assert_eq!(output.as_array().unwrap().len(), 1);
        assert_eq!(
            (&output[0]["type"], &output[0]["status"]),
            (&json!("reasoning"), &json!("incomplete"))
        );
    }
}

#[test]
fn an_invalid_item_is_named() {
    let message = |part: Value| json!([{"role": "user", "content": [part]}]);
    let call = json!({"type": "function_call", "call_id": "a", "name": "f"});
    for (input, named) in [
        (json!(7), "input"),
        (json!([{"role": "user", "content": "Hi", "mood": "good"}]), "input[0].mood"),
        (json!([{"role": "robot", "content": "Hi"}]), "input[0].role"),
        (
            message(json!({"type": "input_text", "text": "Hi", "mood": 1})),
            "input[0].content[0].mood",
        ),
        (message(json!({"type": "input_image"})), "input[0].content[0].type"),
        (json!([call]), "input[0].arguments"),
        (
            json!([{"type": "function_call", "call_id": "a", "name": "f", "arguments": "no"}]),
            "input[0].arguments",
        ),
        (json!([{"type": "function_call_output", "output": "x"}]), "input[0].call_id"),
        (
            json!([{"type": "reasoning", "summary": [{"type": "summary_text"}]}]),
            "input[0].summary[0].text",
        ),
        (json!([{"type": "item_reference", "id": "a"}]), "input[0].id"),
    ] {
        assert_eq!(post(strict(), PATH, &ask(input)).error(400)["param"], named);
    }
    let given_back = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "status": null, "encrypted_content": null},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": null,
         "content": [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    ]);
    post(shared(), PATH, &ask(given_back)).ok();
}
