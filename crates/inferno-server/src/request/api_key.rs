//! API keys.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
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
        let mut sent = sent_keys(request.headers()).peekable();
        if sent.peek().is_none() {
            return Err(unauthorized(
                "missing API key; send \"Authorization: Bearer KEY\" or \"x-api-key: KEY\"",
            ));
        }
        if !sent.any(|key| is_one_of(key, keys)) {
            return Err(unauthorized("invalid API key"));
        }
    }
    Ok(next.run(request).await)
}

fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, message).with_code("invalid_api_key")
}

/// The keys of both headers: some clients send one of another server along.
fn sent_keys(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let key = headers.get("x-api-key").map(HeaderValue::as_bytes);
    key.into_iter().chain(headers.get(header::AUTHORIZATION).and_then(bearer))
}

/// The token of `Bearer TOKEN`.
fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, key) = value.as_bytes().split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| key.trim_ascii())
}

/// Compares in constant time, whichever key matches and wherever a wrong one differs.
fn is_one_of(sent: &[u8], keys: &[String]) -> bool {
    let fits = keys.iter().fold(Choice::from(0), |fits, key| fits | key.as_bytes().ct_eq(sent));
    fits.into()
}
