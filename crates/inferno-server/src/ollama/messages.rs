//! Messages of Ollama's requests, converted to the format that chat templates expect.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::chat::call_arguments;
use crate::errors::ApiError;

/// A message of a conversation.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaMessage {
    /// `system`, `user`, `assistant` or `tool`.
    #[schema(pattern = "^(system|user|assistant|tool)$")]
    role: String,
    content: Option<String>,
    /// Reasoning of an assistant message.
    thinking: Option<String>,
    /// Only an empty array is supported.
    images: Option<Vec<Value>>,
    /// Tool calls of an assistant message.
    tool_calls: Option<Vec<OllamaCall>>,
    /// Name of the tool that a tool message is the result of.
    tool_name: Option<String>,
    /// The tool call that a tool message answers.
    tool_call_id: Option<String>,
}

/// A tool call of an assistant message.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaCall {
    id: Option<String>,
    /// `function`; ignored.
    #[allow(dead_code, reason = "accepted and ignored")]
    #[serde(rename = "type")]
    kind: Option<String>,
    function: OllamaFunction,
}

/// The called function.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaFunction {
    name: String,
    /// A JSON object, or a string that contains one; empty without arguments.
    arguments: Option<Value>,
    /// Index of the call; ignored.
    #[allow(dead_code, reason = "accepted and ignored")]
    index: Option<usize>,
}

/// Rejects images.
pub(super) fn reject_images(images: Option<&Vec<Value>>, path: &str) -> Result<(), ApiError> {
    match images {
        Some(images) if !images.is_empty() => {
            Err(ApiError::unsupported(path, "this model reads text only"))
        }
        _ => Ok(()),
    }
}

/// Converts messages to the format that chat templates expect.
///
/// **Errors**: an unknown role, images, arguments that are not an object.
pub(super) fn for_template(messages: Vec<OllamaMessage>) -> Result<Vec<Value>, ApiError> {
    let messages = messages.into_iter().enumerate();
    messages.map(|(index, message)| one(message, &format!("messages[{index}]"))).collect()
}

fn one(message: OllamaMessage, path: &str) -> Result<Value, ApiError> {
    let role = message.role.as_str();
    if !matches!(role, "system" | "user" | "assistant" | "tool") {
        let param = format!("{path}.role");
        let message = format!("{param} must be system, user, assistant or tool, but is {role:?}");
        return Err(ApiError::invalid(param, message));
    }
    reject_images(message.images.as_ref(), &format!("{path}.images"))?;
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(role));
    // Templates concatenate contents, also those of messages that only have tool calls.
    fields.insert("content".to_owned(), json!(message.content.unwrap_or_default()));
    let texts = [
        ("reasoning_content", message.thinking),
        ("name", message.tool_name),
        ("tool_call_id", message.tool_call_id),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    if let Some(calls) = message.tool_calls.filter(|calls| !calls.is_empty()) {
        let at = |index| format!("{path}.tool_calls[{index}].function.arguments");
        let calls: Result<Vec<_>, _> =
            calls.into_iter().enumerate().map(|(index, it)| call(it, &at(index))).collect();
        fields.insert("tool_calls".to_owned(), Value::Array(calls?));
    }
    Ok(Value::Object(fields))
}

fn call(call: OllamaCall, path: &str) -> Result<Value, ApiError> {
    let OllamaFunction { name, arguments, .. } = call.function;
    let arguments = call_arguments(arguments, path)?;
    let function = json!({"name": name, "arguments": arguments});
    Ok(match call.id {
        Some(id) => json!({"id": id, "type": "function", "function": function}),
        None => json!({"type": "function", "function": function}),
    })
}
