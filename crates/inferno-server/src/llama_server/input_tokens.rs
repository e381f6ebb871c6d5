//! `/v1/chat/completions/input_tokens`: counts the prompt tokens of a chat.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::openai::chat::ChatCompletionRequest;
use crate::request::Body;
use crate::state::App;

/// The number of prompt tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaInputTokens {
    input_tokens: usize,
}

/// Counts the prompt tokens of a conversation.
#[utoipa::path(post, path = "/v1/chat/completions/input_tokens", tag = "llama-server",
    request_body = ChatCompletionRequest,
    responses((status = 200, body = LlamaInputTokens)))]
pub(crate) async fn count(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<ChatCompletionRequest>,
) -> Result<Json<LlamaInputTokens>, ApiError> {
    let model = app.model_named(request.model_name())?;
    let rendered =
        preparation.run(move || request.job(&app, &model, &unknown)?.render(&model)).await?;
    Ok(Json(LlamaInputTokens { input_tokens: rendered.tokens.len() }))
}
