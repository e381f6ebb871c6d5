//! An answer with one choice, streamed part by part: shared by the APIs that send events at part boundaries.

use std::collections::VecDeque;

use inferno_chat::AnswerDelta;

use super::{ChatEvent, ChatRun, FinishedChoice};
use crate::errors::ApiError;
use crate::generation::TokenCounts;
use crate::openai::timings::PromptProgress;
use crate::sse::{EventSource, SseEvent};

/// A part of an answer. Text that follows belongs to it until another begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Reasoning.
    Reasoning,
    Content,
    /// A tool call, whose text is its arguments.
    Call {
        id: String,
        name: String,
    },
}

/// Formats the events of one API. One part is open at a time.
pub(crate) trait PartEvents: Send + 'static {
    /// The start of the answer.
    fn begin(&mut self, run: &ChatRun, events: &mut VecDeque<SseEvent>);

    /// An event arrived, after which the request has these counts; further calls follow for what is new in it.
    fn measured(&mut self, _counts: &TokenCounts) {}

    /// More of the prompt has been processed.
    fn progress(&mut self, _progress: PromptProgress, _events: &mut VecDeque<SseEvent>) {}

    /// A part begins.
    fn open(&mut self, part: &Part, events: &mut VecDeque<SseEvent>);

    /// More of the open part.
    fn text(&mut self, part: &Part, text: String, events: &mut VecDeque<SseEvent>);

    /// A part ends; with `end`, it is the last.
    fn close(&mut self, part: Part, end: Option<&FinishedChoice>, events: &mut VecDeque<SseEvent>);

    /// The answer ended, after its last part.
    fn end(&mut self, end: &FinishedChoice, events: &mut VecDeque<SseEvent>);

    /// The answer failed.
    fn fail(&mut self, error: &ApiError, events: &mut VecDeque<SseEvent>);
}

/// Produces the events of one answer, formatted by `T`.
pub(crate) struct PartStream<T> {
    run: ChatRun,
    formatter: T,
    has_begun: bool,
    open: Option<Part>,
}

impl<T: PartEvents> PartStream<T> {
    pub fn new(run: ChatRun, formatter: T) -> Self {
        Self { run, formatter, has_begun: false, open: None }
    }

    fn delta(&mut self, delta: AnswerDelta, events: &mut VecDeque<SseEvent>) {
        let text = match delta {
            AnswerDelta::Reasoning(text) => {
                self.open(Part::Reasoning, events);
                text
            }
            AnswerDelta::Content(text) => {
                self.open(Part::Content, events);
                text
            }
            // Each call is a part of its own.
            AnswerDelta::ToolCall { id, name, .. } => {
                return self.open(Part::Call { id, name }, events);
            }
            AnswerDelta::Arguments { text, .. } => text,
        };
        if let Some(part) = &self.open {
            self.formatter.text(part, text, events);
        }
    }

    /// Begins a part, unless it is the one that is open.
    fn open(&mut self, part: Part, events: &mut VecDeque<SseEvent>) {
        if self.open.as_ref() == Some(&part) {
            return;
        }
        self.close(None, events);
        self.formatter.open(&part, events);
        self.open = Some(part);
    }

    fn close(&mut self, end: Option<&FinishedChoice>, events: &mut VecDeque<SseEvent>) {
        if let Some(part) = self.open.take() {
            self.formatter.close(part, end, events);
        }
    }
}

impl<T: PartEvents> EventSource for PartStream<T> {
    async fn next(&mut self, events: &mut VecDeque<SseEvent>) -> bool {
        if !self.has_begun {
            self.has_begun = true;
            self.formatter.begin(&self.run, events);
            return true;
        }
        match self.run.next().await {
            None => return false,
            Some(Err(error)) => {
                self.formatter.fail(&error, events);
                return false;
            }
            Some(Ok(event)) => {
                self.formatter.measured(self.run.counts());
                if let (ChatEvent::Progress, Some(progress)) =
                    (&event, PromptProgress::of(self.run.counts()))
                {
                    self.formatter.progress(progress, events);
                }
                let (deltas, end) = event.into_deltas();
                deltas.into_iter().for_each(|delta| self.delta(delta, events));
                if let Some(end) = end {
                    self.close(Some(&end), events);
                    self.formatter.end(&end, events);
                }
            }
        }
        true
    }
}
