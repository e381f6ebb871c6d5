//! Streamed responses.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::response::{ContentPart, Outline, OutputItem, ResponseObject, Status};
use super::tools::input;
use crate::chat::{ChatRun, FinishedChoice, Part, PartEvents, ToolCall};
use crate::errors::ApiError;
use crate::generation::TokenCounts;
use crate::openai::timings::{PromptProgress, RequestTimings};
use crate::request::fresh_id;
use crate::sse::SseEvent;

/// An event of a response stream.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResponseEvent {
    #[serde(flatten)]
    kind: ResponseEventKind,
    /// Numbered from 0.
    sequence_number: u64,
    /// With `timings_per_token`, in deltas, reports of progress and the last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<RequestTimings>,
    /// With `return_progress`, in events of type `response.in_progress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_progress: Option<PromptProgress>,
}

/// The kind of an event.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type")]
pub(crate) enum ResponseEventKind {
    #[serde(rename = "response.created")]
    Created { response: ResponseObject },
    #[serde(rename = "response.in_progress")]
    InProgress { response: ResponseObject },
    /// A new item.
    #[serde(rename = "response.output_item.added")]
    ItemAdded { output_index: usize, item: OutputItem },
    /// A new content part.
    #[serde(rename = "response.content_part.added")]
    PartAdded {
        #[serde(flatten)]
        place: PartPlace,
        part: ContentPart,
    },
    #[serde(rename = "response.reasoning_text.delta")]
    ReasoningDelta {
        #[serde(flatten)]
        place: PartPlace,
        delta: String,
    },
    #[serde(rename = "response.output_text.delta")]
    TextDelta {
        #[serde(flatten)]
        place: PartPlace,
        delta: String,
        /// Always empty.
        logprobs: Vec<Value>,
    },
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta { item_id: String, output_index: usize, delta: String },
    #[serde(rename = "response.custom_tool_call_input.delta")]
    InputDelta { item_id: String, output_index: usize, delta: String },
    #[serde(rename = "response.custom_tool_call_input.done")]
    InputDone { item_id: String, output_index: usize, input: String },
    #[serde(rename = "response.reasoning_text.done")]
    ReasoningDone {
        #[serde(flatten)]
        place: PartPlace,
        text: String,
    },
    #[serde(rename = "response.output_text.done")]
    TextDone {
        #[serde(flatten)]
        place: PartPlace,
        text: String,
        /// Always empty.
        logprobs: Vec<Value>,
    },
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone { item_id: String, output_index: usize, name: String, arguments: String },
    /// A finished content part.
    #[serde(rename = "response.content_part.done")]
    PartDone {
        #[serde(flatten)]
        place: PartPlace,
        part: ContentPart,
    },
    /// A finished item.
    #[serde(rename = "response.output_item.done")]
    ItemDone { output_index: usize, item: OutputItem },
    /// The response is complete.
    #[serde(rename = "response.completed")]
    Completed { response: ResponseObject },
    /// The response was cut off.
    #[serde(rename = "response.incomplete")]
    Incomplete { response: ResponseObject },
    /// The response failed.
    #[serde(rename = "response.failed")]
    Failed { response: ResponseObject },
}

impl ResponseEventKind {
    /// Whether events of this kind report timings.
    fn has_timings(&self) -> bool {
        matches!(
            self,
            Self::InProgress { .. }
                | Self::ReasoningDelta { .. }
                | Self::TextDelta { .. }
                | Self::ArgumentsDelta { .. }
                | Self::Completed { .. }
                | Self::Incomplete { .. }
        )
    }
}

/// The position of a content part.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct PartPlace {
    item_id: String,
    output_index: usize,
    /// Always 0: items have one part.
    content_index: usize,
}

/// Produces the events of one response.
pub(super) struct ResponseEvents {
    outline: Outline,
    sequence_number: u64,
    /// The finished items.
    output: Vec<OutputItem>,
    /// The id of the current item, and its text or the arguments of a call.
    id: String,
    text: String,
    has_timings: bool,
    /// The timings so far, if requested.
    timings: Option<RequestTimings>,
}

impl ResponseEvents {
    pub fn new(outline: Outline, has_timings: bool) -> Self {
        let (id, text, timings) = (String::new(), String::new(), None);
        Self { outline, sequence_number: 0, output: Vec::new(), id, text, has_timings, timings }
    }

    fn event(&mut self, kind: ResponseEventKind, events: &mut VecDeque<SseEvent>) {
        self.event_with(kind, None, events);
    }

    fn event_with(
        &mut self,
        kind: ResponseEventKind,
        prompt_progress: Option<PromptProgress>,
        events: &mut VecDeque<SseEvent>,
    ) {
        let sequence_number = self.sequence_number;
        self.sequence_number += 1;
        let timings = self.timings.clone().filter(|_| kind.has_timings());
        let event = ResponseEvent { kind, sequence_number, timings, prompt_progress };
        events.push_back(SseEvent::typed(&event));
    }

    fn place(&self) -> PartPlace {
        PartPlace { item_id: self.id.clone(), output_index: self.output.len(), content_index: 0 }
    }

