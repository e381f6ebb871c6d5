//! Ids of requests and responses.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use inferno_chat::unique_id;
use tracing::Instrument;

use super::origin::{RequestOrigin, TraceParent};
use crate::errors::{ApiError, shortened};

/// Identifies a request in its response and in the logs.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The header that Anthropic's clients read.
const ANTHROPIC_HEADER: HeaderName = HeaderName::from_static("request-id");
const MAX_LEN: usize = 128;
/// Assigns an id to a request, or keeps the one it sent, and returns it in the response headers.
pub(crate) async fn with_request_id(request: Request, next: Next) -> Response {
    let sent = request.headers().get(HEADER).and_then(|value| value.to_str().ok());
    let id = match sent {
        Some(id) if (1..=MAX_LEN).contains(&id.len()) => id.to_owned(),
        _ => unique_id("req_"),
    };
    let path = shortened(request.uri().path());
    let parent = TraceParent::of(request.headers());
    // Log lines can be found from the trace.
    let trace = parent.as_ref().map(|parent| parent.trace_id.as_str());
    let span = tracing::info_span!("request", %id, method = %request.method(), %path, trace);
    let origin = RequestOrigin { id: id.clone(), parent };
    let mut response = origin.scope(next.run(request).instrument(span.clone())).await;
    // Generation requests have a log line of their own, and successful probes need none.
    if let Some(error) = response.extensions().get::<ApiError>() {
        let _entered = span.enter();
        let status = response.status().as_u16();
        tracing::info!(status, error = %error.message, "request failed");
    }
    if let Ok(value) = HeaderValue::try_from(id) {
        response.headers_mut().insert(HEADER, value.clone());
        response.headers_mut().insert(ANTHROPIC_HEADER, value);
    }
    response
}
