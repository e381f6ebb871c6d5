//! Messages of OpenAI's requests, converted to the format that chat templates expect.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::chat::call_arguments;
use crate::errors::ApiError;
use crate::fields::UnknownFields;

/// A message of a conversation.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct MessageField {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    #[schema(pattern = "^(system|developer|user|assistant|tool)$")]
    role: String,
    /// A string, or an array of parts of type `text`.
    content: Option<Value>,
    /// Name of the participant, for templates that support it.
    name: Option<String>,
    /// Reasoning of an assistant message.
    reasoning_content: Option<String>,
    /// An alias of `reasoning_content`.
    reasoning: Option<String>,
    /// An alias of `reasoning_content`.
    thinking: Option<String>,
    /// Tool calls of an assistant message.
    tool_calls: Option<Vec<CallField>>,
    /// The tool call that a tool message answers.
    tool_call_id: Option<String>,
    /// Refusal of an assistant, instead of content.
    refusal: Option<String>,
    /// Ignored: annotations are not part of the prompt.
    #[allow(dead_code, reason = "accepted and ignored")]
    annotations: Option<Vec<Value>>,
    /// Only null is supported.
    audio: Option<Value>,
    /// Only null is supported; use tools.
    function_call: Option<Value>,
}

/// A content part of type `text`, `input_text` or `output_text`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextPart {
    text: String,
    /// Ignored: annotations are not part of the prompt.
    #[allow(dead_code, reason = "accepted and ignored")]
    annotations: Option<Vec<Value>>,
    /// Ignored.
    #[allow(dead_code, reason = "accepted and ignored")]
    logprobs: Option<Vec<Value>>,
    /// Accepted for compatibility; prompts are always cached.
    #[allow(dead_code, reason = "prompts are always cached")]
    prompt_cache_breakpoint: Option<Value>,
    /// Anthropic's name of `prompt_cache_breakpoint`, which some clients send.
    #[allow(dead_code, reason = "prompts are always cached")]
    cache_control: Option<Value>,
}

/// A content part of type `refusal`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct RefusalPart {
    refusal: String,
}

/// A tool call of an assistant message.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CallField {
    id: Option<String>,
    /// `function`.
    #[serde(rename = "type")]
    kind: Option<String>,
    function: CalledFunction,
    /// The index of the call in a stream, which clients send back.
    #[allow(dead_code, reason = "accepted and ignored")]
    index: Option<u32>,
}

/// The called function.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CalledFunction {
    name: String,
    /// A JSON object, or a string that contains one; empty without arguments.
    arguments: Option<Value>,
}

/// Converts messages to the format that chat templates expect: contents are strings, arguments are objects.
///
/// **Errors**: an invalid or unsupported field, by its path.
pub(crate) fn for_template(
    messages: Vec<MessageField>,
    unknown: &UnknownFields,
) -> Result<Vec<Value>, ApiError> {
    if messages.is_empty() {
        return Err(ApiError::invalid("messages", "there must be at least one message"));
    }
    let at = |index| format!("messages[{index}]");
    let messages = messages.into_iter().enumerate();
    messages.map(|(index, message)| one(message, &at(index), unknown)).collect()
}

fn one(message: MessageField, path: &str, unknown: &UnknownFields) -> Result<Value, ApiError> {
    let role = match message.role.as_str() {
        // Models are trained with "system" for OpenAI's developer role.
        "developer" => "system",
        "system" | "user" | "assistant" | "tool" => &message.role,
        role => {
            let param = format!("{path}.role");
            let message = format!(
                "{param} must be system, developer, user, assistant or tool, but is {role:?}"
            );
            return Err(ApiError::invalid(param, message));
        }
    };
    let why = "only text and tool calls are supported";
    ApiError::reject_given([
        (&format!("{path}.audio"), message.audio.is_some(), why),
        (&format!("{path}.function_call"), message.function_call.is_some(), why),
    ])?;

    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(role));
    let content = match (&message.content, message.refusal) {
        (Some(content), _) => Some(text(content, &format!("{path}.content"), unknown)?),
        (None, refusal) => refusal,
    };
    if content.is_none() && message.tool_calls.as_ref().is_none_or(Vec::is_empty) {
        return Err(ApiError::invalid(
            format!("{path}.content"),
            format!("{path}.content is missing"),
        ));
    }
    // Templates concatenate contents, also those of messages that only have tool calls.
    fields.insert("content".to_owned(), json!(content.unwrap_or_default()));
    let reasoning = message.reasoning_content.or(message.reasoning).or(message.thinking);
    let texts = [
        ("name", message.name),
        ("reasoning_content", reasoning),
        ("tool_call_id", message.tool_call_id),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    if let Some(calls) = message.tool_calls.filter(|calls| !calls.is_empty()) {
        let at = |index| format!("{path}.tool_calls[{index}]");
        let calls: Result<Vec<_>, _> =
            calls.into_iter().enumerate().map(|(index, it)| call(it, &at(index))).collect();
        fields.insert("tool_calls".to_owned(), Value::Array(calls?));
    }
    Ok(Value::Object(fields))
}

fn call(call: CallField, path: &str) -> Result<Value, ApiError> {
    if call.kind.is_some_and(|kind| kind != "function") {
        return Err(ApiError::unsupported(
            format!("{path}.type"),
            "only function calls are supported",
        ));
    }
    let CalledFunction { name, arguments } = call.function;
    let arguments = call_arguments(arguments, &format!("{path}.function.arguments"))?;
    let function = json!({"name": name, "arguments": arguments});
    Ok(match call.id {
        Some(id) => json!({"id": id, "type": "function", "function": function}),
        None => json!({"type": "function", "function": function}),
    })
}

/// The text of a content: a string, or the lines of its parts.
///
/// **Errors**: images and other parts that are not text, by their path.
pub(crate) fn text(
    content: &Value,
    path: &str,
    unknown: &UnknownFields,
) -> Result<String, ApiError> {
    const EXPECTED: &str = "must be a string or an array of parts";
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let texts: Result<Vec<_>, _> = parts
                .iter()
                .enumerate()
                .map(|(index, part)| part_text(part, &format!("{path}[{index}]"), unknown))
                .collect();
            Ok(texts?.join("\n"))
        }
        _ => Err(ApiError::invalid(path, format!("{path} {EXPECTED}"))),
    }
}

fn part_text(part: &Value, path: &str, unknown: &UnknownFields) -> Result<String, ApiError> {
    match part["type"].as_str() {
        Some("text" | "input_text" | "output_text") => {
            let TextPart { text, .. } = unknown.read(part, path)?;
            Ok(text)
        }
        Some("refusal") => Ok(unknown.read::<RefusalPart>(part, path)?.refusal),
        Some(kind) => {
            let why = format!("parts must be of type text, but this one is {kind:?}");
            Err(ApiError::unsupported(format!("{path}.type"), &why))
        }
        None => Err(ApiError::invalid(format!("{path}.type"), format!("{path}.type is missing"))),
    }
}
