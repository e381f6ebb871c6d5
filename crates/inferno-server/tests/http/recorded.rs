//! Requests of coding agents and SDKs, recorded by `tests/clients/agents/recorder.py` while they ran a tool loop.

use inferno_server::{ScriptedAnswers, ServerOptions};
use serde_json::{Value, json};

use crate::client::{Reply, send};
use crate::server::{EMBER, start_with_model};

/// Replays a recording; the first answer with tools calls `tool`, every other one is "Done."
fn replay(recording: &str, tool: &str) {
    let recording: Value = serde_json::from_str(recording).expect("the recording is JSON");
    let call = json!({"name": tool, "arguments": {"path": "notes.txt"}});
    let scripted = ScriptedAnswers {
        answers: vec![format!("<tool_call>\n{call}\n</tool_call>")],
        otherwise: "Done.".to_owned(),
    };
    let options = ServerOptions { scripted: Some(scripted), ..ServerOptions::default() };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = folder.path().join("model.gguf");
    std::fs::write(&model, with_long_context()).expect("the model is written");
    let server = start_with_model(options, model);
    let requests = recording["requests"].as_array().expect("there are requests");
    assert!(!requests.is_empty());
    for request in requests {
        let headers = request["headers"].as_object().expect("there are headers").iter();
        let mut headers: Vec<_> =
            headers.map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        headers.push(("content-type", "application/json"));
        let (path, mut body) = (request["path"].as_str().unwrap(), request["body"].clone());
        // A server with several names rejects others.
        body["model"] = json!("ember");
        let body = body.to_string();
        let reply = send(server.address, "POST", path, &headers, &body);
        assert_eq!(request["status"], reply.status, "{path}: {}", reply.body);
        let ignored = reply.header("x-inferno-ignored-fields").unwrap_or_default();
        assert_eq!(request["ignored"], ignored, "{path}");
        if reply.status != 200 {
            continue;
        }
        let has_result = ["\"tool_result\"", "\"function_call_output\"", "\"role\":\"tool\""];
        if request["body"]["tools"].is_array() && !has_result.iter().any(|it| body.contains(it)) {
            let name = format!("\"name\":{}", json!(tool));
            assert!(reply.body.contains(&name), "{path}: no call in {}", reply.body);
        } else {
            assert_eq!(text(&reply), "Done.", "{path}: {}", reply.body);
        }
    }
}

/// The embedded model with a longer context, for the tools of agents. Scripted answers need no quality.
fn with_long_context() -> Vec<u8> {
    let mut model = std::fs::read(EMBER).expect("the model exists");
    let key = b".context_length";
    let end =
        model.windows(key.len()).position(|it| it == key).expect("it has the key") + key.len();
    // Between the key and its value is its type.
    model[end + 4..end + 8].copy_from_slice(&8192_u32.to_le_bytes());
    model
}

/// The text of an answer or a stream in any of the dialects.
fn text(reply: &Reply) -> String {
    if reply.header("content-type") != Some("text/event-stream") {
        let answer = reply.json();
        let places = ["/choices/0/message/content", "/content/0/text", "/output/0/content/0/text"];
        let text = places.iter().find_map(|place| answer.pointer(place)?.as_str());
        return text.unwrap_or_else(|| panic!("no text in {answer}")).to_owned();
    }
    let mut text = String::new();
    for event in reply.events().iter().filter(|event| event.data != "[DONE]") {
        let event: Value = serde_json::from_str(&event.data).expect("it is JSON");
        let delta = match event["type"].as_str() {
            Some("response.output_text.delta") => &event["delta"],
            Some(_) => &event["delta"]["text"],
            None => &event["choices"][0]["delta"]["content"],
        };
        text.push_str(delta.as_str().unwrap_or_default());
    }
    text
}

macro_rules! recordings {
    ($($name:ident: $tool:literal,)*) => {$(
        #[test]
        fn $name() {
            replay(include_str!(concat!("../fixtures/recorded/", stringify!($name), ".json")), $tool);
        }
    )*};
}

recordings! {
    aider: "none",
    ai_sdk: "read_file",
    anthropic_python: "read_file",
    anthropic_typescript: "read_file",
    claude: "Read",
    codex: "exec_command",
    opencode: "read",
    qwen: "read_file",
}
