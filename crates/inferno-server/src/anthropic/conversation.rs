//! A conversation in Anthropic's blocks, in the shape that templates read.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::chat::{Tool, ToolChoice, Tools};
use crate::errors::ApiError;
use crate::openai::tools::checked;

/// The fields that messages and the counting of their tokens share.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ConversationFields {
    /// The model's name.
    pub model: Option<String>,
    /// The conversation, oldest message first. Where the last one is the assistant's, it goes on.
    #[schema(min_items = 1)]
    messages: Vec<MessageField>,
    /// What the model is told before the first message: a text, or a list of blocks of type `text`.
    system: Option<Value>,
    /// Tools that the model may call.
    tools: Option<Vec<ToolField>>,
    tool_choice: Option<ToolChoiceField>,
    thinking: Option<ThinkingField>,
}

/// A message.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct MessageField {
    /// `user` or `assistant`.
    role: String,
    /// A text, or a list of blocks of type `text`, `thinking`, `tool_use` or `tool_result`.
    content: Value,
}

/// A tool.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ToolField {
    /// `custom`, the one kind there is.
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    description: Option<String>,
    /// A JSON schema.
    input_schema: Option<Map<String, Value>>,
    /// What was read before is always looked for.
    #[allow(dead_code, reason = "prompts are always cached")]
    cache_control: Option<Value>,
    /// Inputs are held to their schema whether or not this is set.
    #[allow(dead_code, reason = "inputs are always held to their schema")]
    strict: Option<bool>,
}

/// Whether tools are called.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ToolChoiceField {
    /// `auto`, `any`, `tool` or `none`.
    #[serde(rename = "type")]
    kind: String,
    /// With `tool`: its name.
    name: Option<String>,
    /// At most one call.
    disable_parallel_tool_use: Option<bool>,
}

/// Whether the model thinks first.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ThinkingField {
    /// `enabled`, `adaptive` or `disabled`.
    #[serde(rename = "type")]
    kind: String,
    /// With `enabled`: tokens after which thinking is ended.
    budget_tokens: Option<usize>,
}

/// A conversation in the shape that templates read.
pub(super) struct Conversation {
    pub messages: Vec<Value>,
    pub tools: Tools,
    pub variables: Map<String, Value>,
    /// Tokens of thoughts, at most.
    pub thinking_budget: Option<usize>,
    /// Whether the last message is the assistant's, and goes on.
    pub goes_on: bool,
}

impl ConversationFields {
    /// **Errors**: a block or a tool that is not honoured, by its place.
    pub fn read(self) -> Result<Conversation, ApiError> {
        let mut messages = Vec::new();
        if let Some(system) = &self.system {
            messages.push(json!({"role": "system", "content": text(system, "system")?}));
        }
        if self.messages.is_empty() {
            return Err(ApiError::invalid("messages", "there must be at least one message"));
        }
        let goes_on = self.messages.last().is_some_and(|message| message.role == "assistant");
        for (index, message) in self.messages.iter().enumerate() {
            message.read(&format!("messages.{index}"), &mut messages)?;
        }
        let mut variables = Map::new();
        let mut thinking_budget = None;
        if let Some(thinking) = self.thinking {
            thinking_budget = thinking.budget()?;
            variables.insert("enable_thinking".to_owned(), json!(thinking.kind != "disabled"));
        }
        Ok(Conversation {
            messages,
            tools: tools(self.tools, self.tool_choice)?,
            variables,
            thinking_budget,
            goes_on,
        })
    }
}

impl ThinkingField {
    /// Tokens of thoughts, at most.
    ///
    /// **Errors**: another kind of thinking, a budget that does not go with it.
    fn budget(&self) -> Result<Option<usize>, ApiError> {
        const FIELD: &str = "thinking.budget_tokens";
        match (self.kind.as_str(), self.budget_tokens) {
            ("enabled", Some(0)) => {
                Err(ApiError::invalid(FIELD, format!("{FIELD} must be 1 or more")))
            }
            ("enabled", Some(budget)) => Ok(Some(budget)),
            ("enabled", None) => Err(ApiError::invalid(FIELD, format!("{FIELD} is missing"))),
            ("adaptive" | "disabled", None) => Ok(None),
            ("adaptive" | "disabled", Some(_)) => {
                Err(ApiError::invalid(FIELD, format!("{FIELD} goes with type \"enabled\"")))
            }
            (kind, _) => {
                let message =
                    format!("thinking.type must be enabled, adaptive or disabled, but is {kind:?}");
                Err(ApiError::invalid("thinking.type", message))
            }
        }
    }
}

