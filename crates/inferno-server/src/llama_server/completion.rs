//! `/completion`.

mod answer;
mod answer_fields;
mod details;
mod logit_bias;
mod probabilities;
mod prompt;
mod stream;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use inferno_engine::GenerationParams;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::ServedModel;
use crate::chat::ChatRun;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::generation::engine_stopped;
use crate::llama_sampling::LlamaSampling;
use crate::request::{Body, Preparation, Reader, RequestBody};
use crate::sse;
use crate::state::App;
use answer::{AnswerFormat, CompletedPrompt};
pub(crate) use answer::{LlamaCompletion, settings};
pub(crate) use answer_fields::LlamaAnswerFields;
pub(crate) use details::AnswerDetails;
pub(crate) use prompt::{Prompts, encode_completed, prompts};
use stream::CompletionStream;

/// A prompt, and how to complete it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct LlamaCompletionRequest {
    #[serde(flatten)]
    prompt: LlamaPrompt,
    #[serde(flatten)]
    answer: LlamaAnswerFields,
    #[serde(flatten)]
    sampling: LlamaSampling,
}

/// The prompt.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct LlamaPrompt {
    /// A string, an array of tokens and strings, or an object with a `prompt_string`; an array of these for several prompts,
    /// whose answers are returned as an array.
    prompt: Value,
}

impl RequestBody for LlamaCompletionRequest {
    const UNIMPLEMENTED: &'static [FieldTable] =
        &[fields::llama_server::COMPLETION, fields::llama_server::SAMPLERS];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { prompt: reader.part()?, answer: reader.part()?, sampling: reader.part()? })
    }
}

/// Completes prompts.
#[utoipa::path(post, path = "/completion", tag = "llama-server", request_body = LlamaCompletionRequest,
    responses(
        (status = 200, description = "The completion; with `stream`, parts of it as server-sent events.", content(
            (LlamaCompletion = "application/json"), (LlamaCompletion = "text/event-stream")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<LlamaCompletionRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.answer.model.as_deref())?;
    let LlamaCompletionRequest { prompt, answer, sampling } = request;
    let read =
        move |model: &ServedModel| prompts(&prompt.prompt, "prompt", encode_completed(model));
    complete(&app, &model, preparation, read, answer, sampling).await
}

/// Completes the prompts that `read` returns.
///
/// **Errors**: an invalid prompt or field; what the engine rejects.
pub(super) async fn complete(
    app: &Arc<App>,
    model: &Arc<ServedModel>,
    preparation: Preparation,
    read: impl FnOnce(&ServedModel) -> Result<Prompts, ApiError> + Send + 'static,
    answer: LlamaAnswerFields,
    sampling: LlamaSampling,
) -> Result<Response, ApiError> {
    let is_streamed = answer.stream == Some(true);
    let (reader, unknown) = (Arc::clone(model), preparation.unknown.clone());
    let prepared = preparation.run(move || {
        let prompts = read(&reader)?;
        let jobs = answer.jobs(&prompts.tokens, &sampling, &reader, &unknown)?;
        let params = jobs.first().map_or_else(GenerationParams::default, |job| job.params.clone());
        let format = AnswerFormat::new(&prompts.tokens, answer, &params, &reader);
        Ok((prompts.are_many, jobs, format))
    });
    let (are_many, jobs, format) = prepared.await?;
    let runs = ChatRun::begin_texts(app, model, preparation, jobs).await?;
    if is_streamed {
        let keep_alive = app.options.limits.keep_alive;
        return Ok(sse::respond(CompletionStream::new(runs, format), keep_alive));
    }
    let mut answers = Vec::new();
    for (index, run) in runs.into_iter().enumerate() {
        let (mut choices, counts) = run.complete().await?;
        let (answer, end) = choices.pop().ok_or_else(engine_stopped)?;
        answers.push(format.whole(index, CompletedPrompt { answer, end, counts }));
    }
    Ok(match (are_many, answers.pop()) {
        (false, Some(answer)) => Json(answer).into_response(),
        (_, last) => {
            answers.extend(last);
            Json(answers).into_response()
        }
    })
}
