//! `/v1/responses/{id}`: stored responses.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::response::ResponseObject;
use crate::errors::{ApiError, OpenAiError, shortened};
use crate::request::Segment;
use crate::state::App;

/// A deleted response.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeletedResponse {
    id: String,
    /// Always `response`.
    object: &'static str,
    /// Always true.
    deleted: bool,
}

pub(super) fn not_found(id: &str) -> ApiError {
    let message = format!("response {:?} not found, or evicted", shortened(id));
    ApiError::new(StatusCode::NOT_FOUND, message).with_code("response_not_found")
}

/// Returns a stored response.
#[utoipa::path(get, path = "/v1/responses/{id}", tag = "openai",
    params(("id" = String, Path, description = "Id of the response.")),
    responses(
        (status = 200, description = "The response.", body = ResponseObject),
        (status = 400, description = "The id is not valid UTF-8, or the query is unsupported.", body = OpenAiError)
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
        return Err(ApiError::unsupported(name, "stored responses are returned as a whole"));
    }
    let stored = app.responses.get(&id).ok_or_else(|| not_found(&id))?;
    let content_type = (header::CONTENT_TYPE, "application/json");
    Ok(([content_type], stored.response.clone()).into_response())
}

/// Deletes a stored response.
#[utoipa::path(delete, path = "/v1/responses/{id}", tag = "openai",
    params(("id" = String, Path, description = "Id of the response.")),
    responses(
        (status = 200, body = DeletedResponse),
        (status = 400, description = "The id is not valid UTF-8.", body = OpenAiError)
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
