//! Streamed completions of one or several prompts.

use std::collections::VecDeque;
use std::pin::Pin;

use futures_util::stream::{self, SelectAll};
use futures_util::{Stream, StreamExt};
use inferno_chat::AnswerDelta;

use super::answer::AnswerFormat;
use crate::chat::{ChatEvent, ChatRun};
use crate::errors::ApiError;
use crate::openai::timings::{PromptProgress, RequestTimings};
use crate::sse::{EventSource, SseEvent};

/// The events of a prompt.
type PromptEvents = Pin<Box<dyn Stream<Item = PromptEvent> + Send>>;

/// An event of a prompt.
struct PromptEvent {
    index: usize,
    event: Result<ChatEvent, ApiError>,
    timings: RequestTimings,
    progress: Option<PromptProgress>,
}

/// Produces the parts of one request.
pub(super) struct CompletionStream {
    format: AnswerFormat,
    events: SelectAll<PromptEvents>,
    /// Whether each answer has a line break so far.
    has_new_line: Vec<bool>,
}

impl CompletionStream {
    pub fn new(runs: Vec<ChatRun>, format: AnswerFormat) -> Self {
        let has_new_line = vec![false; runs.len()];
        let events = runs.into_iter().enumerate().map(|(index, run)| events_of(index, run));
        Self { format, events: stream::select_all(events), has_new_line }
    }

    fn text(&mut self, index: usize, deltas: Vec<AnswerDelta>) -> String {
        let text: String = deltas.into_iter().filter_map(content).collect();
        self.has_new_line[index] |= text.contains('\n');
        text
    }
}

fn events_of(index: usize, run: ChatRun) -> PromptEvents {
    Box::pin(stream::unfold(run, move |mut run| async move {
        let event = run.next().await?;
        let (timings, progress) =
            (RequestTimings::of(run.counts()), PromptProgress::of(run.counts()));
        Some((PromptEvent { index, event, timings, progress }, run))
    }))
}

/// Answers of text have no other deltas.
fn content(delta: AnswerDelta) -> Option<String> {
    match delta {
        AnswerDelta::Content(text) => Some(text),
        _ => None,
    }
}

impl EventSource for CompletionStream {
    async fn next(&mut self, events: &mut VecDeque<SseEvent>) -> bool {
        let Some(PromptEvent { index, event, timings, progress }) = self.events.next().await else {
            return false;
        };
        match event {
            Err(error) => {
                events.push_back(SseEvent::data(&error.llama_server()));
                return false;
            }
            Ok(ChatEvent::Progress) => {
                let part = self.format.part(index, String::new(), None, timings);
                events.push_back(SseEvent::data(&part.with_progress(progress)));
            }
            Ok(ChatEvent::Token { token, deltas, .. }) => {
                let text = self.text(index, deltas);
                if token.is_some() || !text.is_empty() {
                    let part = self.format.part(index, text, token, timings);
                    events.push_back(SseEvent::data(&part));
                }
            }
            Ok(ChatEvent::Finished { deltas, end, .. }) => {
                let text = self.text(index, deltas);
                let has_new_line = self.has_new_line[index];
                let last = self.format.last(index, text, has_new_line, &end, timings);
                events.push_back(SseEvent::data(&last));
            }
        }
        true
    }
}
