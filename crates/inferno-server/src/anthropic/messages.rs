//! `/v1/messages` and `/v1/messages/render`.

mod response;
mod stream;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use inferno_engine::{GenerationParams, SamplingParams, StopParams};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::conversation::{ConversationFields, TemplateConversation};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun, PartStream};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable, UnknownFields};
use crate::openai::render::RenderedPrompt;
use crate::request::{Body, Reader, RequestBody, fresh_id};
use crate::sse;
use crate::state::App;
pub(crate) use response::Message;
use stream::{MessageEvent, MessageEvents};

/// A message request.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct MessagesRequest {
    #[serde(flatten)]
    conversation: ConversationFields,
    #[serde(flatten)]
    answer: AnswerFields,
}

/// Sampling, stop conditions and streaming.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct AnswerFields {
    /// Maximum number of generated tokens.
    #[schema(minimum = 1)]
    max_tokens: usize,
    /// Stop sequences.
    stop_sequences: Option<Vec<String>>,
    /// Streams the answer as server-sent events.
    stream: Option<bool>,
    /// Sampling temperature; higher values are more random, 0 is greedy.
    #[schema(minimum = 0.0)]
    temperature: Option<f32>,
    /// Samples from this many of the most probable tokens.
    top_k: Option<usize>,
    /// Nucleus sampling: samples from the most probable tokens whose probabilities add up to this.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0)]
    top_p: Option<f32>,
    /// Only null is supported: a conversation is sent as a whole.
    thread: Option<Value>,
}

impl RequestBody for MessagesRequest {
    const UNIMPLEMENTED: &'static [FieldTable] =
        &[fields::anthropic::MESSAGES, fields::anthropic::CONVERSATION];
    const ELSEWHERE: &'static [(&'static str, &'static str)] = &[
        ("max_completion_tokens", "use max_tokens"),
        ("max_output_tokens", "use max_tokens"),
        ("stop", "use stop_sequences"),
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { conversation: reader.part()?, answer: reader.part()? })
    }
}

/// A job for a conversation, with default generation parameters.
pub(super) fn chat_job(conversation: TemplateConversation) -> ChatJob {
    let TemplateConversation {
        messages,
        tools,
        variables,
        format,
        reasoning_effort,
        reasoning_budget,
        continues_last,
    } = conversation;
    ChatJob {
        messages,
        messages_field: "messages",
        tools,
        variables,
        format,
        format_field: "output_config.format",
        reasoning_effort,
        reasoning_budget,
        add_generation_prompt: !continues_last,
        continue_final_message: continues_last,
        num_choices: 1,
        ..ChatJob::default()
    }
}

impl AnswerFields {
    /// Generation parameters, with the model's recommended defaults.
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
            let message = format!("stop_sequences.{index} must not be empty");
            return Err(ApiError::invalid("stop_sequences", message));
        }
        stop.validate()?;
        Ok(GenerationParams { sampling, stop, ..GenerationParams::default() })
    }
}

impl MessagesRequest {
    fn job(self, model: &ServedModel, unknown: &UnknownFields) -> Result<ChatJob, ApiError> {
        let Self { conversation, answer } = self;
        if answer.thread.is_some() {
            return Err(ApiError::thread_unsupported());
        }
        let params = answer.params(&model.info.sampling)?;
        Ok(ChatJob { params, ..chat_job(conversation.read(unknown)?) })
    }
}

/// Renders the prompt of a message without generating an answer.
#[utoipa::path(post, path = "/v1/messages/render", tag = "anthropic",
    request_body = MessagesRequest,
    responses((status = 200, body = RenderedPrompt)))]
pub(crate) async fn render(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<MessagesRequest>,
) -> Result<Json<RenderedPrompt>, ApiError> {
    let model = app.model_named(request.conversation.model.as_deref())?;
    let rendered = preparation.run(move || request.job(&model, &unknown)?.render(&model));
    Ok(Json(rendered.await?.into()))
}

/// Creates a message.
#[utoipa::path(post, path = "/v1/messages", tag = "anthropic",
    request_body = MessagesRequest,
    responses(
        (status = 200, description = "The message; with `stream`, its events.", content(
            (Message = "application/json"), (MessageEvent = "text/event-stream")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<MessagesRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.conversation.model.as_deref())?;
    let is_streamed = request.answer.stream == Some(true);
    let reader = Arc::clone(&model);
    let job = preparation.run(move || request.job(&reader, &unknown)).await?;
    let run = ChatRun::begin(&app, &model, preparation, job).await?;
    let id = fresh_id("msg_");
    if is_streamed {
        let stream = PartStream::new(run, MessageEvents::new(id));
        return Ok(sse::respond(stream, app.options.limits.keep_alive));
    }
    match run.complete().await?.0.pop() {
        Some((answer, end)) => Ok(Json(Message::new(id, &model, answer, &end)).into_response()),
        None => Err(ApiError::internal("the engine returned no answer")),
    }
}