fn tools(list: Option<Vec<ToolField>>, choice: Option<ToolChoiceField>) -> Result<Tools, ApiError> {
    let mut tools = Tools::default();
    for (index, tool) in list.unwrap_or_default().into_iter().enumerate() {
        if tool.kind.as_deref().is_some_and(|kind| kind != "custom") {
            return Err(ApiError::unsupported(
                format!("tools.{index}.type"),
                "only custom tools are",
            ));
        }
        let schema = tool.input_schema.map_or_else(|| json!({"type": "object"}), Value::Object);
        tools.list.push(Tool {
            name: tool.name,
            description: tool.description,
            parameters: schema,
        });
    }
    if let Some(choice) = choice {
        tools.single = choice.disable_parallel_tool_use == Some(true);
        tools.choice = match (choice.kind.as_str(), choice.name) {
            ("auto", None) => ToolChoice::Auto,
            ("any", None) => ToolChoice::Required,
            ("none", None) => ToolChoice::None,
            ("tool", Some(name)) => ToolChoice::Named(name),
            ("tool", None) => {
                return Err(ApiError::invalid("tool_choice.name", "tool_choice.name is missing"));
            }
            ("auto" | "any" | "none", Some(_)) => {
                let message = "a name goes with type \"tool\"";
                return Err(ApiError::invalid("tool_choice.name", message));
            }
            (kind, _) => {
                let message =
                    format!("tool_choice.type must be auto, any, tool or none, but is {kind:?}");
                return Err(ApiError::invalid("tool_choice.type", message));
            }
        };
    }
    checked(tools)
}

impl MessageField {
    /// Appends what the message is for templates: results of tools are messages of their own.
    fn read(&self, path: &str, messages: &mut Vec<Value>) -> Result<(), ApiError> {
        let is_assistant = match self.role.as_str() {
            "user" => false,
            "assistant" => true,
            role => {
                let param = format!("{path}.role");
                let message = format!("{param} must be user or assistant, but is {role:?}");
                return Err(ApiError::invalid(param, message));
            }
        };
        let blocks = match &self.content {
            Value::String(text) => {
                messages.push(json!({"role": self.role, "content": text}));
                return Ok(());
            }
            Value::Array(blocks) => blocks,
            _ => {
                let param = format!("{path}.content");
                let message = format!("{param} must be a text or a list of blocks");
                return Err(ApiError::invalid(param, message));
            }
        };
        let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for (index, block) in blocks.iter().enumerate() {
            let path = format!("{path}.content.{index}");
            match (block["type"].as_str().unwrap_or_default(), is_assistant) {
                ("text", _) => texts.push(field(block, "text", &path)?),
                ("thinking", true) => thoughts.push(field(block, "thinking", &path)?),
                ("tool_use", true) => calls.push(json!({
                    "id": field(block, "id", &path)?,
                    "type": "function",
                    "function": {"name": field(block, "name", &path)?, "arguments": block["input"]},
                })),
                ("tool_result", false) => messages.push(tool_result(block, &path)?),
                (kind, _) => {
                    let why = format!("{kind:?} is no block that a {} may send here", self.role);
                    return Err(ApiError::unsupported(format!("{path}.type"), &why));
                }
            }
        }
        let only_results = texts.is_empty() && calls.is_empty() && thoughts.is_empty();
        if only_results && !blocks.is_empty() {
            return Ok(());
        }
        let mut message = json!({"role": self.role, "content": texts.join("\n")});
        if !thoughts.is_empty() {
            message["reasoning_content"] = json!(thoughts.join("\n"));
        }
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        messages.push(message);
        Ok(())
    }
}

/// What a tool answered.
fn tool_result(block: &Value, path: &str) -> Result<Value, ApiError> {
    let id = field(block, "tool_use_id", path)?;
    let content = match &block["content"] {
        Value::Null => String::new(),
        content => text(content, &format!("{path}.content"))?,
    };
    let content = match block["is_error"] {
        Value::Bool(true) => format!("Error: {content}"),
        _ => content,
    };
    Ok(json!({"role": "tool", "tool_call_id": id, "content": content}))
}

fn field<'b>(block: &'b Value, name: &str, path: &str) -> Result<&'b str, ApiError> {
    block[name].as_str().ok_or_else(|| {
        let param = format!("{path}.{name}");
        let message = format!("{param} must be a text");
        ApiError::invalid(param, message)
    })
}

/// A text, or blocks of text, a line each.
fn text(content: &Value, path: &str) -> Result<String, ApiError> {
    let blocks = match content {
        Value::String(text) => return Ok(text.clone()),
        Value::Array(blocks) => blocks,
        _ => {
            return Err(ApiError::invalid(
                path,
                format!("{path} must be a text or a list of blocks"),
            ));
        }
    };
    let texts: Result<Vec<_>, _> = blocks
        .iter()
        .enumerate()
        .map(|(index, block)| {
            let path = format!("{path}.{index}");
            match block["type"].as_str() {
                Some("text") => field(block, "text", &path),
                _ => Err(ApiError::unsupported(format!("{path}.type"), "only text is")),
            }
        })
        .collect();
    Ok(texts?.join("\n"))
}
