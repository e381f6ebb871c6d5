//! The server without a socket: a program passes requests to the routes directly.

use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{self, StatusCode};
use axum::response::IntoResponse;
use futures_util::StreamExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use inferno_engine::{EngineError, EngineHandle};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::errors::ApiError;
use crate::operation::traces::Traces;
use crate::router::router;
use crate::serve::runtime;
use crate::state::App;
use crate::{ServedModel, ServerError, ServerOptions};

/// Maximum number of parts of a response that wait for the caller.
const NUM_WAITING_PARTS: usize = 64;

/// A server that answers the requests of its own process.
///
/// ```no_run
/// use inferno_server::{LocalRequest, LocalServer, ResponsePart, ServedModel, ServerOptions};
///
/// # fn answer(model: ServedModel) -> Result<(), inferno_server::ServerError> {
/// let server = LocalServer::start(ServerOptions::default(), model)?;
/// let request = LocalRequest {
///     method: "GET".to_owned(),
///     target: "/v1/models".to_owned(),
///     headers: vec![("host".to_owned(), b"localhost".to_vec())],
///     body: Vec::new(),
/// };
/// let mut response = server.send(request)?;
/// while let Some(part) = response.blocking_next() {
///     if let ResponsePart::Body(bytes) = part {
///         println!("{}", String::from_utf8_lossy(&bytes));
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct LocalServer {
    app: Arc<App>,
    engine: EngineHandle,
    router: Router,
    /// Present until the server is dropped.
    runtime: Option<Runtime>,
}

/// A request to a [`LocalServer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// Path and query, such as `/v1/models`.
    pub target: String,
    /// Names and values of the headers. `host` is required.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// A part of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponsePart {
    /// The first part.
    Head {
        /// The status code.
        status: u16,
        /// Names and values of the headers.
        headers: Vec<(String, Vec<u8>)>,
    },
    /// The next bytes of the body.
    Body(Vec<u8>),
}

/// The whole response to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompleteResponse {
    /// The status code.
    pub status: u16,
    /// Names and values of the headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// The response to a request. Dropping it cancels the request.
#[derive(Debug)]
pub struct LocalResponse {
    parts: mpsc::Receiver<ResponsePart>,
    task: AbortHandle,
}

impl LocalServer {
    /// Starts to serve a model. The address, the limits on connections and the TLS files of `options` have no effect.
    ///
    /// **Errors**: as [`ServerOptions::check`]; an invalid endpoint of traces; no threads available.
    pub fn start(options: ServerOptions, model: ServedModel) -> Result<Self, ServerError> {
        options.check()?;
        let traces = options.otlp_endpoint.as_deref().map(Traces::start).transpose()?.map(Arc::new);
        let app = Arc::new(App::new(options, traces));
        let engine = model.handle.clone();
        app.publish(model);
        let router = router(Arc::clone(&app));
        Ok(Self { app, engine, router, runtime: Some(runtime()?) })
    }

    /// Passes a request to its route. Never waits for the response. A request that is not valid HTTP, such as one with a line
    /// break in a header, is answered with status 400.
    ///
    /// **Errors**: [`ServerError::LocalRequest`] if the server has stopped.
    pub fn send(&self, request: LocalRequest) -> Result<LocalResponse, ServerError> {
        let (runtime, response) = self.call(request)?;
        let (sender, parts) = mpsc::channel(NUM_WAITING_PARTS);
        let task = runtime.spawn(async move {
            // A closed channel is a caller that dropped the response.
            let _ = pass_on(response.await, &sender).await;
        });
        Ok(LocalResponse { parts, task: task.abort_handle() })
    }

    /// Passes a request to its route, and its whole response to `on_response`, on a thread of the server. Never waits for
    /// the response. Dropping the server cancels the request, and drops `on_response` without a call.
    ///
    /// `on_response` gets [`ServerError::LocalResponse`] if the body ends early.
    ///
    /// **Errors**: as [`send`](Self::send).
    pub fn complete(
        &self,
        request: LocalRequest,
        on_response: impl FnOnce(Result<CompleteResponse, ServerError>) + Send + 'static,
    ) -> Result<(), ServerError> {
        let (runtime, response) = self.call(request)?;
        runtime.spawn(async move { on_response(complete(response.await).await) });
        Ok(())
    }

