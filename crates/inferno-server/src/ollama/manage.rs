//! Endpoints that add, change or remove models, which this server does not do.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::show::OllamaModelName;
use crate::errors::{ApiError, shortened};
use crate::request::Body;
use crate::state::{App, names};

/// The status of a download.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaStatus {
    /// Always `success`.
    status: &'static str,
}

/// Succeeds for models of this server, which need no download.
#[utoipa::path(post, path = "/api/pull", tag = "ollama", request_body = OllamaModelName,
    responses(
        (status = 200, description = "The status; with `stream` false, one object.", content(
            (OllamaStatus = "application/x-ndjson"), (OllamaStatus = "application/json")))))]
pub(crate) async fn pull(
    State(app): State<Arc<App>>,
    Body { request, .. }: Body<OllamaModelName>,
) -> Result<Response, ApiError> {
    let name = request.model.or(request.name).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ApiError::invalid("model", "model is missing"))?;
    let listed = app.listed().await?;
    if !listed.iter().any(|info| info.has_name(&name)) {
        let message = format!(
            "this server only has {} and cannot download {:?}; download it with \"inferno pull\", and serve it with -m or --on-demand",
            names(&listed),
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

/// The answer to a request that only unloads a model, as `ollama stop` sends it: one to `path` without a prompt or messages.
pub(crate) fn unloaded(path: &str, body: &[u8]) -> Option<Response> {
    /// Larger bodies have a prompt.
    const MAX_BYTES: usize = 4096;
    let content = match path {
        "/api/generate" => "prompt",
        "/api/chat" => "messages",
        _ => return None,
    };
    let body: Value = serde_json::from_slice(body).ok().filter(|_| body.len() <= MAX_BYTES)?;
    let is_empty = match &body[content] {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    let (field, empty) = match content {
        "prompt" => ("response", json!("")),
        _ => ("message", json!({"role": "assistant", "content": ""})),
    };
    is_empty.then(|| {
        let answer = json!({
            "model": body["model"], "created_at": Timestamp::now().to_string(), field: empty,
            "done": true, "done_reason": "unload",
        });
        Json(answer).into_response()
    })
}

/// The answer of endpoints that would change which models there are.
pub(crate) async fn unavailable() -> ApiError {
    let message = "models cannot be changed over HTTP; use the command line, such as \"inferno pull\" and \"inferno rm\"";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, message).with_code("not_supported")
}
