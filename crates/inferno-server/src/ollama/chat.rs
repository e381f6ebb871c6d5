//! `/api/chat`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::answer_fields::OllamaAnswerFields;
use super::lines::{AnswerEnd, AnswerPart, Line, LineEvents, OllamaChatAnswer, chat_line, whole};
use super::messages::{OllamaMessage, for_template};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun, PartStream};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable, UnknownFields};
use crate::openai::tools::{self, ToolField};
use crate::request::{Body, Reader, RequestBody};
use crate::sse;
use crate::state::App;

/// A chat request.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaChatRequest {
    #[serde(flatten)]
    conversation: OllamaConversation,
    #[serde(flatten)]
    answer: OllamaAnswerFields,
}

/// The conversation.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaConversation {
    /// The conversation, oldest message first. A last message of the assistant is continued.
    messages: Option<Vec<OllamaMessage>>,
    /// Functions that the model may call.
    tools: Option<Vec<ToolField>>,
}

impl RequestBody for OllamaChatRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::ollama::ANSWER];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { conversation: reader.part()?, answer: reader.part()? })
    }
}

impl OllamaChatRequest {
    fn job(self, model: &ServedModel, unknown: &UnknownFields) -> Result<ChatJob, ApiError> {
        let Self { conversation, answer } = self;
        let messages = for_template(conversation.messages.unwrap_or_default())?;
        let continues_last = messages.last().is_some_and(|last| last["role"] == "assistant");
        Ok(ChatJob {
            messages,
            messages_field: "messages",
            tools: tools::tools(conversation.tools, None, None, unknown)?,
            format: answer.format()?,
            format_field: "format",
            variables: answer.variables()?,
            reasoning_effort: answer.effort(),
            add_generation_prompt: !continues_last,
            continue_final_message: continues_last,
            params: answer.params(model, unknown)?,
            num_choices: 1,
            ..ChatJob::default()
        })
    }
}

/// Answers a conversation. Without messages, it returns at once: the model stays loaded.
#[utoipa::path(post, path = "/api/chat", tag = "ollama",
    request_body = OllamaChatRequest,
    responses(
        (status = 200, description = "Parts of the answer, one JSON object per line; with `stream` false, one object.", content(
            (OllamaChatAnswer = "application/x-ndjson"), (OllamaChatAnswer = "application/json")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<OllamaChatRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.answer.model.as_deref())?;
    let name = request.answer.model.clone().unwrap_or_else(|| model.info.name().to_owned());
    if request.conversation.messages.as_ref().is_none_or(Vec::is_empty) {
        let line = chat_line(&name, AnswerPart::default(), Some(AnswerEnd::loaded()));
        return Ok(Json(line).into_response());
    }
    let is_streamed = request.answer.is_streamed();
    let reader = Arc::clone(&model);
    let job = preparation.run(move || request.job(&reader, &unknown)).await?;
    let run = ChatRun::begin(&app, &model, preparation, job).await?;
    respond(run, name, is_streamed, chat_line).await
}

/// The response with the answer of a model that the request called `name`.
///
/// **Errors**: an answer that is not streamed and cut short.
pub(super) async fn respond<T: Serialize + 'static>(
    run: ChatRun,
    name: String,
    is_streamed: bool,
    line: Line<T>,
) -> Result<Response, ApiError> {
    if is_streamed {
        return Ok(sse::respond_lines(PartStream::new(run, LineEvents::new(name, line))));
    }
    match run.complete().await?.0.pop() {
        Some((answer, end)) => {
            let (part, end) = whole(answer, &end);
            Ok(Json(line(&name, part, Some(end))).into_response())
        }
        None => Err(ApiError::internal("the engine returned no answer")),
    }
}
