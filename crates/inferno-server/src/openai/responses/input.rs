//! Input items, converted to the format that chat templates expect.

use serde::Deserialize;
use serde_json::{Value, json};

use super::tools::{custom_arguments, model_name};
use crate::chat::call_arguments;
use crate::errors::ApiError;
use crate::fields::UnknownFields;
use crate::openai::messages::text;

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
    namespace: Option<String>,
    arguments: Value,
    id: Option<String>,
    status: Option<String>,
}

/// A call of a custom tool.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and statuses are accepted and ignored")]
struct CustomCallItem {
    call_id: String,
    name: String,
    namespace: Option<String>,
    input: String,
    id: Option<String>,
    status: Option<String>,
}

/// The output of a function or a custom tool.
#[derive(Deserialize)]
#[allow(dead_code, reason = "ids and statuses are accepted and ignored")]
struct FunctionOutputItem {
    call_id: String,
    name: Option<String>,
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
    unknown: &UnknownFields,
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
struct ItemReader<'u> {
    messages: Vec<Value>,
    /// Reasoning before the next message or call.
    reasoning: Option<String>,
    unknown: &'u UnknownFields,
}

impl ItemReader<'_> {
    fn read(&mut self, item: &Value, path: &str) -> Result<(), ApiError> {
        match item["type"].as_str() {
            None | Some("message") => self.message(self.unknown.read(item, path)?, path),
            Some("function_call") => {
                let item: CallItem = self.unknown.read(item, path)?;
                let arguments = call_arguments(Some(item.arguments), &format!("{path}.arguments"))?;
                self.call(
                    item.call_id,
                    &model_name(item.namespace.as_deref(), &item.name),
                    arguments,
                );
                Ok(())
            }
            Some("custom_tool_call") => {
                let item: CustomCallItem = self.unknown.read(item, path)?;
                let name = model_name(item.namespace.as_deref(), &item.name);
                self.call(item.call_id, &name, custom_arguments(&item.input));
                Ok(())
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                self.output(self.unknown.read(item, path)?, path)
            }
            Some("reasoning") => self.reasoning(self.unknown.read(item, path)?, path),
            // They record what another server did.
            Some(
                kind @ ("web_search_call" | "file_search_call" | "tool_search_call"
                | "tool_search_output"),
            ) => {
                self.unknown.report(&format!("input[{kind}]"));
                Ok(())
            }
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
            "assistant" => add_reasoning(&mut message, self.reasoning.take()),
            // Reasoning without an answer belongs to no other message.
            _ => self.reasoning = None,
        }
        self.messages.push(message);
        Ok(())
    }

    fn call(&mut self, id: String, name: &str, arguments: Value) {
        let function = json!({"name": name, "arguments": arguments});
        let call = json!({"id": id, "type": "function", "function": function});
        // Consecutive calls belong to one message.
        if self.messages.last().is_none_or(|last| last["role"] != "assistant") {
            self.messages.push(json!({"role": "assistant", "content": ""}));
        }
        let reasoning = self.reasoning.take();
        if let Some(message) = self.messages.last_mut() {
            match message["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call),
                None => message["tool_calls"] = json!([call]),
            }
            add_reasoning(message, reasoning);
        }
    }

    fn output(&mut self, item: FunctionOutputItem, path: &str) -> Result<(), ApiError> {
        // Reasoning without an answer belongs to no other message.
        self.reasoning = None;
        let content = text(&item.output, &format!("{path}.output"), self.unknown)?;
        let message = json!({"role": "tool", "tool_call_id": item.call_id, "content": content});
        self.messages.push(message);
        Ok(())
    }

    fn reasoning(&mut self, item: ReasoningItem, path: &str) -> Result<(), ApiError> {
        if item.encrypted_content.is_some_and(|content| !content.is_empty()) {
            // Only the server that encrypted it can read it.
            self.unknown.report(&format!("{path}.encrypted_content"));
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
}

/// Adds reasoning to what a message has of it.
fn add_reasoning(message: &mut Value, reasoning: Option<String>) {
    if let Some(reasoning) = reasoning.filter(|text| !text.is_empty()) {
        let before = message["reasoning_content"].as_str().map(|before| format!("{before}\n"));
        message["reasoning_content"] = json!(before.unwrap_or_default() + &reasoning);
    }
}
