//! `/v1/chat/completions/render`, `/v1/completions/render` and `/v1/responses/render`: prompts without answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::chat::{ChatCompletionRequest, rendered};
use super::completions::CompletionRequest;
use super::responses::ResponsesRequest;
use super::responses::input_tokens;
use crate::chat::Rendered;
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

impl From<Rendered> for RenderedPrompt {
    fn from(rendered: Rendered) -> Self {
        Self { prompt: rendered.text, token_ids: rendered.tokens }
    }
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
    Ok(Json(rendered(app, body).await?.into()))
}

/// Renders the prompt of a response, including the conversation that it continues, without generating an answer.
#[utoipa::path(post, path = "/v1/responses/render", tag = "openai",
    request_body = ResponsesRequest,
    responses((status = 200, body = RenderedPrompt)))]
pub(crate) async fn response(
    State(app): State<Arc<App>>,
    body: Body<ResponsesRequest>,
) -> Result<Json<RenderedPrompt>, ApiError> {
    Ok(Json(input_tokens::rendered(app, body).await?.into()))
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
