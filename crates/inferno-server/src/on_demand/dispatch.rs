//! Passes requests on to the endpoints of the model that they name.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde::Deserialize;
use serde_json::Value;

use super::keep_alive::keep_alive;
use crate::errors::ApiError;
use crate::request::{not_json, receive_whole};
use crate::state::App;

/// The fields about the choice of the model, in bodies and queries.
#[derive(Default, Deserialize)]
struct Choice {
    model: Option<String>,
    /// Of Ollama's API.
    keep_alive: Option<Value>,
}

/// Answers a request by the model that it names, which is loaded first if necessary. On a server with one model, continues with
/// that one.
///
/// **Errors**: those of [`ModelPool::acquire`](super::ModelPool::acquire); a body that is too large or not JSON.
pub(crate) async fn dispatch(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let Some(pool) = app.pool() else { return Ok(next.run(request).await) };
    let (parts, body) = request.into_parts();
    let (choice, body) = match parts.method {
        Method::GET | Method::HEAD => (queried(&parts.uri), Body::empty()),
        _ => {
            let bytes = receive_whole(body, &app).await?;
            (sent(&bytes)?, Body::from(bytes))
        }
    };
    let name = choice.model.as_deref().filter(|name| !name.is_empty());
    let is_ollama = parts.uri.path().starts_with("/api/");
    let idle_timeout = choice.keep_alive.as_ref().filter(|_| is_ollama);
    let idle_timeout = idle_timeout.map(keep_alive).transpose()?;
    let mut lease = pool.acquire(&app, name).await?;
    lease.idle_timeout = idle_timeout;
    // Without the extensions, which contain the route that was found already.
    let mut request = Request::new(body);
    *request.method_mut() = parts.method;
    *request.uri_mut() = parts.uri;
    *request.version_mut() = parts.version;
    *request.headers_mut() = parts.headers;
    let Ok(response) = TowerToHyperService::new(lease.router.clone()).call(request).await;
    // The model stays loaded until the last byte is sent, or the client has left.
    Ok(response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _in_use = &lease;
            frame
        }))
    }))
}

/// The choice in a body.
///
/// **Errors**: 400 for a body that is not JSON or whose `model` is not a string.
fn sent(body: &[u8]) -> Result<Choice, ApiError> {
    if body.is_empty() {
        return Ok(Choice::default());
    }
    serde_json::from_slice(body).map_err(|error| match error.is_data() {
        true => {
            ApiError::invalid("model", format!("model must be a string in a JSON object: {error}"))
        }
        false => not_json(error),
    })
}

/// The choice in a query.
fn queried(uri: &Uri) -> Choice {
    Query::<Choice>::try_from_uri(uri).map(|query| query.0).unwrap_or_default()
}
