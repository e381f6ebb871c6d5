//! Streamed text completions.

use std::collections::VecDeque;

use super::response::{TextChoice, TextCompletion};
use super::run::{TextAnswer, TextEvent, TextRun};
use crate::openai::sampling::Streaming;
use crate::openai::usage::Usage;
use crate::sse::{EventSource, SseEvent};
use crate::time::unix_seconds;

/// Produces the parts of one request.
pub(super) struct TextStream {
    run: TextRun,
    id: String,
    created: u64,
    streaming: Streaming,
}

impl TextStream {
    pub fn new(run: TextRun, id: String, streaming: Streaming) -> Self {
        Self { run, id, created: unix_seconds(), streaming }
    }

    fn part(&self, choices: Vec<TextChoice>, usage: Option<Usage>) -> SseEvent {
        let id = self.id.clone();
        SseEvent::data(&TextCompletion::part(id, self.created, &self.run.model, choices, usage))
    }
}

impl EventSource for TextStream {
    async fn next(&mut self, events: &mut VecDeque<SseEvent>) -> bool {
        match self.run.next().await {
            None => return false,
            Some(Err(error)) => {
                events.extend(SseEvent::failure(&error));
                return false;
            }
            Some(Ok(event)) => {
                let TextEvent { index, text, logprobs, prompt_logprobs, finish } = event;
                let is_end = finish.is_some();
                if is_end || logprobs.is_some() || !text.is_empty() {
                    let answer = TextAnswer { text, logprobs, prompt_logprobs, finish };
                    let usage =
                        self.streaming.continuous_usage.then(|| self.run.usage_so_far(index));
                    events.push_back(self.part(vec![TextChoice::new(index, answer)], usage));
                }
                if is_end && self.run.is_finished() {
                    if self.streaming.include_usage {
                        events.push_back(self.part(Vec::new(), Some(self.run.usage())));
                    }
                    events.push_back(SseEvent::done());
                }
            }
        }
        true
    }
}
