//! `/v1/chat/completions/render` and `/v1/completions/render`: prompts without answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::chat::{ChatCompletionRequest, rendered};
use super::completions::CompletionRequest;
use crate::errors::ApiError;
use crate::request::Body;
use crate::state::App;

/// A rendered conversation.
#[derive(Serialize, ToSchema)]
pub(crate) struct RenderedPrompt {
    /// The output of the chat template.
    prompt: String,
    /// The tokens of the prompt.
    token_ids: Vec<u32>,
}

/// The tokens of a prompt.
#[derive(Serialize, ToSchema)]
pub(crate) struct EncodedTokens {
    token_ids: Vec<u32>,
}

/// The tokens of each prompt, in the order of the request.
#[derive(Serialize, ToSchema)]
#[serde(transparent)]
pub(crate) struct RenderedCompletions(Vec<EncodedTokens>);

/// Renders the prompt of a conversation without generating an answer.
#[utoipa::path(post, path = "/v1/chat/completions/render", tag = "openai",
    request_body = ChatCompletionRequest,
    responses((status = 200, body = RenderedPrompt)))]
pub(crate) async fn chat(
    State(app): State<Arc<App>>,
    body: Body<ChatCompletionRequest>,
) -> Result<Json<RenderedPrompt>, ApiError> {
    let rendered = rendered(app, body).await?;
    Ok(Json(RenderedPrompt { prompt: rendered.text, token_ids: rendered.tokens }))
}

/// Encodes the prompts of a completion without generating an answer.
#[utoipa::path(post, path = "/v1/completions/render", tag = "openai",
    request_body = CompletionRequest,
    responses((status = 200, body = RenderedCompletions)))]
pub(crate) async fn completion(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<CompletionRequest>,
) -> Result<Json<RenderedCompletions>, ApiError> {
    let model = app.model_named(request.model_name())?;
    let prompts = preparation.run(move || request.prompts(&app, &model, &unknown)).await?;
    let encoded = prompts.into_iter().map(|token_ids| EncodedTokens { token_ids });
    Ok(Json(RenderedCompletions(encoded.collect())))
}
