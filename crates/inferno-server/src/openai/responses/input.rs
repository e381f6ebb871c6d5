//! The items of an input, in the shape that templates read.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::ApiError;
use crate::openai::messages::{arguments_object, text};
use crate::request::UnknownFields;

/// A message. Ids and how it ended are taken back as they were given.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and endings are taken, and of no consequence")]
struct MessageItem {
    role: String,
    content: Value,
    id: Option<String>,
    status: Option<String>,
    phase: Option<String>,
}

/// A call of a function.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and endings are taken, and of no consequence")]
struct CallItem {
    call_id: String,
    name: String,
    arguments: String,
    id: Option<String>,
    status: Option<String>,
}

/// What a function gave.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and endings are taken, and of no consequence")]
struct OutputItem {
    call_id: String,
    output: Value,
    id: Option<String>,
    status: Option<String>,
}

/// What the model said to itself.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and endings are taken, and of no consequence")]
struct ReasoningItem {
    content: Option<Vec<Value>>,
    summary: Option<Vec<Value>>,
    encrypted_content: Option<String>,
    id: Option<String>,
    status: Option<String>,
}

/// A part of what the model said to itself.
#[derive(Deserialize)]
struct ReasoningPart {
    text: String,
}

/// The messages, those of `earlier` items before those of the input.
///
/// **Errors**: an item that is not honoured, by its place.
pub(super) fn messages(
    instructions: Option<&str>,
    earlier: &[Value],
    input: &Value,
    unknown: UnknownFields,
) -> Result<Vec<Value>, ApiError> {
    let mut conversation = Conversation { messages: Vec::new(), thoughts: None, unknown };
    if let Some(instructions) = instructions {
        conversation.messages.push(json!({"role": "system", "content": instructions}));
    }
    for item in earlier {
        conversation.read(item, "previous_response_id")?;
    }
    match input {
        Value::String(text) => {
            conversation.thoughts = None;
            conversation.messages.push(json!({"role": "user", "content": text}));
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                conversation.read(item, &format!("input[{index}]"))?;
            }
        }
        _ => return Err(ApiError::invalid("input", "input must be a text or a list of items")),
    }
    Ok(conversation.messages)
}

/// What was read so far.
struct Conversation {
    messages: Vec<Value>,
    /// Those of the message or the call that comes next.
    thoughts: Option<String>,
    unknown: UnknownFields,
}

impl Conversation {
    fn read(&mut self, item: &Value, path: &str) -> Result<(), ApiError> {
        match item["type"].as_str() {
            None | Some("message") => self.message(self.unknown.read(item, path)?, path),
            Some("function_call") => self.call(self.unknown.read(item, path)?, path),
            Some("function_call_output") => self.output(self.unknown.read(item, path)?, path),
            Some("reasoning") => self.reasoning(self.unknown.read(item, path)?, path),
            Some(kind) => {
                let why = format!("an item cannot be a {kind:?}");
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
            "assistant" => self.add_thoughts(&mut message),
            // Thoughts that came to nothing are nobody else's.
            _ => self.thoughts = None,
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
        // Calls that were made together are one message.
        match self.messages.last_mut() {
            Some(last) if last["role"] == "assistant" => match last["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call),
                None => last["tool_calls"] = json!([call]),
            },
            _ => {
                let mut message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
                self.add_thoughts(&mut message);
                self.messages.push(message);
            }
        }
        Ok(())
    }

    fn output(&mut self, item: OutputItem, path: &str) -> Result<(), ApiError> {
        let content = text(&item.output, &format!("{path}.output"), self.unknown)?;
        let message = json!({"role": "tool", "tool_call_id": item.call_id, "content": content});
        self.messages.push(message);
        Ok(())
    }

    fn reasoning(&mut self, item: ReasoningItem, path: &str) -> Result<(), ApiError> {
        if item.encrypted_content.is_some() {
            let why = "what another server wrote for itself cannot be read here";
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
        self.thoughts = Some(parts.collect::<Result<Vec<_>, ApiError>>()?.join("\n"));
        Ok(())
    }

    fn add_thoughts(&mut self, message: &mut Value) {
        if let Some(thoughts) = self.thoughts.take().filter(|thoughts| !thoughts.is_empty()) {
            message["reasoning_content"] = json!(thoughts);
        }
    }
}