    /// The current item, with this content or, for a call, with its arguments so far.
    fn item(&self, part: Part, content: Vec<ContentPart>, status: Status) -> OutputItem {
        let id = self.id.clone();
        match part {
            Part::Reasoning => OutputItem::reasoning(id, content, status),
            Part::Content => OutputItem::message(id, content, status),
            Part::Call { id: call_id, name } => {
                let call = ToolCall { id: call_id, name, arguments: self.text.clone() };
                self.outline.origins().item(id, call, status)
            }
        }
    }

    /// The content of the current item; calls have none.
    fn content(&self, part: &Part) -> Option<ContentPart> {
        match part {
            Part::Reasoning => Some(ContentPart::reasoning(self.text.clone())),
            Part::Content => Some(ContentPart::output(self.text.clone())),
            Part::Call { .. } => None,
        }
    }
}

impl PartEvents for ResponseEvents {
    fn begin(&mut self, _run: &ChatRun, events: &mut VecDeque<SseEvent>) {
        let response = self.outline.in_progress();
        self.event(ResponseEventKind::Created { response: response.clone() }, events);
        self.event(ResponseEventKind::InProgress { response }, events);
    }

    fn measured(&mut self, counts: &TokenCounts) {
        self.timings = self.has_timings.then(|| RequestTimings::of(counts));
    }

    fn progress(&mut self, progress: PromptProgress, events: &mut VecDeque<SseEvent>) {
        let response = self.outline.in_progress();
        self.event_with(ResponseEventKind::InProgress { response }, Some(progress), events);
    }

    fn open(&mut self, part: &Part, events: &mut VecDeque<SseEvent>) {
        self.id = match part {
            Part::Reasoning => fresh_id("rs_"),
            Part::Content => fresh_id("msg_"),
            Part::Call { name, .. } => self.outline.origins().fresh_item_id(name),
        };
        self.text.clear();
        let item = self.item(part.clone(), Vec::new(), Status::InProgress);
        let output_index = self.output.len();
        self.event(ResponseEventKind::ItemAdded { output_index, item }, events);
        if let Some(part) = self.content(part) {
            self.event(ResponseEventKind::PartAdded { place: self.place(), part }, events);
        }
    }

    fn text(&mut self, part: &Part, delta: String, events: &mut VecDeque<SseEvent>) {
        self.text.push_str(&delta);
        let place = self.place();
        let kind = match part {
            Part::Reasoning => ResponseEventKind::ReasoningDelta { place, delta },
            Part::Content => ResponseEventKind::TextDelta { place, delta, logprobs: Vec::new() },
            // The input is complete when the call is.
            Part::Call { name, .. } if self.outline.origins().is_custom(name) => return,
            Part::Call { .. } => {
                let PartPlace { item_id, output_index, .. } = place;
                ResponseEventKind::ArgumentsDelta { item_id, output_index, delta }
            }
        };
        self.event(kind, events);
    }

    fn close(&mut self, part: Part, end: Option<&FinishedChoice>, events: &mut VecDeque<SseEvent>) {
        let (place, text) = (self.place(), self.text.clone());
        let output_index = place.output_index;
        let content = self.content(&part);
        let done = match &part {
            Part::Reasoning => ResponseEventKind::ReasoningDone { place: place.clone(), text },
            Part::Content => {
                ResponseEventKind::TextDone { place: place.clone(), text, logprobs: Vec::new() }
            }
            Part::Call { name, .. } if self.outline.origins().is_custom(name) => {
                let (item_id, input) = (place.item_id.clone(), input(&text));
                let delta = input.clone();
                let item = item_id.clone();
                self.event(
                    ResponseEventKind::InputDelta { item_id: item, output_index, delta },
                    events,
                );
                ResponseEventKind::InputDone { item_id, output_index, input }
            }
            Part::Call { name, .. } => ResponseEventKind::ArgumentsDone {
                item_id: place.item_id.clone(),
                output_index,
                name: name.clone(),
                arguments: text,
            },
        };
        self.event(done, events);
        if let Some(part) = content.clone() {
            self.event(ResponseEventKind::PartDone { place, part }, events);
        }
        let status = end.map_or(Status::Completed, Status::of);
        let item = self.item(part, content.into_iter().collect(), status);
        self.output.push(item.clone());
        self.event(ResponseEventKind::ItemDone { output_index, item }, events);
    }

    fn end(&mut self, end: &FinishedChoice, events: &mut VecDeque<SseEvent>) {
        // A response has at least one item.
        if self.output.is_empty() {
            self.open(&Part::Content, events);
            self.close(Part::Content, Some(end), events);
        }
        let output = std::mem::take(&mut self.output);
        let response = self.outline.ended(output, end);
        self.event(
            match Status::of(end) {
                Status::Incomplete => ResponseEventKind::Incomplete { response },
                _ => ResponseEventKind::Completed { response },
            },
            events,
        );
    }

    fn fail(&mut self, error: &ApiError, events: &mut VecDeque<SseEvent>) {
        let response = self.outline.failed(error.message.clone());
        self.event(ResponseEventKind::Failed { response }, events);
    }
}
