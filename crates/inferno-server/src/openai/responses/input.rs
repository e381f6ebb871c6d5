//! The items of an input, in the shape that templates read.

use serde_json::{Value, json};

use crate::errors::ApiError;
use crate::openai::messages::{arguments_object, text};

/// The messages.
///
/// **Errors**: an item that is not honoured, by its place.
pub(super) fn messages(instructions: Option<&str>, input: &Value) -> Result<Vec<Value>, ApiError> {
    let mut messages = Vec::new();
    if let Some(instructions) = instructions {
        messages.push(json!({"role": "system", "content": instructions}));
    }
    match input {
        Value::String(text) => messages.push(json!({"role": "user", "content": text})),
        Value::Array(items) if !items.is_empty() => {
            let mut thoughts = None;
            for (index, item) in items.iter().enumerate() {
                read(item, &format!("input[{index}]"), &mut thoughts, &mut messages)?;
            }
        }
        _ => return Err(ApiError::invalid("input", "input must be a text or a list of items")),
    }
    Ok(messages)
}

/// Appends an item. Thoughts are kept for the message or the call that follows them.
fn read(
    item: &Value,
    path: &str,
    thoughts: &mut Option<String>,
    messages: &mut Vec<Value>,
) -> Result<(), ApiError> {
    let kind = item["type"].as_str();
    match kind {
        None | Some("message") => {
            let role = match item["role"].as_str() {
                Some("developer") => "system",
                Some(role @ ("system" | "user" | "assistant")) => role,
                _ => {
                    let param = format!("{path}.role");
                    let message = format!("{param} must be system, developer, user or assistant");
                    return Err(ApiError::invalid(param, message));
                }
            };
            let content = text(&item["content"], &format!("{path}.content"))?;
            let mut message = json!({"role": role, "content": content});
            if role == "assistant" {
                add_thoughts(&mut message, thoughts);
            }
            messages.push(message);
        }
        Some("function_call") => {
            let arguments = arguments_object(&field(item, "arguments", path)?, path)?;
            let call = json!({
                "id": field(item, "call_id", path)?,
                "type": "function",
                "function": {"name": field(item, "name", path)?, "arguments": arguments},
            });
            // Calls that were made together are one message.
            match messages.last_mut() {
                Some(last) if last["role"] == "assistant" => {
                    match last["tool_calls"].as_array_mut() {
                        Some(calls) => calls.push(call),
                        None => last["tool_calls"] = json!([call]),
                    }
                }
                _ => {
                    let mut message =
                        json!({"role": "assistant", "content": "", "tool_calls": [call]});
                    add_thoughts(&mut message, thoughts);
                    messages.push(message);
                }
            }
        }
        Some("function_call_output") => messages.push(json!({
            "role": "tool",
            "tool_call_id": field(item, "call_id", path)?,
            "content": text(&item["output"], &format!("{path}.output"))?,
        })),
        Some("reasoning") => {
            let parts = item["content"].as_array().or(item["summary"].as_array());
            let texts: Vec<_> =
                parts.into_iter().flatten().filter_map(|part| part["text"].as_str()).collect();
            *thoughts = Some(texts.join("\n"));
        }
        Some(kind) => {
            let why = format!("an item cannot be a {kind:?}");
            return Err(ApiError::unsupported(format!("{path}.type"), &why));
        }
    }
    Ok(())
}

fn add_thoughts(message: &mut Value, thoughts: &mut Option<String>) {
    if let Some(thoughts) = thoughts.take().filter(|thoughts| !thoughts.is_empty()) {
        message["reasoning_content"] = json!(thoughts);
    }
}

fn field(item: &Value, name: &str, path: &str) -> Result<String, ApiError> {
    item[name].as_str().map(str::to_owned).ok_or_else(|| {
        let param = format!("{path}.{name}");
        let message = format!("{param} must be a text");
        ApiError::invalid(param, message)
    })
}
