//! Coding agents: their requests, as observed, and whole tool loops with scripted answers.

use std::net::SocketAddr;
use std::sync::OnceLock;

use inferno_server::{ScriptedAnswers, ServerOptions};
use serde_json::{Value, json};

use crate::client::{post, send};
use crate::server::start;

const CALL: &str = "<tool_call>\n{\"name\": \"NAME\", \"arguments\": ARGUMENTS}\n</tool_call>";

/// A call in the format of Ember's template.
fn call(name: &str, arguments: &Value) -> String {
    CALL.replace("NAME", name).replace("ARGUMENTS", &arguments.to_string())
}

/// A server whose first answer calls a tool; after a result, it answers "Done."
fn scripted(first: String) -> SocketAddr {
    let scripted = ScriptedAnswers { answers: vec![first], otherwise: "Done.".to_owned() };
    let options = ServerOptions { scripted: Some(scripted), ..ServerOptions::default() };
    start(options).address
}

fn fixture(json: &str) -> Value {
    serde_json::from_str(json).expect("the fixture is JSON")
}

#[test]
fn claude_code_completes_a_tool_loop() {
    let path = json!({"file_path": "/notes.txt"});
    let address = scripted(call("Read", &path));
    let mut request = fixture(include_str!("../fixtures/agents/claude_code.json"));
    request["model"] = json!("ember");
    let reply = post(address, "/v1/messages?beta=true", &request);
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.header("x-inferno-ignored-fields"), Some("context_management"));
    let mut arguments = String::new();
    for event in reply.events() {
        let event: Value = serde_json::from_str(&event.data).unwrap();
        arguments.push_str(event["delta"]["partial_json"].as_str().unwrap_or_default());
    }
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), path);

    request["stream"] = json!(false);
    let answer = post(address, "/v1/messages", &request).ok();
    let tool_use = &answer["content"][0];
    assert_eq!((&tool_use["name"], &answer["stop_reason"]), (&json!("Read"), &json!("tool_use")));
    let result = json!({"type": "tool_result", "tool_use_id": tool_use["id"], "content": [
        {"type": "document", "title": "notes.txt", "source": {
            "type": "text", "media_type": "text/plain", "data": "Seven."}}]});
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": answer["content"]}));
    messages.push(json!({"role": "user", "content": [result]}));
    let answer = post(address, "/v1/messages", &request).ok();
    assert_eq!(answer["content"][0]["text"], "Done.");
}

#[test]
fn a_thread_is_rejected_so_that_the_client_resends_the_conversation() {
    let hello = json!([{"role": "user", "content": "Hello!"}]);
    for thread in [json!({"type": "create"}), json!({"type": "continue"})] {
        let request = json!({"messages": hello, "max_tokens": 1, "thread": thread});
        let reply = post(crate::server::shared(), "/v1/messages", &request);
        assert_eq!(reply.status, 400);
        let details = reply.json()["error"]["details"].clone();
        let expected =
            json!({"error_code": "thread_unsupported_request", "unsupported": ["thread"]});
        assert_eq!(details, expected);
    }
}

/// A server that Codex's tests share, with an answer for each tool.
fn codex(name: &str, arguments: &Value) -> (SocketAddr, Value) {
    let mut request = fixture(include_str!("../fixtures/agents/codex.json"));
    request["model"] = json!("ember");
    (scripted(call(name, arguments)), request)
}

/// The items of a finished response stream.
fn output(address: SocketAddr, request: &Value) -> Vec<Value> {
    let reply = post(address, "/v1/responses", request);
    assert_eq!(reply.status, 200, "{}", reply.body);
    let last = reply.events().pop().expect("there are events");
    let last: Value = serde_json::from_str(&last.data).unwrap();
    assert_eq!(last["type"], "response.completed");
    last["response"]["output"].as_array().unwrap().clone()
}

#[test]
fn codex_completes_a_tool_loop() {
    let (address, mut request) = codex("exec_command", &json!({"cmd": "cat notes.txt"}));
    let reply = post(address, "/v1/responses", &request);
    let ignored = reply.header("x-inferno-ignored-fields");
    assert_eq!(ignored, Some("text.verbosity, tools[web_search]"));
    let mut items = output(address, &request);
    assert_eq!(
        (&items[0]["type"], &items[0]["name"]),
        (&json!("function_call"), &json!("exec_command"))
    );
    let result =
        json!({"type": "function_call_output", "call_id": items[0]["call_id"], "output": "Seven."});
    items.push(result);
    request["input"].as_array_mut().unwrap().extend(items);
    assert_eq!(output(address, &request)[0]["content"][0]["text"], "Done.");
}

