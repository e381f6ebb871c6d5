//! `/detokenize`: decodes tokens.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// Tokens to decode.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DetokenizeRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    tokens: Vec<u32>,
}

/// The decoded text.
#[derive(Serialize, ToSchema)]
pub(crate) struct DetokenizeResponse {
    prompt: String,
    /// The same text, under llama-server's name.
    content: String,
}

impl RequestBody for DetokenizeRequest {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

/// Decodes tokens to text, including control tokens.
#[utoipa::path(post, path = "/detokenize", tag = "tokens", request_body = DetokenizeRequest,
    responses((status = 200, body = DetokenizeResponse)))]
pub(crate) async fn detokenize(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<DetokenizeRequest>,
) -> Result<Json<DetokenizeResponse>, ApiError> {
    let model = app.model_named(request.model.as_deref())?;
    let decode = move || {
        let text = model.tokenizer().decode(&request.tokens, false);
        text.map_err(|error| ApiError::invalid("tokens", error.to_string()))
    };
    let prompt = preparation.run(decode).await?;
    Ok(Json(DetokenizeResponse { content: prompt.clone(), prompt }))
}
