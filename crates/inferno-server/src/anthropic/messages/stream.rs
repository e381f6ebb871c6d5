//! An answer as events.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::response::{ContentBlock, Message, MessageUsage, stop_reason, stop_sequence};
use crate::chat::{ChatRun, FinishedChoice, Part, PartTeller};
use crate::errors::{AnthropicErrorDetails, ApiError};
use crate::sse::SseEvent;

/// An event of an answer.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum MessageEvent {
    /// The message, with no content.
    MessageStart {
        message: Message,
    },
    /// Nothing.
    Ping {},
    /// A block begins, which holds nothing so far.
    ContentBlockStart {
        index: usize,
        content_block: ContentBlock,
    },
    /// More of the open block.
    ContentBlockDelta {
        index: usize,
        delta: BlockDelta,
    },
    ContentBlockStop {
        index: usize,
    },
    /// How the message ended.
    MessageDelta {
        delta: EndDelta,
        usage: MessageUsage,
    },
    /// After all else.
    MessageStop {},
    /// In place of the end: the answer cannot go on.
    Error {
        error: AnthropicErrorDetails,
    },
}

/// What is new of a block.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type")]
pub(crate) enum BlockDelta {
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "text_delta")]
    Text { text: String },
    /// More of a call's arguments, which together are JSON.
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
}

/// How a message ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct EndDelta {
    stop_reason: &'static str,
    stop_sequence: Option<String>,
}

/// Tells one answer.
pub(super) struct MessageTeller {
    id: String,
    /// The block that is open or comes next, counted from 0.
    index: usize,
}

impl MessageTeller {
    pub fn new(id: String) -> Self {
        Self { id, index: 0 }
    }
}

impl PartTeller for MessageTeller {
    fn begin(&mut self, run: &ChatRun, events: &mut VecDeque<SseEvent>) {
        let message = Message {
            id: self.id.clone(),
            kind: "message",
            role: "assistant",
            model: run.model().name().to_owned(),
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
