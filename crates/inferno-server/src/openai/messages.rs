//! Messages, as OpenAI's requests have them, in the shape that templates read.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::request::UnknownFields;

/// A message of a conversation.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct MessageField {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    #[schema(pattern = "^(system|developer|user|assistant|tool)$")]
    role: String,
    /// A text, or a list of parts of type `text`.
    content: Option<Value>,
    /// Who speaks, for templates that tell it.
    name: Option<String>,
    /// What an assistant said to itself before.
    reasoning_content: Option<String>,
    /// As `reasoning_content`, by the name that some servers give it.
    reasoning: Option<String>,
    /// Calls that an assistant made.
    tool_calls: Option<Vec<CallField>>,
    /// The call that a tool answers.
    tool_call_id: Option<String>,
    /// Why an assistant refused, in place of its content.
    refusal: Option<String>,
    /// Taken back as it was given: empty.
    annotations: Option<Vec<Value>>,
    /// Null.
    audio: Option<Value>,
    /// Null; tools have taken its place.
    function_call: Option<Value>,
}

/// A part of a content, of type `text`, `input_text` or `output_text`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextPart {
    text: String,
    /// Taken back as it was given: empty.
    annotations: Option<Vec<Value>>,
    /// Taken back as it was given, and not read.
    #[allow(dead_code, reason = "taken, and of no consequence")]
    logprobs: Option<Vec<Value>>,
    /// What was read before is always looked for.
    #[allow(dead_code, reason = "prompts are always cached")]
    prompt_cache_breakpoint: Option<Value>,
    /// Anthropic's name of that, which some clients send here too.
    #[allow(dead_code, reason = "prompts are always cached")]
    cache_control: Option<Value>,
}

/// A part of a content, of type `refusal`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct RefusalPart {
    refusal: String,
}

/// A call that an assistant made.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CallField {
    id: Option<String>,
    /// `function`.
    #[serde(rename = "type")]
    kind: Option<String>,
    function: CalledFunction,
    /// The call's place in a stream, which clients send back.
    #[allow(dead_code, reason = "taken, and of no consequence")]
    index: Option<u32>,
}

/// The function that was called.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CalledFunction {
    name: String,
    /// A JSON object, as text.
    arguments: String,
}

/// The messages in the shape that templates read: contents are texts, arguments are objects.
///
/// **Errors**: what no template could read, by its place.
pub(crate) fn for_template(
    messages: Vec<MessageField>,
    unknown: UnknownFields,
) -> Result<Vec<Value>, ApiError> {
    if messages.is_empty() {
        return Err(ApiError::invalid("messages", "there must be at least one message"));
    }
    let at = |index| format!("messages[{index}]");
    let messages = messages.into_iter().enumerate();
    messages.map(|(index, message)| one(message, &at(index), unknown)).collect()
}

fn one(message: MessageField, path: &str, unknown: UnknownFields) -> Result<Value, ApiError> {
    let role = match message.role.as_str() {
        // What OpenAI calls a developer, models were trained to call system.
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
    let why = "texts and tool calls are";
    let is_annotated = message.annotations.is_some_and(|list| !list.is_empty());
    ApiError::refuse_given([
        (&format!("{path}.annotations"), is_annotated, why),
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
    // Templates add contents to texts, also those of messages that only call.
    fields.insert("content".to_owned(), json!(content.unwrap_or_default()));
    let texts = [
        ("name", message.name),
        ("reasoning_content", message.reasoning_content.or(message.reasoning)),
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
        return Err(ApiError::unsupported(format!("{path}.type"), "only calls of functions are"));
    }
    let CalledFunction { name, arguments } = call.function;
    let arguments = arguments_object(&arguments, &format!("{path}.function.arguments"))?;
    let function = json!({"name": name, "arguments": arguments});
    Ok(match call.id {
        Some(id) => json!({"id": id, "type": "function", "function": function}),
        None => json!({"type": "function", "function": function}),
    })
}

/// Arguments as templates read them.
///
/// **Errors**: a text that is no JSON object.
pub(super) fn arguments_object(arguments: &str, path: &str) -> Result<Value, ApiError> {
    let blank = arguments.trim().is_empty();
    match serde_json::from_str(if blank { "{}" } else { arguments }) {
        Ok(object @ Value::Object(_)) => Ok(object),
        _ => Err(ApiError::invalid(path, format!("{path} must be the text of a JSON object"))),
    }
}

/// The text of a content: itself, or its parts, a line each.
///
/// **Errors**: images and other parts that are no text, by their place.
pub(crate) fn text(
    content: &Value,
    path: &str,
    unknown: UnknownFields,
) -> Result<String, ApiError> {
    const EXPECTED: &str = "must be a text or a list of parts";
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

fn part_text(part: &Value, path: &str, unknown: UnknownFields) -> Result<String, ApiError> {
    match part["type"].as_str() {
        Some("text" | "input_text" | "output_text") => {
            let TextPart { text, annotations, .. } = unknown.read(part, path)?;
            if annotations.is_some_and(|list| !list.is_empty()) {
                let why = "a text is read without them";
                return Err(ApiError::unsupported(format!("{path}.annotations"), why));
            }
            Ok(text)
        }
        Some("refusal") => Ok(unknown.read::<RefusalPart>(part, path)?.refusal),
        Some(kind) => {
            let why = format!("parts must be text, but this one is {kind:?}");
            Err(ApiError::unsupported(format!("{path}.type"), &why))
        }
        None => Err(ApiError::invalid(format!("{path}.type"), format!("{path}.type is missing"))),
    }
}