    /// Returns the response to a request, and the runtime to await it on.
    ///
    /// **Errors**: [`ServerError::LocalRequest`].
    fn call(
        &self,
        request: LocalRequest,
    ) -> Result<(&Runtime, impl Future<Output = http::Response<Body>> + use<>), ServerError> {
        let request = request.into_http();
        let service = TowerToHyperService::new(self.router.clone());
        let Some(runtime) = &self.runtime else {
            return Err(ServerError::LocalRequest { message: "the server has stopped".to_owned() });
        };
        Ok((runtime, async move {
            match request {
                Ok(request) => {
                    let Ok(response) = service.call(request).await;
                    response
                }
                Err(error) => {
                    let message = format!("the request is not valid HTTP: {error}");
                    ApiError::new(StatusCode::BAD_REQUEST, message).into_response()
                }
            }
        }))
    }

    /// Returns the handle of the model's engine.
    pub fn engine(&self) -> &EngineHandle {
        &self.engine
    }

    /// Returns why no request can succeed any more, as [`ModelWatch::failure`](crate::ModelWatch::failure) does.
    pub fn failure(&self) -> Option<EngineError> {
        self.app.loaded()?.watch().failure()
    }

    /// Returns the maximum size of a request's body in bytes.
    pub fn max_body_bytes(&self) -> usize {
        self.app.options.limits.max_body_bytes
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting for requests could block for long; those that run are aborted.
            runtime.shutdown_background();
        }
        if let Some(model) = self.app.loaded() {
            model.stop();
        }
    }
}

impl LocalRequest {
    /// **Errors**: an invalid method, target or header.
    fn into_http(self) -> Result<http::Request<Body>, http::Error> {
        let builder = http::Request::builder().method(self.method.as_str()).uri(&self.target);
        let builder = self
            .headers
            .iter()
            .fold(builder, |builder, (name, value)| builder.header(name, value.as_slice()));
        builder.body(Body::from(self.body))
    }
}

impl LocalResponse {
    /// Waits for the next part; `None` after the last one.
    ///
    /// **Panics** within an async runtime.
    pub fn blocking_next(&mut self) -> Option<ResponsePart> {
        self.parts.blocking_recv()
    }

    /// Polls for the next part; ready with `None` after the last one.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<ResponsePart>> {
        self.parts.poll_recv(context)
    }
}

impl Drop for LocalResponse {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends the parts of a response. A body that fails ends early.
///
/// **Errors**: a receiver that was dropped.
async fn pass_on(
    response: http::Response<Body>,
    parts: &mpsc::Sender<ResponsePart>,
) -> Result<(), mpsc::error::SendError<ResponsePart>> {
    let (head, body) = response.into_parts();
    let (status, headers) = (head.status.as_u16(), header_list(&head.headers));
    parts.send(ResponsePart::Head { status, headers }).await?;
    let mut body = body.into_data_stream();
    while let Some(Ok(bytes)) = body.next().await {
        parts.send(ResponsePart::Body(Bytes::into(bytes))).await?;
    }
    Ok(())
}

/// **Errors**: [`ServerError::LocalResponse`].
async fn complete(response: http::Response<Body>) -> Result<CompleteResponse, ServerError> {
    let (head, body) = response.into_parts();
    match to_bytes(body, usize::MAX).await {
        Ok(body) => Ok(CompleteResponse {
            status: head.status.as_u16(),
            headers: header_list(&head.headers),
            body: body.into(),
        }),
        Err(error) => Err(ServerError::LocalResponse { message: error.to_string() }),
    }
}

/// Returns the names and values of headers.
fn header_list(headers: &http::HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect()
}
