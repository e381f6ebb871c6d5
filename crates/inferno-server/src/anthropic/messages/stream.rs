//! Streamed messages.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::response::{ContentBlock, Message, MessageUsage, stop_reason, stop_sequence};
use crate::chat::{ChatRun, FinishedChoice, Part, PartEvents};
use crate::errors::{AnthropicErrorDetails, ApiError};
use crate::sse::SseEvent;

/// An event of a message stream.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum MessageEvent {
    /// The message, without content.
    MessageStart {
        message: Message,
    },
    /// A keep-alive event.
    Ping {},
    /// An empty content block.
    ContentBlockStart {
        index: usize,
        content_block: ContentBlock,
    },
    /// New content of the block.
    ContentBlockDelta {
        index: usize,
        delta: BlockDelta,
    },
    ContentBlockStop {
        index: usize,
    },
    /// Stop reason and usage.
    MessageDelta {
        delta: EndDelta,
        usage: MessageUsage,
    },
    /// The last event.
    MessageStop {},
    /// The message failed; the last event.
    Error {
        error: AnthropicErrorDetails,
    },
}

/// New content of a block.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type")]
pub(crate) enum BlockDelta {
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "text_delta")]
    Text { text: String },
    /// A fragment of the arguments, in JSON.
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
}

/// The stop reason.
#[derive(Serialize, ToSchema)]
pub(crate) struct EndDelta {
    stop_reason: &'static str,
    stop_sequence: Option<String>,
}

/// Produces the events of one message.
pub(super) struct MessageEvents {
    id: String,
    /// Index of the open or next block.
    index: usize,
}

impl MessageEvents {
    pub fn new(id: String) -> Self {
        Self { id, index: 0 }
    }
}

impl PartEvents for MessageEvents {
    fn begin(&mut self, run: &ChatRun, events: &mut VecDeque<SseEvent>) {
        let message = Message {
            id: self.id.clone(),
            kind: "message",
            role: "assistant",
            model: run.model().info.name().to_owned(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage: MessageUsage {
                input_tokens: run.counts().prompt_tokens,
                cache_creation_input_tokens: 0,
                cache_read_input_tokens: 0,
                output_tokens: 0,
            },
        };
        events.push_back(SseEvent::typed(&MessageEvent::MessageStart { message }));
        events.push_back(SseEvent::typed(&MessageEvent::Ping {}));
    }

    fn open(&mut self, part: &Part, events: &mut VecDeque<SseEvent>) {
        let content_block = match part.clone() {
            Part::Reasoning => {
                ContentBlock::Thinking { thinking: String::new(), signature: String::new() }
            }
            Part::Content => ContentBlock::Text { text: String::new() },
            Part::Call { id, name } => {
                ContentBlock::ToolUse { id, name, input: Value::Object(Map::new()) }
            }
        };
        let start = MessageEvent::ContentBlockStart { index: self.index, content_block };
        events.push_back(SseEvent::typed(&start));
    }

    fn text(&mut self, part: &Part, text: String, events: &mut VecDeque<SseEvent>) {
        let delta = match part {
            Part::Reasoning => BlockDelta::Thinking { thinking: text },
            Part::Content => BlockDelta::Text { text },
            Part::Call { .. } => BlockDelta::InputJson { partial_json: text },
        };
        let index = self.index;
        events.push_back(SseEvent::typed(&MessageEvent::ContentBlockDelta { index, delta }));
    }

    fn close(
        &mut self,
        _part: Part,
        _end: Option<&FinishedChoice>,
        events: &mut VecDeque<SseEvent>,
    ) {
        let index = self.index;
        events.push_back(SseEvent::typed(&MessageEvent::ContentBlockStop { index }));
        self.index += 1;
    }

    fn end(&mut self, end: &FinishedChoice, events: &mut VecDeque<SseEvent>) {
        let delta = EndDelta { stop_reason: stop_reason(end), stop_sequence: stop_sequence(end) };
        let usage = MessageUsage::of(&end.finish);
        events.push_back(SseEvent::typed(&MessageEvent::MessageDelta { delta, usage }));
        events.push_back(SseEvent::typed(&MessageEvent::MessageStop {}));
    }

    fn fail(&mut self, error: &ApiError, events: &mut VecDeque<SseEvent>) {
        let error = error.anthropic().error;
        events.push_back(SseEvent::typed(&MessageEvent::Error { error }));
    }
}
