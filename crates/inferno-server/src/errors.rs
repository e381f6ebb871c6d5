//! Errors: status codes, and the JSON bodies of OpenAI, Anthropic, Ollama and llama-server.

mod causes;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// A hint for an address that cannot be bound.
fn bind_hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::AddrInUse => "the port is in use; pass another --port",
        io::ErrorKind::AddrNotAvailable => "this machine does not have the address",
        io::ErrorKind::PermissionDenied => "ports below 1024 need privileges; pass another --port",
        _ => "pass another --host or --port",
    }
}

/// Characters of an error message.
const MAX_MESSAGE_CHARS: usize = 2000;
/// Characters of a name that the request sent, such as that of a model or a field.
const MAX_NAME_CHARS: usize = 200;

/// A name that the request sent, for an error message.
pub(crate) fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn cut(mut text: String, max_chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(max_chars) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// An error that prevents the server from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be bound.
    #[error("failed to listen on {address}: {source}; {}", bind_hint(source.kind()))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An API key is empty, so that requests without a key would be accepted.
    #[error("an API key is empty; set it to a key, or pass none to accept all requests")]
    EmptyApiKey,
    /// The endpoint of traces is no HTTP address.
    #[error(
        "{endpoint:?} is no address of an OTLP collector; use one such as http://localhost:4318"
    )]
    TraceEndpoint {
        /// The endpoint.
        endpoint: String,
    },
    /// The endpoint of cache events cannot be bound.
    #[error(
        "failed to publish cache events on {endpoint:?}: {message}; use a free address such as tcp://*:5557"
    )]
    CacheEventEndpoint {
        /// The endpoint.
        endpoint: String,
        /// The cause.
        message: String,
    },
    /// The operating system provided no threads or sockets.
    #[error("failed to start the server's threads: {0}")]
    Runtime(#[source] io::Error),
    /// A certificate or private key is invalid.
    #[error("failed to read {path:?} for TLS: {message}")]
    Tls {
        /// The file.
        path: PathBuf,
        /// The cause.
        message: String,
    },
    /// A request of the own process cannot be passed on.
    #[error("the request failed: {message}")]
    LocalRequest {
        /// The cause.
        message: String,
    },
    /// The body of a response to the own process ended early.
    #[error("the response is incomplete: {message}")]
    LocalResponse {
        /// The cause.
        message: String,
    },
    /// The model could not be loaded.
    #[error("{0}")]
    Load(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A failed request.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub status: StatusCode,
    pub message: String,
    /// The offending part of the request, such as `messages[0].role`.
    pub param: Option<String>,
    /// A machine-readable code.
    pub code: Option<&'static str>,
    /// Seconds after which the client may retry.
    pub retry_after: Option<u32>,
    /// Names a feature of Anthropic's API that the client can do without.
    pub details: Option<UnsupportedFeature>,
    /// The prompt did not fit the context.
    pub context: Option<Box<ContextExceeded>>,
}

/// A prompt that is too long, in the terms of llama-server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContextExceeded {
    /// Tokens of the prompt.
    n_prompt_tokens: usize,
    /// Context length: the maximum number of tokens of a prompt and its answer.
    n_ctx: usize,
}

/// A feature of Anthropic's API that this server does not support, so that the client can retry without it.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct UnsupportedFeature {
    error_code: &'static str,
    /// The request fields of the feature.
    unsupported: &'static [&'static str],
}

/// An error body.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiError {
    error: OpenAiErrorDetails,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiErrorDetails {
    message: String,
    /// The kind of error.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The offending part of the request, such as `messages[0].role`.
    param: Option<String>,
    /// A machine-readable code.
    code: Option<&'static str>,
    /// Tokens of a prompt that does not fit the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_prompt_tokens: Option<usize>,
    /// The context length that it does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_ctx: Option<usize>,
}

/// An error body.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OllamaError {
    error: String,
}

