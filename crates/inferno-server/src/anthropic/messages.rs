//! `/v1/messages`.

mod response;
mod stream;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use inferno_engine::{GenerationParams, SamplingParams, StopParams};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::conversation::{Conversation, ConversationFields};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun, PartStream};
use crate::errors::ApiError;
use crate::request::{Body, Reader, RequestBody, UnknownFields, Unsupported, fresh_id};
use crate::sse;
use crate::state::App;
pub(crate) use response::Message;
use stream::{MessageEvent, MessageTeller};

/// A conversation to be answered.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct MessagesRequest {
    #[serde(flatten)]
    conversation: ConversationFields,
    #[serde(flatten)]
    answer: AnswerFields,
}

/// How to answer.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct AnswerFields {
    /// Maximum number of generated tokens.
    #[schema(minimum = 1)]
    max_tokens: usize,
    /// Texts before which the answer ends.
    stop_sequences: Option<Vec<String>>,
    /// Streams the answer as server-sent events.
    stream: Option<bool>,
    /// Sampling temperature; higher values are more random, 0 is greedy.
    #[schema(minimum = 0.0)]
    temperature: Option<f32>,
    /// Keeps this many of the most probable tokens.
    top_k: Option<usize>,
    /// Nucleus sampling: samples from the most probable tokens whose probabilities add up to this.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0)]
    top_p: Option<f32>,
    /// An identifier of the end user; ignored.
    #[allow(dead_code, reason = "accepted and ignored")]
    metadata: Option<Map<String, Value>>,
    /// `auto` or `standard_only`.
    #[schema(pattern = "^(auto|standard_only)$")]
    service_tier: Option<String>,
}

impl RequestBody for MessagesRequest {
    const UNSUPPORTED: &'static [&'static [Unsupported]] = &[&[
        ("mcp_servers", "tools are called by the client"),
        ("container", "nothing is run here"),
        ("diagnostics", "the log says why a prompt was computed"),
        ("output_format", "use output_config.format"),
        ("inference_geo", "the answer is made here"),
    ]];
    const ELSEWHERE: &'static [Unsupported] = &[
        ("max_completion_tokens", "use max_tokens"),
        ("max_output_tokens", "use max_tokens"),
        ("stop", "use stop_sequences"),
        ("reasoning_effort", "use output_config.effort"),
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { conversation: reader.part()?, answer: reader.part()? })
    }
}

/// A conversation to be rendered, with nothing said about its answer.
pub(super) fn chat_job(conversation: Conversation) -> ChatJob {
    let Conversation { messages, tools, variables, format, thinking_budget, goes_on } =
        conversation;
    ChatJob {
        messages,
        messages_field: "messages",
        tools,
        variables,
        format,
        format_field: "output_config.format",
        thinking_budget,
        add_generation_prompt: !goes_on,
        continue_final_message: goes_on,
        num_choices: 1,
        ..ChatJob::default()
    }
}

impl AnswerFields {
    /// What the engine is asked for, over what the model's file recommends.
    fn params(&self, recommended: &SamplingParams) -> Result<GenerationParams, ApiError> {
        let base = recommended.for_temperature(self.temperature);
        let sampling = SamplingParams {
            temperature: self.temperature.unwrap_or(base.temperature),
            top_k: self.top_k.unwrap_or(base.top_k),
            top_p: self.top_p.unwrap_or(base.top_p),
            ..base
        };
        sampling.validate()?;
        let stop = StopParams {
            max_tokens: Some(self.max_tokens),
            stop: self.stop_sequences.clone().unwrap_or_default(),
            ..StopParams::default()
        };
        if let Some(index) = stop.stop.iter().position(String::is_empty) {
            let message = format!("stop_sequences.{index} is empty; leave it out");
            return Err(ApiError::invalid("stop_sequences", message));
        }
        stop.validate()?;
        Ok(GenerationParams { sampling, stop, ..GenerationParams::default() })
    }
}

impl MessagesRequest {
    fn job(self, model: &ServedModel, unknown: UnknownFields) -> Result<ChatJob, ApiError> {
        let Self { conversation, answer } = self;
        if !matches!(answer.service_tier.as_deref(), None | Some("auto" | "standard_only")) {
            return Err(ApiError::unsupported("service_tier", "there is one, \"auto\""));
        }
        let params = answer.params(&model.sampling)?;
        Ok(ChatJob { params, ..chat_job(conversation.read(model, unknown)?) })
    }
}

/// Answers a conversation.
#[utoipa::path(post, path = "/v1/messages", tag = "anthropic",
    request_body = MessagesRequest,
    responses(
        (status = 200, description = "The answer; with stream, its parts as server-sent events.", content(
            (Message = "application/json"), (MessageEvent = "text/event-stream")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation }: Body<MessagesRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.conversation.model.as_deref())?;
    let is_streamed = request.answer.stream == Some(true);
    let unknown = app.options.unknown_fields();
    let reader = Arc::clone(&model);
    let job = preparation.run(move || request.job(&reader, unknown)).await?;
    let run = ChatRun::begin(&app, &model, preparation, job).await?;
    let id = fresh_id("msg_");
    if is_streamed {
        let stream = PartStream::new(run, MessageTeller::new(id));
        return Ok(sse::respond(stream, app.options.limits.keep_alive));
    }
    match run.complete().await?.0.pop() {
        Some((answer, end)) => {
            Ok(axum::Json(Message::new(id, &model, answer, &end)).into_response())
        }
        None => Err(ApiError::internal("there is no answer")),
    }
}
