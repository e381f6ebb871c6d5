//! Conversations of Anthropic's requests, converted to the format that chat templates expect.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::blocks::{BlockContent, text};
use super::tools::{ToolChoiceField, ToolField, tools};
use crate::chat::{ENABLE_THINKING, OutputFormat, Tools};
use crate::errors::ApiError;
use crate::fields::UnknownFields;

/// The fields that `/v1/messages` and `/v1/messages/count_tokens` share.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ConversationFields {
    /// Name of the model.
    pub model: Option<String>,
    /// The conversation, oldest message first. If the last message is from the assistant, it is continued.
    #[schema(min_items = 1)]
    messages: Vec<MessageField>,
    /// The system prompt: a string, or an array of blocks of type `text`.
    system: Option<Value>,
    /// Tools that the model may call.
    tools: Option<Vec<ToolField>>,
    tool_choice: Option<ToolChoiceField>,
    thinking: Option<ThinkingField>,
    output_config: Option<OutputConfigField>,
}

/// A message.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[schema(as = AnthropicMessage)]
pub(crate) struct MessageField {
    /// `user`, `assistant` or `system`.
    #[schema(pattern = "^(user|assistant|system)$")]
    role: String,
    /// A string, or an array of blocks of type `text`, `thinking`, `tool_use` or `tool_result`.
    content: Value,
}

/// Whether the model reasons before it answers.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ThinkingField {
    /// `enabled`, `adaptive` or `disabled`.
    #[schema(pattern = "^(enabled|adaptive|disabled)$")]
    #[serde(rename = "type")]
    kind: String,
    /// Maximum number of reasoning tokens, for models with reasoning tags.
    #[schema(minimum = 1)]
    budget_tokens: Option<usize>,
}

/// Effort and format of the answer.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OutputConfigField {
    /// Reasoning effort, a hint for templates that support it.
    effort: Option<String>,
    format: Option<OutputFormatField>,
}

/// The format of the answer.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OutputFormatField {
    /// `json_schema`.
    #[serde(rename = "type")]
    kind: String,
    schema: Map<String, Value>,
}

/// A conversation in the format that chat templates expect.
pub(super) struct TemplateConversation {
    pub messages: Vec<Value>,
    pub tools: Tools,
    pub variables: Map<String, Value>,
    pub format: OutputFormat,
    pub reasoning_effort: Option<String>,
    /// Maximum number of reasoning tokens.
    pub reasoning_budget: Option<usize>,
    /// Whether the last message is from the assistant, and is continued.
    pub continues_last: bool,
}

impl ConversationFields {
    /// **Errors**: an invalid or unsupported block or tool, by its path; as in Anthropic's API, a continued message that ends
    /// with whitespace.
    pub fn read(self, unknown: &UnknownFields) -> Result<TemplateConversation, ApiError> {
        let (messages, continues_last) = self.template_messages(unknown)?;
        let mut variables = Map::new();
        let (mut reasoning_effort, mut reasoning_budget) = (None, None);
        // In this API, reasoning is off by default.
        let mut thinks = false;
        if let Some(thinking) = self.thinking {
            reasoning_budget = thinking.budget()?;
            thinks = thinking.kind != "disabled";
        }
        variables.insert(ENABLE_THINKING.to_owned(), json!(thinks));
        let mut format = OutputFormat::Text;
        if let Some(config) = self.output_config {
            reasoning_effort = config.effort;
            if let Some(asked) = config.format {
                format = asked.format()?;
            }
        }
        Ok(TemplateConversation {
            messages,
            format,
            tools: tools(self.tools, self.tool_choice, unknown)?,
            variables,
            reasoning_effort,
            reasoning_budget,
            continues_last,
        })
    }

    /// The messages, and whether the last one is continued.
    ///
    /// **Errors**: as [`read`](Self::read).
    fn template_messages(&self, unknown: &UnknownFields) -> Result<(Vec<Value>, bool), ApiError> {
        let mut messages = Vec::new();
        if let Some(system) = &self.system {
            messages.push(json!({"role": "system", "content": text(system, "system", unknown)?}));
        }
        if self.messages.is_empty() {
            return Err(ApiError::invalid("messages", "messages must not be empty"));
        }
        for (index, message) in self.messages.iter().enumerate() {
            message.read(&format!("messages.{index}"), unknown, &mut messages)?;
        }
        // A message whose blocks are all left out adds nothing.
        let continues_last = messages.last().is_some_and(|message| message["role"] == "assistant");
        let last_text = messages.last().and_then(|message| message["content"].as_str());
        if continues_last && last_text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
            let param = format!("messages.{}.content", self.messages.len() - 1);
            let message = format!("{param} is continued, so it must not end with whitespace");
            return Err(ApiError::invalid(param, message));
        }
        Ok((messages, continues_last))
    }
}

impl ThinkingField {
    /// Maximum number of reasoning tokens.
    ///
    /// **Errors**: an unknown type, or a budget that is missing or 0.
    fn budget(&self) -> Result<Option<usize>, ApiError> {
        const FIELD: &str = "thinking.budget_tokens";
        match (self.kind.as_str(), self.budget_tokens) {
            ("enabled", Some(0)) => {
                Err(ApiError::invalid(FIELD, format!("{FIELD} must be at least 1")))
            }
            ("enabled", None) => Err(ApiError::invalid(FIELD, format!("{FIELD} is missing"))),
            ("enabled" | "adaptive", budget) => Ok(budget),
            ("disabled", _) => Ok(None),
            (kind, _) => {
                let message =
                    format!("thinking.type must be enabled, adaptive or disabled, but is {kind:?}");
                Err(ApiError::invalid("thinking.type", message))
            }
        }
    }
}

impl OutputFormatField {
    fn format(self) -> Result<OutputFormat, ApiError> {
        match self.kind.as_str() {
            "json_schema" => Ok(OutputFormat::JsonSchema(Value::Object(self.schema))),
            kind => {
                let param = "output_config.format.type";
                Err(ApiError::invalid(
                    param,
                    format!("{param} must be json_schema, but is {kind:?}"),
                ))
            }
        }
    }
}

impl MessageField {
    /// Appends the message in the format of templates; tool results become separate messages.
    fn read(
        &self,
        path: &str,
        unknown: &UnknownFields,
        messages: &mut Vec<Value>,
    ) -> Result<(), ApiError> {
        let role = self.role.as_str();
        if !matches!(role, "user" | "system" | "assistant") {
            let param = format!("{path}.role");
            let message = format!("{param} must be user, assistant or system, but is {role:?}");
            return Err(ApiError::invalid(param, message));
        }
        let blocks = match &self.content {
            Value::String(text) => {
                messages.push(json!({"role": role, "content": text}));
                return Ok(());
            }
            Value::Array(blocks) => blocks,
            _ => {
                let param = format!("{path}.content");
                let message = format!("{param} must be a string or an array of blocks");
                return Err(ApiError::invalid(param, message));
            }
        };
        let mut content = BlockContent::default();
        for (index, block) in blocks.iter().enumerate() {
            let path = format!("{path}.content.{index}");
            content.read(block, role, &path, unknown, messages)?;
        }
        messages.extend(content.message(role, !blocks.is_empty()));
        Ok(())
    }
}
