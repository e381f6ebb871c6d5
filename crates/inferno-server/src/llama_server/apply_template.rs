//! `/apply-template`: the rendered prompt of a chat.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::openai::chat::{ChatCompletionRequest, rendered};
use crate::request::Body;
use crate::state::App;

/// A rendered prompt.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaPromptText {
    /// The output of the chat template.
    prompt: String,
}

/// Renders the prompt of a conversation without generating an answer.
#[utoipa::path(post, path = "/apply-template", tag = "llama-server", request_body = ChatCompletionRequest,
    responses((status = 200, body = LlamaPromptText)))]
pub(crate) async fn apply(
    State(app): State<Arc<App>>,
    body: Body<ChatCompletionRequest>,
) -> Result<Json<LlamaPromptText>, ApiError> {
    Ok(Json(LlamaPromptText { prompt: rendered(app, body).await?.text }))
}
