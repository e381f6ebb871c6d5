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

use super::conversation::{ConversationFields, TemplateConversation};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun, PartStream};
use crate::errors::ApiError;
use crate::request::{Body, Reader, RequestBody, UnknownFields, Unsupported, fresh_id};
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
        ("container", "code execution is not available"),
        ("diagnostics", "see the server log"),
        ("output_format", "use output_config.format"),
        ("inference_geo", "requests are always processed by this server"),
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

/// A job for a conversation, with default generation parameters.
pub(super) fn chat_job(conversation: TemplateConversation) -> ChatJob {
    let TemplateConversation {
        messages,
        tools,
        variables,
        format,
        thinking_budget,
        continues_last,
    } = conversation;
    ChatJob {
        messages,
        messages_field: "messages",
        tools,
        variables,
        format,
        format_field: "output_config.format",
        thinking_budget,
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
    fn job(self, model: &ServedModel, unknown: UnknownFields) -> Result<ChatJob, ApiError> {
        let Self { conversation, answer } = self;
        if !matches!(answer.service_tier.as_deref(), None | Some("auto" | "standard_only")) {
            return Err(ApiError::unsupported("service_tier", "only \"auto\" is available"));
        }
        let params = answer.params(&model.sampling)?;
        Ok(ChatJob { params, ..chat_job(conversation.read(model, unknown)?) })
    }
}

/// Creates a message.
#[utoipa::path(post, path = "/v1/messages", tag = "anthropic",
    request_body = MessagesRequest,
    responses(
        (status = 200, description = "The message; with `stream`, its events.", content(
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
        let stream = PartStream::new(run, MessageEvents::new(id));
        return Ok(sse::respond(stream, app.options.limits.keep_alive));
    }
    match run.complete().await?.0.pop() {
        Some((answer, end)) => {
            Ok(axum::Json(Message::new(id, &model, answer, &end)).into_response())
        }
        None => Err(ApiError::internal("the engine returned no answer")),
    }
}
