//! `/v1/messages/count_tokens`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::conversation::ConversationFields;
use super::messages::chat_job;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// A conversation to count the tokens of.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CountTokensRequest {
    #[serde(flatten)]
    conversation: ConversationFields,
}

/// The number of tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenCount {
    pub input_tokens: usize,
}

impl RequestBody for CountTokensRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::anthropic::CONVERSATION];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { conversation: reader.part()? })
    }
}

/// Counts the tokens of a conversation without generating an answer.
#[utoipa::path(post, path = "/v1/messages/count_tokens", tag = "anthropic",
    request_body = CountTokensRequest,
    responses((status = 200, body = TokenCount)))]
pub(crate) async fn count(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<CountTokensRequest>,
) -> Result<Json<TokenCount>, ApiError> {
    let model = app.model_named(request.conversation.model.as_deref())?;
    let rendered = preparation.run(move || {
        let job = chat_job(request.conversation.read(&unknown)?);
        job.render(&model)
    });
    let rendered = rendered.await?;
    Ok(Json(TokenCount { input_tokens: rendered.tokens.len() }))
}
