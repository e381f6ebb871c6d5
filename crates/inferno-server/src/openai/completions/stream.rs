//! Answers in parts.

use std::collections::VecDeque;

use super::response::{TextChoice, TextCompletion};
use super::run::{TextAnswer, TextEvent, TextRun};
use crate::openai::chat::now;
use crate::openai::sampling::Streaming;
use crate::openai::usage::Usage;
use crate::sse::{EventSource, SseEvent};

/// Makes the parts of one request.
pub(super) struct TextStream {
    run: TextRun,
    id: String,
    created: u64,
    streaming: Streaming,
    /// Tokens of each answer that have come.
    num_tokens: Vec<usize>,
    num_finished: usize,
}

impl TextStream {
    pub fn new(run: TextRun, id: String, streaming: Streaming) -> Self {
        let num_tokens = vec![0; run.num_answers()];
        Self { run, id, created: now(), streaming, num_tokens, num_finished: 0 }
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
                let TextEvent { index, text, logprobs, prompt_logprobs, num_tokens, finish } =
                    event;
                self.num_tokens[index] += num_tokens;
                let is_end = finish.is_some();
                if is_end || logprobs.is_some() || !text.is_empty() {
                    let answer = TextAnswer { text, logprobs, prompt_logprobs, finish };
                    let usage = self.streaming.continuous_usage.then(|| {
                        Usage::so_far(self.run.prompt_tokens(index), self.num_tokens[index])
                    });
                    events.push_back(self.part(vec![TextChoice::new(index, answer)], usage));
                }
                self.num_finished += usize::from(is_end);
                if is_end && self.num_finished == self.run.num_answers() {
                    if self.streaming.include_usage {
                        let usage = self.run.usage().clone();
                        events.push_back(self.part(Vec::new(), Some(usage)));
                    }
                    events.push_back(SseEvent::done());
                }
            }
        }
        true
    }
}
