//! `/v1/chat/completions/input_tokens`: counts the prompt tokens of a chat.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::anthropic::count_tokens::TokenCount;
use crate::errors::ApiError;
use crate::openai::chat::{ChatCompletionRequest, rendered};
use crate::request::Body;
use crate::state::App;

/// Counts the prompt tokens of a conversation.
#[utoipa::path(post, path = "/v1/chat/completions/input_tokens", tag = "llama-server",
    request_body = ChatCompletionRequest,
    responses((status = 200, body = TokenCount)))]
pub(crate) async fn count(
    State(app): State<Arc<App>>,
    body: Body<ChatCompletionRequest>,
) -> Result<Json<TokenCount>, ApiError> {
    Ok(Json(TokenCount { input_tokens: rendered(app, body).await?.tokens.len() }))
}
