//! Input items, converted to the format that chat templates expect.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::ApiError;
use crate::openai::messages::{arguments_object, text};
use crate::request::UnknownFields;

/// A message. Ids and statuses are accepted as clients send them back.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and statuses are accepted and ignored")]
struct MessageItem {
    role: String,
    content: Value,
    id: Option<String>,
    status: Option<String>,
    phase: Option<String>,
}

/// A function call.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and statuses are accepted and ignored")]
struct CallItem {
    call_id: String,
    name: String,
    arguments: String,
    id: Option<String>,
    status: Option<String>,
}

/// The output of a function.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and statuses are accepted and ignored")]
struct FunctionOutputItem {
    call_id: String,
    output: Value,
    id: Option<String>,
    status: Option<String>,
}

/// Reasoning of the model.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and statuses are accepted and ignored")]
struct ReasoningItem {
    content: Option<Vec<Value>>,
    summary: Option<Vec<Value>>,
    encrypted_content: Option<String>,
    id: Option<String>,
    status: Option<String>,
}

/// A part of the reasoning.
#[derive(Deserialize)]
struct ReasoningPart {
    text: String,
}

/// The messages of the `earlier` items, followed by those of the input.
///
/// **Errors**: an invalid or unsupported item, by its path.
pub(super) fn messages(
    instructions: Option<&str>,
    earlier: &[Value],
    input: &Value,
    unknown: UnknownFields,
) -> Result<Vec<Value>, ApiError> {
    let mut conversation = ItemReader { messages: Vec::new(), reasoning: None, unknown };
    if let Some(instructions) = instructions {
        conversation.messages.push(json!({"role": "system", "content": instructions}));
    }
    for item in earlier {
        conversation.read(item, "previous_response_id")?;
    }
    match input {
        Value::String(text) => {
            conversation.reasoning = None;
            conversation.messages.push(json!({"role": "user", "content": text}));
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                conversation.read(item, &format!("input[{index}]"))?;
            }
        }
        _ => {
            return Err(ApiError::invalid(
                "input",
                "input must be a string or a non-empty array of items",
            ));
        }
    }
    Ok(conversation.messages)
}

/// Converts items to messages.
struct ItemReader {
    messages: Vec<Value>,
    /// Reasoning before the next message or call.
    reasoning: Option<String>,
    unknown: UnknownFields,
}

impl ItemReader {
    fn read(&mut self, item: &Value, path: &str) -> Result<(), ApiError> {
        match item["type"].as_str() {
            None | Some("message") => self.message(self.unknown.read(item, path)?, path),
            Some("function_call") => self.call(self.unknown.read(item, path)?, path),
            Some("function_call_output") => self.output(self.unknown.read(item, path)?, path),
            Some("reasoning") => self.reasoning(self.unknown.read(item, path)?, path),
            Some(kind) => {
                let why = format!("items of type {kind:?} are not supported");
                Err(ApiError::unsupported(format!("{path}.type"), &why))
            }
        }
    }

    fn message(&mut self, item: MessageItem, path: &str) -> Result<(), ApiError> {
        let role = match item.role.as_str() {
            "developer" => "system",
            role @ ("system" | "user" | "assistant") => role,
            role => {
                let param = format!("{path}.role");
                let message = format!(
                    "{param} must be system, developer, user or assistant, but is {role:?}"
                );
                return Err(ApiError::invalid(param, message));
            }
        };
        let content = text(&item.content, &format!("{path}.content"), self.unknown)?;
        let mut message = json!({"role": role, "content": content});
        match role {
            "assistant" => self.add_reasoning(&mut message),
            // Reasoning without an answer belongs to no other message.
            _ => self.reasoning = None,
        }
        self.messages.push(message);
        Ok(())
    }

    fn call(&mut self, item: CallItem, path: &str) -> Result<(), ApiError> {
        let arguments = arguments_object(&item.arguments, &format!("{path}.arguments"))?;
        let call = json!({
            "id": item.call_id,
            "type": "function",
            "function": {"name": item.name, "arguments": arguments},
        });
        // Consecutive calls belong to one message.
        match self.messages.last_mut() {
            Some(last) if last["role"] == "assistant" => match last["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call),
                None => last["tool_calls"] = json!([call]),
            },
            _ => {
                let mut message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
                self.add_reasoning(&mut message);
                self.messages.push(message);
            }
        }
        Ok(())
    }

    fn output(&mut self, item: FunctionOutputItem, path: &str) -> Result<(), ApiError> {
        let content = text(&item.output, &format!("{path}.output"), self.unknown)?;
        let message = json!({"role": "tool", "tool_call_id": item.call_id, "content": content});
        self.messages.push(message);
        Ok(())
    }

    fn reasoning(&mut self, item: ReasoningItem, path: &str) -> Result<(), ApiError> {
        if item.encrypted_content.is_some() {
            let why = "this server cannot decrypt it";
            return Err(ApiError::unsupported(format!("{path}.encrypted_content"), why));
        }
        let (name, parts) = match (item.content, item.summary) {
            (Some(parts), _) => ("content", parts),
            (None, summary) => ("summary", summary.unwrap_or_default()),
        };
        let parts = parts.iter().enumerate().map(|(index, part)| {
            let part: ReasoningPart =
                self.unknown.read(part, &format!("{path}.{name}[{index}]"))?;
            Ok(part.text)
        });
        self.reasoning = Some(parts.collect::<Result<Vec<_>, ApiError>>()?.join("\n"));
        Ok(())
    }

    fn add_reasoning(&mut self, message: &mut Value) {
        if let Some(reasoning) = self.reasoning.take().filter(|text| !text.is_empty()) {
            message["reasoning_content"] = json!(reasoning);
        }
    }
}
