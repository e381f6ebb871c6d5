//! `/lora-adapters`: there are none.

use axum::Json;
use axum::http::StatusCode;
use serde_json::Value;

use crate::errors::ApiError;

/// Lists the adapters, of which there are none.
#[utoipa::path(get, path = "/lora-adapters", tag = "llama-server",
    responses((status = 200, description = "An empty array.", body = [Object])))]
pub(crate) async fn list() -> Json<[Value; 0]> {
    Json([])
}

/// Changing the scale of adapters is not supported.
pub(crate) async fn change() -> ApiError {
    let message = "adapters are not supported; merge them into the model";
    ApiError::new(StatusCode::BAD_REQUEST, message).with_code("not_supported")
}