/// An error body.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnthropicError {
    /// Always `error`.
    #[serde(rename = "type")]
    kind: &'static str,
    pub error: AnthropicErrorDetails,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnthropicErrorDetails {
    /// The kind of error.
    #[serde(rename = "type")]
    kind: &'static str,
    message: String,
    /// A feature that the client can do without.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<UnsupportedFeature>,
}

impl ApiError {
    /// Messages may repeat what the request sent; what is beyond 2000 characters is cut off.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let message = cut(message.into(), MAX_MESSAGE_CHARS);
        let (param, code, retry_after, details, context) = (None, None, None, None, None);
        Self { status, message, param, code, retry_after, details, context }
    }

    /// An invalid field of the request.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::BAD_REQUEST, message);
        error.param = Some(cut(param.into(), MAX_NAME_CHARS));
        error.code = Some("invalid_value");
        error
    }

    /// A field that the API defines and this server does not support.
    pub fn unsupported(param: impl Into<String>, why: &str) -> Self {
        let param = param.into();
        let message = format!("{param} is not supported: {why}");
        Self::invalid(param, message).with_code("unsupported_parameter")
    }

    /// Rejects the first field that is given, of unsupported fields and the reasons.
    pub fn reject_given<const N: usize>(fields: [(&str, bool, &str); N]) -> Result<(), Self> {
        match fields.into_iter().find(|(_, is_given, _)| *is_given) {
            Some((field, _, why)) => Err(Self::unsupported(field, why)),
            None => Ok(()),
        }
    }

    /// Conversations that the server stores, which Anthropic's clients resend as a whole after this error.
    pub fn thread_unsupported() -> Self {
        let mut error = Self::unsupported("thread", "send the whole conversation");
        error.details = Some(UnsupportedFeature {
            error_code: "thread_unsupported_request",
            unsupported: &["thread"],
        });
        error
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// OpenAI's error type.
    fn openai_type(&self) -> &'static str {
        match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => "timeout_error",
            StatusCode::NOT_IMPLEMENTED => "not_supported_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// Anthropic's error type.
    fn anthropic_type(&self) -> &'static str {
        match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => "timeout_error",
            status if status.is_server_error() => "api_error",
            _ => "invalid_request_error",
        }
    }

    /// The error body in OpenAI's format.
    pub fn openai(&self) -> OpenAiError {
        OpenAiError {
            error: OpenAiErrorDetails {
                message: self.message.clone(),
                kind: self.openai_type(),
                param: self.param.clone(),
                code: self.code,
                n_prompt_tokens: self.context.as_ref().map(|context| context.n_prompt_tokens),
                n_ctx: self.context.as_ref().map(|context| context.n_ctx),
            },
        }
    }

    /// The error body of llama-server, which is that of OpenAI with a type of its own for long prompts.
    pub fn llama_server(&self) -> OpenAiError {
        let mut body = self.openai();
        if self.context.is_some() {
            body.error.kind = "exceed_context_size_error";
        }
        body
    }

    /// The error body in Anthropic's format, which names the offending field only in the message.
    pub fn anthropic(&self) -> AnthropicError {
        let message = match &self.param {
            Some(param) if !self.message.contains(param.as_str()) => {
                format!("{param}: {}", self.message)
            }
            _ => self.message.clone(),
        };
        let error =
            AnthropicErrorDetails { kind: self.anthropic_type(), message, details: self.details };
        AnthropicError { kind: "error", error }
    }

    /// The error body in Ollama's format.
    pub fn ollama(&self) -> OllamaError {
        OllamaError { error: self.message.clone() }
    }

    /// A response with this body.
    pub fn response(self, body: &impl Serialize) -> Response {
        let mut response = (self.status, axum::Json(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for ApiError {
    /// In OpenAI's format; the router converts errors on the paths of other APIs.
    fn into_response(self) -> Response {
        let body = self.openai();
        self.response(&body)
    }
}