#[test]
fn tools_of_namespaces_are_called_by_their_own_names() {
    let (address, mut request) = codex("multi_agent_v1__close_agent", &json!({"target": "a"}));
    let mut items = output(address, &request);
    assert_eq!(items[0]["name"], "close_agent");
    assert_eq!(items[0]["namespace"], "multi_agent_v1");
    items.push(
        json!({"type": "function_call_output", "call_id": items[0]["call_id"], "output": "ok"}),
    );
    request["input"].as_array_mut().unwrap().extend(items);
    assert_eq!(output(address, &request)[0]["content"][0]["text"], "Done.");
}

#[test]
fn custom_tools_receive_text() {
    let (address, mut request) = codex("apply_patch", &json!({"input": "*** Begin\nPatch"}));
    let reply = post(address, "/v1/responses", &request);
    let delta = reply
        .events()
        .into_iter()
        .find(|event| event.name.as_deref() == Some("response.custom_tool_call_input.delta"));
    assert!(delta.expect("the input is streamed").data.contains("*** Begin\\nPatch"));
    let mut items = output(address, &request);
    assert_eq!(items[0]["type"], "custom_tool_call");
    assert_eq!(
        (&items[0]["name"], &items[0]["input"]),
        (&json!("apply_patch"), &json!("*** Begin\nPatch"))
    );
    items.push(
        json!({"type": "custom_tool_call_output", "call_id": items[0]["call_id"], "output": "ok"}),
    );
    request["input"].as_array_mut().unwrap().extend(items);
    assert_eq!(output(address, &request)[0]["content"][0]["text"], "Done.");
}

#[test]
fn items_of_stored_responses_can_be_referred_to() {
    static SERVER: OnceLock<SocketAddr> = OnceLock::new();
    let address = *SERVER.get_or_init(|| scripted(call("exec_command", &json!({"cmd": "ls"}))));
    let mut request = fixture(include_str!("../fixtures/agents/codex.json"));
    request["model"] = json!("ember");
    request["store"] = json!(true);
    let items = output(address, &request);
    let reference = json!({"type": "item_reference", "id": items[0]["id"]});
    let result =
        json!({"type": "function_call_output", "call_id": items[0]["call_id"], "output": "ok"});
    let input = request["input"].as_array_mut().unwrap();
    input.extend([reference, result]);
    let answer = post(
        address,
        "/v1/responses",
        &json!({
            "input": input, "tools": request["tools"], "max_output_tokens": 20
        }),
    )
    .ok();
    assert_eq!(answer["output"][0]["content"][0]["text"], "Done.");
    // The stored input contains the item itself.
    let path = format!("/v1/responses/{}/input_items?order=asc", answer["id"].as_str().unwrap());
    let listed = send(address, "GET", &path, &[], "").ok();
    assert_eq!(listed["data"][4]["type"], "function_call", "{listed}");
    // Evicted and unknown items are errors, not omissions.
    let unknown = json!({"input": [{"type": "item_reference", "id": "rs_unknown"}]});
    assert_eq!(post(address, "/v1/responses", &unknown).error(400)["code"], "item_not_found");
}

#[test]
fn agents_over_chat_completions_complete_a_tool_loop() {
    let address = scripted(call("read_file", &json!({"path": "notes.txt"})));
    let mut request = fixture(include_str!("../fixtures/agents/chat_agents.json"));
    let chunks = post(address, "/v1/chat/completions", &request).chunks();
    let calls = chunks.iter().filter_map(|chunk| {
        chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str()
    });
    assert_eq!(calls.collect::<String>(), "{\"path\":\"notes.txt\"}");
    request["stream"] = json!(false);
    request["stream_options"] = Value::Null;
    let answer = post(address, "/v1/chat/completions", &request).ok();
    let message = answer["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"].clone();
    let messages = request["messages"].as_array_mut().unwrap();
    messages.extend([message, json!({"role": "tool", "tool_call_id": id, "content": "Seven."})]);
    let answer = post(address, "/v1/chat/completions", &request).ok();
    assert_eq!(answer["choices"][0]["message"]["content"], "Done.");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
}

#[test]
fn allowed_tools_restrict_the_choice() {
    let address = crate::server::shared();
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {
        "mode": "required", "tools": [tool("b")]}});
    let request = json!({
        "messages": [{"role": "user", "content": "Hi"}], "tools": [tool("a"), tool("b")],
        "tool_choice": allowed, "parallel_tool_calls": false, "max_tokens": 60,
    });
    let answer = post(address, "/v1/chat/completions", &request).ok();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "b");
    let function = |name: &str| json!({"type": "function", "name": name});
    let request = json!({
        "input": "Hi", "tools": [function("a"), function("b")], "max_output_tokens": 60,
        "parallel_tool_calls": false,
        "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [function("a")]},
    });
    let answer = post(address, "/v1/responses", &request).ok();
    // Reasoning may come first.
    let last = answer["output"].as_array().unwrap().last().unwrap();
    assert_eq!(last["name"], "a", "{answer}");
}
