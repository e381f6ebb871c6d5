//! `/v1/chat/completions/render`: the rendered prompt.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::chat::ChatCompletionRequest;
use crate::errors::ApiError;
use crate::request::Body;
use crate::state::App;

/// A rendered prompt.
#[derive(Serialize, ToSchema)]
pub(crate) struct RenderedPrompt {
    /// The output of the chat template.
    prompt: String,
    /// The tokens of the prompt.
    token_ids: Vec<u32>,
}

/// Renders the prompt of a conversation without generating an answer.
#[utoipa::path(post, path = "/v1/chat/completions/render", tag = "openai",
    request_body = ChatCompletionRequest,
    responses((status = 200, body = RenderedPrompt)))]
pub(crate) async fn render(
    State(app): State<Arc<App>>,
    Body { request, preparation }: Body<ChatCompletionRequest>,
) -> Result<Json<RenderedPrompt>, ApiError> {
    let model = app.model_named(request.model_name())?;
    let rendered = preparation.run(move || request.job(&app, &model)?.render(&model)).await?;
    Ok(Json(RenderedPrompt { prompt: rendered.text, token_ids: rendered.tokens }))
}
