//! `/v1/responses/{id}`: responses that are kept.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::response::ResponseObject;
use crate::errors::{ApiError, OpenAiError};
use crate::request::Segment;
use crate::state::App;

/// A response that is kept no longer.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeletedResponse {
    id: String,
    /// Always `response`.
    object: &'static str,
    /// Always true.
    deleted: bool,
}

pub(super) fn not_found(id: &str) -> ApiError {
    let message =
        format!("there is no response {id:?}: it was never kept, or has made room for later ones");
    ApiError::new(StatusCode::NOT_FOUND, message).with_code("response_not_found")
}

/// A response that is kept, as it ended.
#[utoipa::path(get, path = "/v1/responses/{id}", tag = "openai",
    params(("id" = String, Path, description = "That of the response.")),
    responses(
        (status = 200, description = "The response.", body = ResponseObject),
        (status = 400, description = "The id is no text, or more is asked for than the response.", body = OpenAiError)
    ))]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Segment(id): Segment,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    if let Some(name) = query
        .iter()
        .flat_map(|query| query.split('&'))
        .find(|it| !matches!(*it, "" | "stream=false"))
    {
        return Err(ApiError::unsupported(name, "a kept response is told whole"));
    }
    let kept = app.responses.get(&id).ok_or_else(|| not_found(&id))?;
    let content_type = (header::CONTENT_TYPE, "application/json");
    Ok(([content_type], kept.response.clone()).into_response())
}

/// Forgets a response.
#[utoipa::path(delete, path = "/v1/responses/{id}", tag = "openai",
    params(("id" = String, Path, description = "That of the response.")),
    responses(
        (status = 200, body = DeletedResponse),
        (status = 400, description = "The id is no text.", body = OpenAiError)
    ))]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Segment(id): Segment,
) -> Result<Json<DeletedResponse>, ApiError> {
    match app.responses.remove(&id) {
        true => Ok(Json(DeletedResponse { id, object: "response", deleted: true })),
        false => Err(not_found(&id)),
    }
}
