//! Answers: lines of a stream, or a single object with the same fields.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::chat::{Answer, AnswerByKind, ChatRun, FinishedChoice, Part, PartEvents, ToolCall};
use crate::errors::ApiError;
use crate::generation::StopCause;
use crate::sse::SseEvent;

/// New content of an answer, or all of it.
#[derive(Debug, Default)]
pub(super) struct AnswerPart {
    pub thinking: Option<String>,
    pub content: String,
    pub tool_calls: Vec<OllamaToolCall>,
}

/// A line of a chat, or the whole answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaChatAnswer {
    model: String,
    /// In RFC 3339.
    created_at: String,
    message: OllamaAnswerMessage,
    /// Whether this is the last line.
    done: bool,
    #[serde(flatten)]
    end: AnswerEnd,
}

/// The message of the model.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaAnswerMessage {
    /// Always `assistant`.
    role: &'static str,
    content: String,
    /// The reasoning before the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OllamaToolCall>,
}

/// A line of a generation, or the whole answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaGenerateAnswer {
    model: String,
    /// In RFC 3339.
    created_at: String,
    response: String,
    /// The reasoning before the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<String>,
    /// Whether this is the last line.
    done: bool,
    #[serde(flatten)]
    end: AnswerEnd,
}

/// A tool call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OllamaToolCall {
    id: String,
    function: OllamaCalledFunction,
}

/// The called function.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OllamaCalledFunction {
    name: String,
    arguments: Map<String, Value>,
}

/// The last fields of an answer; none before its last line. Durations are in nanoseconds.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct AnswerEnd {
    /// `stop`, `length`, or `load` if there was no prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    done_reason: Option<&'static str>,
    /// From the request to the last token.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_duration: Option<u64>,
    /// Always 0: the model stays loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_duration: Option<u64>,
    /// Prompt tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_eval_count: Option<usize>,
    /// Until the first token was generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_eval_duration: Option<u64>,
    /// Generated tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_count: Option<usize>,
    /// From the first token to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_duration: Option<u64>,
}

/// Formats a part of an answer, which is the last if it has an end.
pub(super) type Line<T> = fn(&str, AnswerPart, Option<AnswerEnd>) -> T;

/// A line of a chat.
pub(super) fn chat_line(model: &str, part: AnswerPart, end: Option<AnswerEnd>) -> OllamaChatAnswer {
    let AnswerPart { thinking, content, tool_calls } = part;
    OllamaChatAnswer {
        model: model.to_owned(),
        created_at: Timestamp::now().to_string(),
        message: OllamaAnswerMessage { role: "assistant", content, thinking, tool_calls },
        done: end.is_some(),
        end: end.unwrap_or_default(),
    }
}

/// A line of a generation, which has no tools.
pub(super) fn generate_line(
    model: &str,
    part: AnswerPart,
    end: Option<AnswerEnd>,
) -> OllamaGenerateAnswer {
    OllamaGenerateAnswer {
        model: model.to_owned(),
        created_at: Timestamp::now().to_string(),
        response: part.content,
        thinking: part.thinking,
        done: end.is_some(),
        end: end.unwrap_or_default(),
    }
}

impl AnswerEnd {
    /// The answer to a request without a prompt, which only loads the model.
    pub fn loaded() -> Self {
        Self { done_reason: Some("load"), ..Self::default() }
    }

    fn of(end: &FinishedChoice) -> Self {
        let (finish, timings) = (&end.finish, &end.finish.timings);
        let first = timings.time_to_first_token.unwrap_or(timings.total);
        Self {
            done_reason: Some(match finish.cause {
                StopCause::Length => "length",
                _ => "stop",
            }),
            total_duration: Some(nanoseconds(timings.total)),
            load_duration: Some(0),
            prompt_eval_count: Some(finish.prompt_tokens),
            prompt_eval_duration: Some(nanoseconds(first.saturating_sub(timings.queued))),
            eval_count: Some(finish.generated_tokens),
            eval_duration: Some(nanoseconds(timings.decode)),
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl AnswerPart {
    /// Adds a call. Arguments that an early end of the answer cut off are content: clients only read objects.
    fn add_call(&mut self, id: String, name: String, arguments: &str) {
        match serde_json::from_str(arguments) {
            Ok(arguments) => {
                let function = OllamaCalledFunction { name, arguments };
                self.tool_calls.push(OllamaToolCall { id, function });
            }
            Err(_) => self.content.push_str(arguments),
        }
    }
}

/// The parts and the end of a whole answer.
pub(super) fn whole(answer: Answer, end: &FinishedChoice) -> (AnswerPart, AnswerEnd) {
    let AnswerByKind { reasoning, content, calls, .. } = answer.by_kind();
    let thinking = (!reasoning.is_empty()).then_some(reasoning);
    let mut part = AnswerPart { thinking, content, tool_calls: Vec::new() };
    for ToolCall { id, name, arguments } in calls {
        part.add_call(id, name, &arguments);
    }
    (part, AnswerEnd::of(end))
}

/// Produces the lines of one answer.
pub(super) struct LineEvents<T> {
    model: String,
    line: Line<T>,
    /// Arguments of the open tool call, which is sent whole.
    arguments: String,
}

impl<T: Serialize> LineEvents<T> {
    /// Lines that name the model `model`.
    pub fn new(model: String, line: Line<T>) -> Self {
        Self { model, line, arguments: String::new() }
    }

    fn line(&self, part: AnswerPart, end: Option<AnswerEnd>) -> SseEvent {
        SseEvent::data(&(self.line)(&self.model, part, end))
    }
}

impl<T: Serialize + 'static> PartEvents for LineEvents<T> {
    fn begin(&mut self, _run: &ChatRun, _events: &mut VecDeque<SseEvent>) {}

    fn open(&mut self, _part: &Part, _events: &mut VecDeque<SseEvent>) {}

    fn text(&mut self, part: &Part, text: String, events: &mut VecDeque<SseEvent>) {
        let part = match part {
            Part::Reasoning => AnswerPart { thinking: Some(text), ..AnswerPart::default() },
            Part::Content => AnswerPart { content: text, ..AnswerPart::default() },
            Part::Call { .. } => {
                self.arguments.push_str(&text);
                return;
            }
        };
        events.push_back(self.line(part, None));
    }

    fn close(
        &mut self,
        part: Part,
        _end: Option<&FinishedChoice>,
        events: &mut VecDeque<SseEvent>,
    ) {
        if let Part::Call { id, name } = part {
            let arguments = std::mem::take(&mut self.arguments);
            let mut part = AnswerPart::default();
            part.add_call(id, name, &arguments);
            events.push_back(self.line(part, None));
        }
    }

    fn end(&mut self, end: &FinishedChoice, events: &mut VecDeque<SseEvent>) {
        events.push_back(self.line(AnswerPart::default(), Some(AnswerEnd::of(end))));
    }

    fn fail(&mut self, error: &ApiError, events: &mut VecDeque<SseEvent>) {
        events.push_back(SseEvent::data(&error.ollama()));
    }
}
