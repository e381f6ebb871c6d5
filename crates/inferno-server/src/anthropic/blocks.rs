//! Content blocks of Anthropic's messages.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::chat::call_arguments;
use crate::errors::ApiError;
use crate::fields::UnknownFields;

/// A block of type `text`.
#[derive(Debug, Clone, Deserialize)]
struct TextBlock {
    text: String,
    #[allow(dead_code, reason = "citations are not part of the prompt")]
    citations: Option<Vec<Value>>,
    #[allow(dead_code, reason = "prompts are always cached")]
    cache_control: Option<Value>,
}

/// A block of type `document`.
#[derive(Debug, Clone, Deserialize)]
struct DocumentBlock {
    source: Value,
    title: Option<String>,
    context: Option<String>,
    #[allow(dead_code, reason = "answers have no citations")]
    citations: Option<Value>,
    #[allow(dead_code, reason = "prompts are always cached")]
    cache_control: Option<Value>,
}

/// The source of a document: text.
#[derive(Debug, Clone, Deserialize)]
struct TextSource {
    data: String,
    #[allow(dead_code, reason = "it is always text/plain")]
    media_type: Option<String>,
}

/// The source of a document: a string, or blocks.
#[derive(Debug, Clone, Deserialize)]
struct ContentSource {
    content: Value,
}

/// A block of type `thinking`.
#[derive(Debug, Clone, Deserialize)]
struct ThinkingBlock {
    thinking: String,
    #[allow(dead_code, reason = "signatures are not checked")]
    signature: Option<String>,
}

/// A block of type `tool_use`.
#[derive(Debug, Clone, Deserialize)]
struct ToolUseBlock {
    id: String,
    name: String,
    input: Option<Value>,
    #[allow(dead_code, reason = "prompts are always cached")]
    cache_control: Option<Value>,
}

/// A block of type `tool_result`.
#[derive(Debug, Clone, Deserialize)]
struct ToolResultBlock {
    tool_use_id: String,
    content: Option<Value>,
    is_error: Option<bool>,
    #[allow(dead_code, reason = "prompts are always cached")]
    cache_control: Option<Value>,
}

/// The blocks of one message, by what templates make of them.
#[derive(Default)]
pub(super) struct BlockContent {
    texts: Vec<String>,
    thoughts: Vec<String>,
    calls: Vec<Value>,
}

impl BlockContent {
    /// Reads a block. The result of a tool is appended to `messages`, as it becomes a message of its own.
    ///
    /// **Errors**: a block that the role cannot have, or that is malformed.
    pub fn read(
        &mut self,
        block: &Value,
        role: &str,
        path: &str,
        unknown: &UnknownFields,
        messages: &mut Vec<Value>,
    ) -> Result<(), ApiError> {
        match (block["type"].as_str().unwrap_or_default(), role == "assistant") {
            ("text", _) => self.texts.push(block_text(block, path, unknown)?),
            ("document", false) => self.texts.push(document_text(block, path, unknown)?),
            // It is readable only for the server that encrypted it.
            ("redacted_thinking", true) => unknown.report(&format!("{path}[redacted_thinking]")),
            ("thinking", true) => {
                self.thoughts.push(unknown.read::<ThinkingBlock>(block, path)?.thinking);
            }
            ("tool_use", true) => {
                let ToolUseBlock { id, name, input, .. } = unknown.read(block, path)?;
                let input = call_arguments(input, &format!("{path}.input"))?;
                let function = json!({"name": name, "arguments": input});
                self.calls.push(json!({"id": id, "type": "function", "function": function}));
            }
            ("tool_result", false) => messages.push(tool_result(block, path, unknown)?),
            (kind, _) => {
                let why = format!("a message with role {role} cannot contain {kind:?} blocks");
                return Err(ApiError::unsupported(format!("{path}.type"), &why));
            }
        }
        Ok(())
    }

    /// The message in the format of templates; `None` for one that consisted of results of tools.
    pub fn message(self, role: &str, has_blocks: bool) -> Option<Value> {
        let Self { texts, thoughts, calls } = self;
        if has_blocks && texts.is_empty() && calls.is_empty() && thoughts.is_empty() {
            return None;
        }
        let mut message = json!({"role": role, "content": texts.join("\n")});
        if !thoughts.is_empty() {
            message["reasoning_content"] = json!(thoughts.join("\n"));
        }
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        Some(message)
    }
}

/// The result of a tool.
fn tool_result(block: &Value, path: &str, unknown: &UnknownFields) -> Result<Value, ApiError> {
    let ToolResultBlock { tool_use_id, content, is_error, .. } = unknown.read(block, path)?;
    let content = match content {
        None => String::new(),
        Some(content) => text(&content, &format!("{path}.content"), unknown)?,
    };
    let content = match is_error {
        Some(true) => format!("Error: {content}"),
        _ => content,
    };
    Ok(json!({"role": "tool", "tool_call_id": tool_use_id, "content": content}))
}

/// A string, or the lines of text blocks.
///
/// **Errors**: other values and blocks.
pub(super) fn text(
    content: &Value,
    path: &str,
    unknown: &UnknownFields,
) -> Result<String, ApiError> {
    let blocks = match content {
        Value::String(text) => return Ok(text.clone()),
        Value::Array(blocks) => blocks,
        _ => {
            return Err(ApiError::invalid(
                path,
                format!("{path} must be a string or an array of blocks"),
            ));
        }
    };
    let texts: Result<Vec<_>, _> = blocks
        .iter()
        .enumerate()
        .map(|(index, block)| {
            let path = format!("{path}.{index}");
            match block["type"].as_str() {
                Some("text") => block_text(block, &path, unknown),
                Some("document") => document_text(block, &path, unknown),
                _ => Err(ApiError::unsupported(
                    format!("{path}.type"),
                    "only text and documents of text are supported",
                )),
            }
        })
        .collect();
    Ok(texts?.join("\n"))
}

fn block_text(block: &Value, path: &str, unknown: &UnknownFields) -> Result<String, ApiError> {
    let TextBlock { text, .. } = unknown.read(block, path)?;
    Ok(text)
}

/// The title and the text of a document.
///
/// **Errors**: a document that is not text.
fn document_text(block: &Value, path: &str, unknown: &UnknownFields) -> Result<String, ApiError> {
    let DocumentBlock { source, title, context, .. } = unknown.read(block, path)?;
    let path = format!("{path}.source");
    let content = match source["type"].as_str() {
        Some("text") => unknown.read::<TextSource>(&source, &path)?.data,
        Some("content") => {
            let source: ContentSource = unknown.read(&source, &path)?;
            text(&source.content, &format!("{path}.content"), unknown)?
        }
        _ => {
            let why = "documents must be of type text or content";
            return Err(ApiError::unsupported(format!("{path}.type"), why));
        }
    };
    Ok([title, context, Some(content)].into_iter().flatten().collect::<Vec<_>>().join("\n"))
}
