//! Responses and their items.

use serde_json::{Value, json};

use super::store::Keeping;
use crate::chat::{Answer, FinishedChoice, ToolCall};
use crate::generation::StopCause;
use crate::openai::chat::now;
use crate::request::fresh_id;

/// What a response says of its request, and its id.
pub(super) struct Outline {
    fields: Value,
    /// Where it is to be kept.
    keeping: Option<Keeping>,
}

impl Outline {
    pub fn new(of_request: Value, keeping: Option<Keeping>) -> Self {
        let mut fields = json!({
            "id": fresh_id("resp_"),
            "object": "response",
            "created_at": now(),
            "status": "in_progress",
            "background": false,
            "error": null,
            "incomplete_details": null,
            "output": [],
            "usage": null,
        });
        if let (Value::Object(fields), Value::Object(of_request)) = (&mut fields, of_request) {
            fields.extend(of_request);
        }
        Self { fields, keeping }
    }

    /// The response before its end.
    pub fn in_progress(&self) -> &Value {
        &self.fields
    }

    /// The response at its end, from where it is kept if it is to be.
    pub fn ended(&mut self, output: &[Value], end: &FinishedChoice) -> Value {
        let mut response = self.fields.clone();
        response["status"] = json!(status(end));
        if end.finish.cause == StopCause::Length {
            response["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        response["output"] = json!(output);
        let finish = &end.finish;
        response["usage"] = json!({
            "input_tokens": finish.prompt_tokens,
            "input_tokens_details": {"cached_tokens": finish.cached_tokens},
            "output_tokens": finish.generated_tokens,
            "output_tokens_details": {"reasoning_tokens": end.reasoning_tokens},
            "total_tokens": finish.prompt_tokens + finish.generated_tokens,
        });
        if let Some(keeping) = self.keeping.take() {
            keeping.keep(&response);
        }
        response
    }

    /// The response that could not be ended.
    pub fn failed(&self, message: &str) -> Value {
        let mut response = self.fields.clone();
        response["status"] = json!("failed");
        response["error"] = json!({"code": "server_error", "message": message});
        response
    }
}

/// How a response ended.
pub(super) fn status(end: &FinishedChoice) -> &'static str {
    match end.finish.cause {
        StopCause::Length => "incomplete",
        _ => "completed",
    }
}

/// The items of a whole answer.
pub(super) fn items(answer: Answer, end: &FinishedChoice) -> Vec<Value> {
    let mut items = Vec::new();
    if !answer.reasoning.is_empty() {
        items.push(reasoning(&fresh_id("rs_"), &answer.reasoning, "completed"));
    }
    if !answer.content.is_empty() || (items.is_empty() && answer.calls.is_empty()) {
        items.push(message(&fresh_id("msg_"), Some(&answer.content), "completed"));
    }
    let calls = answer.calls.iter();
    items.extend(calls.map(|it| call(&fresh_id("fc_"), it, "completed")));
    // What was cut off is the last of them.
    if let Some(last) = items.last_mut() {
        last["status"] = json!(status(end));
    }
    items
}

/// What the model said to itself.
pub(super) fn reasoning(id: &str, text: &str, status: &str) -> Value {
    let content = json!([{"type": "reasoning_text", "text": text}]);
    json!({"id": id, "type": "reasoning", "summary": [], "content": content, "status": status})
}

/// What the model said; `None` where it is about to.
pub(super) fn message(id: &str, text: Option<&str>, status: &str) -> Value {
    let content: Vec<_> = text.map(output_text).into_iter().collect();
    json!({
        "id": id, "type": "message", "status": status, "role": "assistant", "content": content,
    })
}

/// The one part of a message.
pub(super) fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// A call of a function.
pub(super) fn call(id: &str, call: &ToolCall, status: &str) -> Value {
    json!({
        "id": id,
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    })
}
