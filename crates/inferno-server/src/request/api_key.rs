//! API keys.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use subtle::{Choice, ConstantTimeEq};

use crate::errors::ApiError;
use crate::state::App;

/// Accepts requests that send one of the server's keys, as `Authorization: Bearer KEY` or `x-api-key: KEY`.
pub(crate) async fn require_api_key(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let keys = &app.options.api_keys;
    if !keys.is_empty() {
        let key = sent_key(request.headers()).ok_or_else(|| {
            unauthorized(
                "missing API key; send \"Authorization: Bearer KEY\" or \"x-api-key: KEY\"",
            )
        })?;
        if !is_one_of(key, keys) {
            return Err(unauthorized("invalid API key"));
        }
    }
    Ok(next.run(request).await)
}

fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, message).with_code("invalid_api_key")
}

fn sent_key(headers: &HeaderMap) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    if let Some(value) = headers.get("x-api-key") {
        return Some(value.as_bytes());
    }
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, key) = value.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| key.trim_ascii())
}

/// Compares in constant time, whichever key matches and wherever a wrong one differs.
fn is_one_of(sent: &[u8], keys: &[String]) -> bool {
    let fits = keys.iter().fold(Choice::from(0), |fits, key| fits | key.as_bytes().ct_eq(sent));
    fits.into()
}
