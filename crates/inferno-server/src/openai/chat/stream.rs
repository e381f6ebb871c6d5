//! Streamed chat completions.

use std::collections::VecDeque;

use inferno_chat::AnswerDelta;
use inferno_engine::SampledToken;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::response::{finish_reason, stop_reason};
use crate::chat::{ChatEvent, ChatRun, FinishedChoice};
use crate::openai::logprobs::ChatLogprobs;
use crate::openai::sampling::Streaming;
use crate::openai::timings::{PromptProgress, RequestTimings};
use crate::openai::usage::Usage;
use crate::operation::version::BUILD_INFO;
use crate::sse::{EventSource, SseEvent};
use crate::time::unix_seconds;

/// A chunk of a chat completion.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChatCompletionChunk {
    id: String,
    /// Always `chat.completion.chunk`.
    object: &'static str,
    /// Seconds since 1970; the same in all chunks.
    created: u64,
    model: String,
    /// The build of the server.
    system_fingerprint: &'static str,
    /// One choice; none in the usage chunk.
    choices: Vec<ChunkChoice>,
    /// In the last chunk the total usage, if requested; with `continuous_usage_stats`, in each chunk that of its choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// With the total usage; with `timings_per_token`, in each chunk with new content.
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<RequestTimings>,
    /// With `return_progress`, how much of the prompt has been processed; then the chunk has no new content.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_progress: Option<PromptProgress>,
}

/// New content of a choice.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChunkChoice {
    index: usize,
    delta: Delta,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<ChatLogprobs>,
    /// Null except in the last chunk of the choice.
    finish_reason: Option<&'static str>,
    /// The stop sequence or stop token that was generated.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schema(value_type = Option<Object>)]
    stop_reason: Value,
}

impl ChunkChoice {
    /// New content of a choice that has not finished.
    fn new(index: usize, delta: Delta, logprobs: Option<ChatLogprobs>) -> Self {
        Self { index, delta, logprobs, finish_reason: None, stop_reason: Value::Null }
    }
}

/// New content.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct Delta {
    /// In the first chunk only.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// Null in the first chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    content: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallDelta; 1]>,
}

/// New content of a tool call.
#[derive(Serialize, ToSchema)]
pub(crate) struct CallDelta {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: FunctionDelta,
}

/// New content of the called function.
#[derive(Serialize, ToSchema)]
pub(crate) struct FunctionDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    arguments: String,
}

impl From<AnswerDelta> for Delta {
    fn from(delta: AnswerDelta) -> Self {
        let call = |index, id: Option<String>, name, arguments| {
            let kind = id.as_ref().map(|_| "function");
            let function = FunctionDelta { name, arguments };
            Self { tool_calls: Some([CallDelta { index, id, kind, function }]), ..Self::default() }
        };
        match delta {
            AnswerDelta::Content(text) => Self { content: Some(Some(text)), ..Self::default() },
            AnswerDelta::Reasoning(text) => {
                Self { reasoning_content: Some(text), ..Self::default() }
            }
            AnswerDelta::ToolCall { index, id, name } => {
                call(index, Some(id), Some(name), String::new())
            }
            AnswerDelta::Arguments { index, text } => call(index, None, None, text),
        }
    }
}

/// Produces the chunks of one request.
pub(super) struct ChatStream {
    run: ChatRun,
    id: String,
    created: u64,
    streaming: Streaming,
    has_begun: bool,
}

impl ChatStream {
    pub fn new(run: ChatRun, id: String, streaming: Streaming) -> Self {
        Self { run, id, created: unix_seconds(), streaming, has_begun: false }
    }

    fn chunk(&self, choices: Vec<ChunkChoice>, usage: Option<Usage>) -> ChatCompletionChunk {
        ChatCompletionChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk",
            created: self.created,
            model: self.run.model().info.name().to_owned(),
            system_fingerprint: BUILD_INFO,
            choices,
            usage,
            timings: self.timings_so_far(),
            prompt_progress: None,
        }
    }

    fn progress(&self) -> SseEvent {
        let counts = self.run.counts();
        let choice = ChunkChoice::new(0, Delta::default(), None);
        let timings = self.streaming.timings.then(|| RequestTimings::of(counts));
        let prompt_progress = PromptProgress::of(counts);
        let chunk = self.chunk(vec![choice], None);
        SseEvent::data(&ChatCompletionChunk { timings, prompt_progress, ..chunk })
    }

    /// The timings, if requested and if there are any.
    fn timings_so_far(&self) -> Option<RequestTimings> {
        let counts = self.run.counts();
        let has_tokens = self.streaming.timings && counts.generated_tokens() > 0;
        has_tokens.then(|| RequestTimings::of(counts))
    }

    fn delta(&self, index: usize, delta: Delta, logprobs: Option<ChatLogprobs>) -> SseEvent {
        let choice = ChunkChoice::new(index, delta, logprobs);
        SseEvent::data(&self.chunk(vec![choice], self.usage_so_far(index)))
    }

    /// The usage of one choice, if requested.
    fn usage_so_far(&self, index: usize) -> Option<Usage> {
        let usage = || Usage::so_far(self.run.counts(), index);
        self.streaming.continuous_usage.then(usage)
    }

    /// The first delta carries the log-probabilities.
    fn deltas(
        &self,
        choice: usize,
        deltas: Vec<AnswerDelta>,
        token: Option<SampledToken>,
        events: &mut VecDeque<SseEvent>,
    ) {
        let mut logprobs = ChatLogprobs::of(&token, self.run.model().tokenizer());
        for delta in deltas {
            events.push_back(self.delta(choice, delta.into(), logprobs.take()));
        }
        if logprobs.is_some() {
            let nothing = Delta { content: Some(Some(String::new())), ..Delta::default() };
            events.push_back(self.delta(choice, nothing, logprobs));
        }
    }

    fn end(&self, index: usize, end: &FinishedChoice, events: &mut VecDeque<SseEvent>) {
        let choice = ChunkChoice {
            finish_reason: Some(finish_reason(end)),
            stop_reason: stop_reason(&end.finish.cause),
            ..ChunkChoice::new(index, Delta::default(), None)
        };
        events.push_back(SseEvent::data(&self.chunk(vec![choice], self.usage_so_far(index))));
        if self.run.counts().num_unfinished() == 0 {
            if self.streaming.include_usage {
                let counts = self.run.counts();
                let timings = Some(RequestTimings::of(counts));
                let chunk = self.chunk(Vec::new(), Some(Usage::of_chat(counts)));
                events.push_back(SseEvent::data(&ChatCompletionChunk { timings, ..chunk }));
            }
            events.push_back(SseEvent::done());
        }
    }
}

impl EventSource for ChatStream {
    async fn next(&mut self, events: &mut VecDeque<SseEvent>) -> bool {
        if !self.has_begun {
            self.has_begun = true;
            for index in 0..self.run.num_choices() {
                let role = Some("assistant");
                let delta = Delta { role, content: Some(None), ..Delta::default() };
                events.push_back(self.delta(index, delta, None));
            }
            return true;
        }
        match self.run.next().await {
            None => return false,
            Some(Err(error)) => {
                events.extend(SseEvent::failure(&error));
                return false;
            }
            Some(Ok(ChatEvent::Progress)) => events.push_back(self.progress()),
            Some(Ok(ChatEvent::Token { choice, token, deltas })) => {
                self.deltas(choice, deltas, token, events);
            }
            Some(Ok(ChatEvent::Finished { choice, deltas, end })) => {
                self.deltas(choice, deltas, None, events);
                self.end(choice, &end, events);
            }
        }
        true
    }
}
