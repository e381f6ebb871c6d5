//! An answer as events.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::response::{Message, MessageUsage, stop_reason, stop_sequence};
use crate::chat::{ChatRun, FinishedChoice, Piece};
use crate::sse::{EventSource, SseEvent};

/// Makes the events of one answer.
pub(super) struct MessageStream {
    run: ChatRun,
    id: String,
    has_begun: bool,
    /// The block that is open, counted from 0.
    index: usize,
    open: Option<Block>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Thinking,
    Text,
    ToolUse,
}

impl MessageStream {
    pub fn new(run: ChatRun, id: String) -> Self {
        Self { run, id, has_begun: false, index: 0, open: None }
    }

    fn begin(&self) -> SseEvent {
        let message = Message {
            id: self.id.clone(),
            kind: "message",
            role: "assistant",
            model: self.run.model.name().to_owned(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage: MessageUsage {
                input_tokens: self.run.prompt_tokens,
                cache_creation_input_tokens: 0,
                cache_read_input_tokens: 0,
                output_tokens: 0,
            },
        };
        event("message_start", json!({"message": message}))
    }

    fn piece(&mut self, piece: Piece, events: &mut VecDeque<SseEvent>) {
        match piece {
            Piece::Reasoning(text) => {
                self.open(
                    Block::Thinking,
                    || json!({"type": "thinking", "thinking": "", "signature": ""}),
                    events,
                );
                self.delta(json!({"type": "thinking_delta", "thinking": text}), events);
            }
            Piece::Content(text) => {
                self.open(Block::Text, || json!({"type": "text", "text": ""}), events);
                self.delta(json!({"type": "text_delta", "text": text}), events);
            }
            Piece::Call { id, name, .. } => {
                // Each call is a block of its own.
                self.close(events);
                let block = || json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.open(Block::ToolUse, block, events);
            }
            Piece::Arguments { text, .. } => {
                self.delta(json!({"type": "input_json_delta", "partial_json": text}), events);
            }
        }
    }

    /// Begins a block, unless one of its kind is open.
    fn open(
        &mut self,
        block: Block,
        begin: impl FnOnce() -> Value,
        events: &mut VecDeque<SseEvent>,
    ) {
        if self.open == Some(block) {
            return;
        }
        self.close(events);
        self.open = Some(block);
        let content = json!({"index": self.index, "content_block": begin()});
        events.push_back(event("content_block_start", content));
    }

    fn delta(&self, delta: Value, events: &mut VecDeque<SseEvent>) {
        let content = json!({"index": self.index, "delta": delta});
        events.push_back(event("content_block_delta", content));
    }

    fn close(&mut self, events: &mut VecDeque<SseEvent>) {
        if self.open.take().is_some() {
            events.push_back(event("content_block_stop", json!({"index": self.index})));
            self.index += 1;
        }
    }

    fn end(&mut self, end: &FinishedChoice, events: &mut VecDeque<SseEvent>) {
        self.close(events);
        let delta = json!({"stop_reason": stop_reason(end), "stop_sequence": stop_sequence(end)});
        let usage = MessageUsage::of(&end.finish);
        events.push_back(event("message_delta", json!({"delta": delta, "usage": usage})));
        events.push_back(event("message_stop", json!({})));
    }
}

/// An event whose data begins with its name.
fn event(name: &'static str, data: Value) -> SseEvent {
    let mut typed = json!({"type": name});
    if let (Value::Object(typed), Value::Object(data)) = (&mut typed, data) {
        typed.extend(data);
    }
    SseEvent::named(name, &typed)
}

impl EventSource for MessageStream {
    async fn next(&mut self, events: &mut VecDeque<SseEvent>) -> bool {
        if !self.has_begun {
            self.has_begun = true;
            events.push_back(self.begin());
            events.push_back(event("ping", json!({})));
            return true;
        }
        match self.run.next().await {
            None => return false,
            Some(Err(error)) => {
                events.push_back(SseEvent::named("error", &error.anthropic()));
                return false;
            }
            Some(Ok(event)) => {
                let (pieces, end) = event.into_pieces();
                pieces.into_iter().for_each(|piece| self.piece(piece, events));
                if let Some(end) = end {
                    self.end(&end, events);
                }
            }
        }
        true
    }
}
