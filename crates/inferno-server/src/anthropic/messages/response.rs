//! Messages.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::ServedModel;
use crate::chat::{Answer, FinishedChoice, FinishedPart};
use crate::generation::{Finish, StopCause};

/// A message of the model.
#[derive(Serialize, ToSchema)]
pub(crate) struct Message {
    pub id: String,
    /// Always `message`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Always `assistant`.
    pub role: &'static str,
    pub model: String,
    pub content: Vec<ContentBlock>,
    /// `end_turn`, `max_tokens`, `stop_sequence` or `tool_use`; null at the start of a stream.
    pub stop_reason: Option<&'static str>,
    /// The stop sequence that was generated.
    pub stop_sequence: Option<String>,
    pub usage: MessageUsage,
}

/// A content block of a message.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    /// Reasoning; the signature is always empty.
    Thinking {
        thinking: String,
        signature: String,
    },
    Text {
        text: String,
    },
    /// A tool call.
    ToolUse {
        id: String,
        name: String,
        #[schema(value_type = Object)]
        input: Value,
    },
}

/// The token usage of a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct MessageUsage {
    /// Prompt tokens that were computed.
    pub input_tokens: usize,
    /// Always 0: caching is automatic.
    pub cache_creation_input_tokens: usize,
    /// Prompt tokens that came from the prefix cache.
    pub cache_read_input_tokens: usize,
    pub output_tokens: usize,
}

impl MessageUsage {
    pub fn of(finish: &Finish) -> Self {
        Self {
            input_tokens: finish.prompt_tokens.saturating_sub(finish.cached_tokens),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: finish.cached_tokens,
            output_tokens: finish.generated_tokens,
        }
    }
}

impl From<FinishedPart> for ContentBlock {
    fn from(part: FinishedPart) -> Self {
        match part {
            FinishedPart::Reasoning(thinking) => {
                Self::Thinking { thinking, signature: String::new() }
            }
            FinishedPart::Content(text) => Self::Text { text },
            FinishedPart::Call(call) => Self::ToolUse {
                id: call.id,
                name: call.name,
                // Arguments that max_tokens cut off are returned as a string.
                input: serde_json::from_str(&call.arguments).unwrap_or(Value::from(call.arguments)),
            },
        }
    }
}

impl Message {
    pub fn new(id: String, model: &ServedModel, answer: Answer, end: &FinishedChoice) -> Self {
        let content = answer.parts.into_iter().map(ContentBlock::from).collect();
        Self {
            id,
            kind: "message",
            role: "assistant",
            model: model.info.name().to_owned(),
            content,
            stop_reason: Some(stop_reason(end)),
            stop_sequence: stop_sequence(end),
            usage: MessageUsage::of(&end.finish),
        }
    }
}

/// Anthropic's stop reason.
pub(super) fn stop_reason(end: &FinishedChoice) -> &'static str {
    match end.finish.cause {
        StopCause::Length => "max_tokens",
        _ if end.num_calls > 0 => "tool_use",
        StopCause::Text(_) => "stop_sequence",
        StopCause::EndOfGeneration | StopCause::Token(_) => "end_turn",
    }
}

/// The stop sequence that was generated, if it is the reason of the end.
pub(super) fn stop_sequence(end: &FinishedChoice) -> Option<String> {
    match &end.finish.cause {
        StopCause::Text(text) if end.num_calls == 0 => Some(text.clone()),
        _ => None,
    }
}
