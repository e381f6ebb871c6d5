//! Endpoints that add, change or remove models: this server only has the model that it was started with.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::show::OllamaModelName;
use crate::errors::{ApiError, shortened};
use crate::request::Body;
use crate::state::App;

/// The status of a download.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaStatus {
    /// Always `success`.
    status: &'static str,
}

/// Succeeds for the served model, which needs no download.
#[utoipa::path(post, path = "/api/pull", tag = "ollama", request_body = OllamaModelName,
    responses(
        (status = 200, description = "The status; with `stream` false, one object.", content(
            (OllamaStatus = "application/x-ndjson"), (OllamaStatus = "application/json")))))]
pub(crate) async fn pull(
    State(app): State<Arc<App>>,
    Body { request, .. }: Body<OllamaModelName>,
) -> Result<Response, ApiError> {
    let model = app.model()?;
    let name = request.model.or(request.name).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ApiError::invalid("model", "model is missing"))?;
    let untagged = name.strip_suffix(":latest").unwrap_or(&name);
    if !model.names.iter().any(|known| known == untagged || *known == name) {
        let message = format!(
            "this server only has {} and cannot download {:?}; restart it with -m hf:OWNER/REPO to serve another model",
            model.names.join(", "),
            shortened(&name)
        );
        return Err(ApiError::new(StatusCode::NOT_FOUND, message).with_code("model_not_found"));
    }
    let mut response = Json(OllamaStatus { status: "success" }).into_response();
    if request.stream.unwrap_or(true) {
        let value = header::HeaderValue::from_static("application/x-ndjson");
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    Ok(response)
}

/// The answer of endpoints that would change which models there are.
pub(crate) async fn unavailable() -> ApiError {
    let message = "this server only has the model that it was started with, which cannot be changed over HTTP";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, message).with_code("not_supported")
}
