//! Passes requests on to the endpoints of the model that they name.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde::Deserialize;

use super::keep_alive::KeepAlive;
use crate::errors::ApiError;
use crate::ollama;
use crate::request::{check_content_type, not_json, receive_whole};
use crate::state::App;

/// The fields about the choice of the model, in bodies and queries.
#[derive(Default, Deserialize)]
struct Choice {
    model: Option<String>,
}

/// The fields of Ollama's API about the choice of the model.
#[derive(Deserialize)]
struct OllamaChoice {
    model: Option<String>,
    keep_alive: Option<KeepAlive>,
}

/// Answers a request by the model that it names, which is loaded first if necessary. On a server with one model, continues with
/// that one.
///
/// Requests without a body do not load models: pages of any site can send them.
///
/// **Errors**: those of [`ModelPool::acquire`](super::ModelPool::acquire); those of bodies that cannot be read.
pub(crate) async fn dispatch(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let Some(pool) = app.pool() else { return Ok(next.run(request).await) };
    let (parts, body) = request.into_parts();
    let (lease, body) = match parts.method {
        Method::GET | Method::HEAD => {
            let choice = queried(&parts.uri);
            (pool.acquire_loaded(&app, given(choice.model.as_deref())).await?, Body::empty())
        }
        _ => {
            check_content_type(&parts.headers)?;
            // The memory of the body is reserved until its endpoint reads it.
            let (bytes, reserved) = receive_whole(body, &app).await?;
            let path = parts.uri.path();
            let (choice, idle_timeout) = sent(&bytes, path.starts_with("/api/"))?;
            let name = given(choice.model.as_deref());
            if idle_timeout == Some(Some(Duration::ZERO))
                && let Some(answer) = ollama::manage::unloaded(path, &bytes)
            {
                pool.unload_when_idle(app.listed_or_only(name).await?.name());
                return Ok(answer);
            }
            let mut lease = pool.acquire(&app, name).await?;
            lease.idle_timeout = idle_timeout;
            drop(reserved);
            (lease, Body::from(bytes))
        }
    };
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

/// A name that is not empty.
fn given(name: Option<&str>) -> Option<&str> {
    name.filter(|name| !name.is_empty())
}

/// The choice in a body, and how long the model stays loaded, if a request to Ollama's API says so; `None` within it sets no
/// limit.
///
/// **Errors**: 400 for a body that is not JSON or whose fields have the wrong type.
fn sent(body: &[u8], is_ollama: bool) -> Result<(Choice, Option<Option<Duration>>), ApiError> {
    let invalid = |error: serde_json::Error| match error.is_data() {
        true => {
            let message = format!("the fields that choose the model are invalid: {error}");
            ApiError::new(StatusCode::BAD_REQUEST, message)
        }
        false => not_json(error),
    };
    match body {
        [] => Ok((Choice::default(), None)),
        _ if is_ollama => {
            let OllamaChoice { model, keep_alive } =
                serde_json::from_slice(body).map_err(invalid)?;
            let idle_timeout = keep_alive.map(|keep_alive| keep_alive.duration()).transpose()?;
            Ok((Choice { model }, idle_timeout))
        }
        _ => Ok((serde_json::from_slice(body).map_err(invalid)?, None)),
    }
}

/// The choice in a query.
fn queried(uri: &Uri) -> Choice {
    Query::<Choice>::try_from_uri(uri).map(|query| query.0).unwrap_or_default()
}
