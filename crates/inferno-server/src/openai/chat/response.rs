//! Chat completions.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ServedModel;
use crate::chat::{Answer, AnswerByKind, FinishedChoice, ToolCall};
use crate::generation::{StopCause, TokenCounts};
use crate::llama_server::completion::LlamaCompletion;
use crate::openai::logprobs::ChatLogprobs;
use crate::openai::timings::RequestTimings;
use crate::openai::usage::Usage;
use crate::operation::version::BUILD_INFO;
use crate::time::unix_seconds;

/// A chat completion.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChatCompletion {
    id: String,
    /// Always `chat.completion`.
    object: &'static str,
    /// Seconds since 1970.
    created: u64,
    model: String,
    choices: Vec<ChatChoice>,
    usage: Usage,
    /// With `timings_per_token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<RequestTimings>,
    /// The build of the server.
    system_fingerprint: &'static str,
    /// With `verbose`, the first choice as `/completion` returns it.
    #[serde(rename = "__verbose", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LlamaCompletion>)]
    details: Option<Value>,
}

/// A choice.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChatChoice {
    index: usize,
    message: AnswerMessage,
    logprobs: Option<ChatLogprobs>,
    /// `stop`, `length` or `tool_calls`.
    finish_reason: &'static str,
    /// The stop sequence or stop token that was generated.
    #[schema(value_type = Option<Object>)]
    stop_reason: Value,
}

/// The message of the model.
#[derive(Serialize, ToSchema)]
pub(crate) struct AnswerMessage {
    /// Always `assistant`.
    role: &'static str,
    /// Null if there are only tool calls.
    content: Option<String>,
    /// Always null.
    refusal: Option<String>,
    /// The reasoning before the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<AnswerCall>,
}

/// A tool call.
#[derive(Serialize, ToSchema)]
pub(crate) struct AnswerCall {
    id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    kind: &'static str,
    function: AnswerFunction,
}

/// The called function.
#[derive(Serialize, ToSchema)]
pub(crate) struct AnswerFunction {
    name: String,
    /// JSON, as the model generated it.
    arguments: String,
}

impl From<ToolCall> for AnswerCall {
    fn from(call: ToolCall) -> Self {
        let ToolCall { id, name, arguments } = call;
        Self { id, kind: "function", function: AnswerFunction { name, arguments } }
    }
}

impl ChatCompletion {
    pub fn new(
        id: String,
        model: &ServedModel,
        choices: Vec<(Answer, FinishedChoice)>,
        counts: &TokenCounts,
        has_timings: bool,
    ) -> Self {
        let choice = |(index, (answer, end))| ChatChoice::new(index, answer, &end, model);
        Self {
            id,
            object: "chat.completion",
            created: unix_seconds(),
            model: model.info.name().to_owned(),
            choices: choices.into_iter().enumerate().map(choice).collect(),
            usage: Usage::of_chat(counts),
            timings: has_timings.then(|| RequestTimings::of(counts)),
            system_fingerprint: BUILD_INFO,
            details: None,
        }
    }

    pub fn with_details(self, details: Option<Value>) -> Self {
        Self { details, ..self }
    }
}

impl ChatChoice {
    fn new(index: usize, answer: Answer, end: &FinishedChoice, model: &ServedModel) -> Self {
        let AnswerByKind { reasoning, content, calls, tokens } = answer.by_kind();
        Self {
            index,
            message: AnswerMessage {
                role: "assistant",
                content: (!content.is_empty() || calls.is_empty()).then_some(content),
                refusal: None,
                reasoning_content: (!reasoning.is_empty()).then_some(reasoning),
                tool_calls: calls.into_iter().map(AnswerCall::from).collect(),
            },
            logprobs: ChatLogprobs::of(&tokens, model.tokenizer()),
            finish_reason: finish_reason(end),
            stop_reason: stop_reason(&end.finish.cause),
        }
    }
}

/// OpenAI's finish reason.
pub(super) fn finish_reason(end: &FinishedChoice) -> &'static str {
    match end.finish.cause {
        StopCause::Length => "length",
        _ if end.num_calls > 0 => "tool_calls",
        _ => "stop",
    }
}

/// vLLM's stop reason: the stop sequence or stop token.
pub(crate) fn stop_reason(cause: &StopCause) -> Value {
    match cause {
        StopCause::Text(text) => json!(text),
        StopCause::Token(token) => json!(token),
        StopCause::EndOfGeneration | StopCause::Length => Value::Null,
    }
}
