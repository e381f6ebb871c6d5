//! A response as events.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::response::{Outline, call, message, output_text, reasoning};
use crate::chat::{ChatRun, FinishedChoice, Piece, ToolCall};
use crate::generation::StopCause;
use crate::request::fresh_id;
use crate::sse::{EventSource, SseEvent};

/// Makes the events of one response.
pub(super) struct ResponseStream {
    run: ChatRun,
    outline: Outline,
    has_begun: bool,
    sequence_number: u64,
    /// The items that have ended.
    output: Vec<Value>,
    open: Option<OpenItem>,
}

/// The item that is being told.
struct OpenItem {
    id: String,
    kind: Kind,
    /// Its text, or the arguments of a call.
    text: String,
}

enum Kind {
    Reasoning,
    Message,
    Call { call_id: String, name: String },
}

impl OpenItem {
    /// The item as it is now.
    fn item(&self, status: &str) -> Value {
        match &self.kind {
            Kind::Reasoning => reasoning(&self.id, &self.text, status),
            Kind::Message => message(&self.id, Some(&self.text), status),
            Kind::Call { call_id, name } => {
                let (id, name) = (call_id.clone(), name.clone());
                call(&self.id, &ToolCall { id, name, arguments: self.text.clone() }, status)
            }
        }
    }

    /// The item as it begins.
    fn begun(&self) -> Value {
        match &self.kind {
            Kind::Reasoning => json!({
                "id": self.id, "type": "reasoning", "summary": [], "content": [],
                "status": "in_progress",
            }),
            Kind::Message => message(&self.id, None, "in_progress"),
            Kind::Call { .. } => self.item("in_progress"),
        }
    }
}

impl ResponseStream {
    pub fn new(run: ChatRun, outline: Outline) -> Self {
        Self { run, outline, has_begun: false, sequence_number: 0, output: Vec::new(), open: None }
    }

    fn event(&mut self, name: &'static str, fields: Value, events: &mut VecDeque<SseEvent>) {
        let mut data = json!({"type": name, "sequence_number": self.sequence_number});
        self.sequence_number += 1;
        if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
            data.extend(fields);
        }
        events.push_back(SseEvent::named(name, &data));
    }

    fn piece(&mut self, piece: Piece, events: &mut VecDeque<SseEvent>) {
        let is_open = |kind: fn(&Kind) -> bool, open: &Option<OpenItem>| {
            open.as_ref().is_some_and(|item| kind(&item.kind))
        };
        match piece {
            Piece::Reasoning(text) => {
                if !is_open(|kind| matches!(kind, Kind::Reasoning), &self.open) {
                    self.open(fresh_id("rs_"), Kind::Reasoning, events);
                }
                self.delta("response.reasoning_text.delta", &text, events);
            }
            Piece::Content(text) => {
                if !is_open(|kind| matches!(kind, Kind::Message), &self.open) {
                    self.open(fresh_id("msg_"), Kind::Message, events);
                }
                self.delta("response.output_text.delta", &text, events);
            }
            Piece::Call { id: call_id, name, .. } => {
                self.open(fresh_id("fc_"), Kind::Call { call_id, name }, events);
            }
            Piece::Arguments { text, .. } => {
                self.delta("response.function_call_arguments.delta", &text, events);
            }
        }
    }

    fn open(&mut self, id: String, kind: Kind, events: &mut VecDeque<SseEvent>) {
        self.close("completed", events);
        let item = OpenItem { id, kind, text: String::new() };
        let (begun, place) = (item.begun(), self.output.len());
        let fields = json!({"output_index": place, "item": begun});
        self.event("response.output_item.added", fields, events);
        let part = match item.kind {
            Kind::Reasoning => Some(json!({"type": "reasoning_text", "text": ""})),
            Kind::Message => Some(output_text("")),
            Kind::Call { .. } => None,
        };
        if let Some(part) = part {
            let fields = json!({
                "item_id": item.id, "output_index": place, "content_index": 0, "part": part,
            });
            self.event("response.content_part.added", fields, events);
        }
        self.open = Some(item);
    }

    fn delta(&mut self, name: &'static str, text: &str, events: &mut VecDeque<SseEvent>) {
        let Some(item) = &mut self.open else {
            return;
        };
        item.text.push_str(text);
        let mut fields =
            json!({"item_id": item.id, "output_index": self.output.len(), "delta": text});
        if !matches!(item.kind, Kind::Call { .. }) {
            fields["content_index"] = json!(0);
        }
        if matches!(item.kind, Kind::Message) {
            fields["logprobs"] = json!([]);
        }
        self.event(name, fields, events);
    }

    fn close(&mut self, status: &str, events: &mut VecDeque<SseEvent>) {
        let Some(item) = self.open.take() else {
            return;
        };
        let place = self.output.len();
        let at = json!({"item_id": item.id, "output_index": place});
        let with = |fields: Value| {
            let mut all = at.clone();
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            all
        };
        let text = &item.text;
        match &item.kind {
            Kind::Reasoning => {
                let part = json!({"type": "reasoning_text", "text": text});
                let done = with(json!({"content_index": 0, "text": text}));
                self.event("response.reasoning_text.done", done, events);
                let done = with(json!({"content_index": 0, "part": part}));
                self.event("response.content_part.done", done, events);
            }
            Kind::Message => {
                let done = with(json!({"content_index": 0, "text": text, "logprobs": []}));
                self.event("response.output_text.done", done, events);
                let done = with(json!({"content_index": 0, "part": output_text(text)}));
                self.event("response.content_part.done", done, events);
            }
            Kind::Call { name, .. } => {
                let done = with(json!({"name": name, "arguments": text}));
                self.event("response.function_call_arguments.done", done, events);
            }
        }
        let ended = item.item(status);
        let fields = json!({"output_index": place, "item": ended});
        self.event("response.output_item.done", fields, events);
        self.output.push(ended);
    }

    fn end(&mut self, end: &FinishedChoice, events: &mut VecDeque<SseEvent>) {
        if self.open.is_none() && self.output.is_empty() {
            self.open(fresh_id("msg_"), Kind::Message, events);
        }
        self.close(super::response::status(end), events);
        let response = self.outline.ended(&self.output, end);
        let name = match end.finish.cause {
            StopCause::Length => "response.incomplete",
            _ => "response.completed",
        };
        self.event(name, json!({"response": response}), events);
    }
}

impl EventSource for ResponseStream {
    async fn next(&mut self, events: &mut VecDeque<SseEvent>) -> bool {
        if !self.has_begun {
            self.has_begun = true;
            let response = json!({"response": self.outline.in_progress()});
            self.event("response.created", response.clone(), events);
            self.event("response.in_progress", response, events);
            return true;
        }
        match self.run.next().await {
            None => return false,
            Some(Err(error)) => {
                let response = self.outline.failed(&error.message);
                self.event("response.failed", json!({"response": response}), events);
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
