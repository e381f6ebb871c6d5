//! `/health`: readiness.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::state::{App, Readiness};

/// Readiness of the server.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ready`, `waiting_for_stage`, `loading`, `draining`, `dead` or `model_file_changed`.
    status: &'static str,
}

/// Returns 200 when the server accepts requests, even if they wait for a stage that was lost: only requests notice that
/// it has returned. Returns 503 while the server loads or drains, and after the engine died or the model's file was
/// overwritten.
#[utoipa::path(get, path = "/health", tag = "operation", responses(
    (status = 200, body = Health),
    (status = 503, body = Health),
))]
pub(crate) async fn health(State(app): State<Arc<App>>) -> Response {
    let (code, status) = match app.readiness() {
        Readiness::Ready => (StatusCode::OK, "ready"),
        Readiness::WaitingForStage => (StatusCode::OK, "waiting_for_stage"),
        Readiness::Loading => (StatusCode::SERVICE_UNAVAILABLE, "loading"),
        Readiness::Draining => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        Readiness::Dead => (StatusCode::SERVICE_UNAVAILABLE, "dead"),
        Readiness::ModelFileChanged => (StatusCode::SERVICE_UNAVAILABLE, "model_file_changed"),
    };
    (code, axum::Json(Health { status })).into_response()
}
