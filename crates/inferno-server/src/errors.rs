//! What can go wrong, and how it is said: status codes and the JSON shapes of OpenAI and Anthropic.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use inferno_chat::ChatTemplateError;
use inferno_engine::{EngineError, SubmitError};
use serde::Serialize;
use utoipa::ToSchema;

/// What to do about an address that cannot be listened on.
fn bind_hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::AddrInUse => "another program is there, choose another port",
        io::ErrorKind::AddrNotAvailable => "it is none of this machine's addresses",
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 may be kept for others, choose another"
        }
        _ => "choose another address or port",
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

/// Why the server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; {}", bind_hint(source.kind()))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused what the server runs on.
    #[error("cannot start the server's threads: {0}")]
    Runtime(#[source] io::Error),
    /// A certificate or a key is not what it should be.
    #[error("cannot use {path:?} for TLS: {message}")]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The model could not be loaded.
    #[error("{0}")]
    Load(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a request was not answered.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub status: StatusCode,
    pub message: String,
    /// The offending part of the request, such as `messages[0].role`.
    pub param: Option<String>,
    /// A word for programs.
    pub code: Option<&'static str>,
    /// Seconds after which trying again may help.
    pub retry_after: Option<u32>,
}

/// Why a request was not answered.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiError {
    error: OpenAiErrorDetails,
}

/// Why a request was not answered.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiErrorDetails {
    message: String,
    /// The kind of error.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The offending part of the request, such as `messages[0].role`.
    param: Option<String>,
    /// A word for programs.
    code: Option<&'static str>,
}

/// Why a request was not answered.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnthropicError {
    /// Always `error`.
    #[serde(rename = "type")]
    kind: &'static str,
    pub error: AnthropicErrorDetails,
}

/// Why a request was not answered.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnthropicErrorDetails {
    /// The kind of error.
    #[serde(rename = "type")]
    kind: &'static str,
    message: String,
}

impl ApiError {
    /// Messages may repeat what the request sent; what is beyond 2000 characters is cut off.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let message = cut(message.into(), MAX_MESSAGE_CHARS);
        Self { status, message, param: None, code: None, retry_after: None }
    }

    /// A field of the request is not as it must be.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::BAD_REQUEST, message);
        error.param = Some(cut(param.into(), MAX_NAME_CHARS));
        error.code = Some("invalid_value");
        error
    }

    /// A field that the API has and this server does not honour.
    pub fn unsupported(param: impl Into<String>, why: &str) -> Self {
        let param = param.into();
        let message = format!("{param} is not supported: {why}");
        Self::invalid(param, message).with_code("unsupported_parameter")
    }

    /// Refuses the first field that is given, of fields and why they are not honoured.
    pub fn refuse_given<const N: usize>(fields: [(&str, bool, &str); N]) -> Result<(), Self> {
        match fields.into_iter().find(|(_, is_given, _)| *is_given) {
            Some((field, _, why)) => Err(Self::unsupported(field, why)),
            None => Ok(()),
        }
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// The kind of error, in OpenAI's words.
    fn openai_type(&self) -> &'static str {
        match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => "timeout_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// The kind of error, in Anthropic's words.
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

    /// The body in OpenAI's shape.
    pub fn openai(&self) -> OpenAiError {
        OpenAiError {
            error: OpenAiErrorDetails {
                message: self.message.clone(),
                kind: self.openai_type(),
                param: self.param.clone(),
                code: self.code,
            },
        }
    }

    /// The body in Anthropic's shape, which has no place for the offending field but the message.
    pub fn anthropic(&self) -> AnthropicError {
        let message = match &self.param {
            Some(param) if !self.message.contains(param.as_str()) => {
                format!("{param}: {}", self.message)
            }
            _ => self.message.clone(),
        };
        let error = AnthropicErrorDetails { kind: self.anthropic_type(), message };
        AnthropicError { kind: "error", error }
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
    /// In OpenAI's shape; the router gives Anthropic's paths theirs.
    fn into_response(self) -> Response {
        let body = self.openai();
        self.response(&body)
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::QueueFull { limit } => {
                let message = format!(
                    "{limit} requests are waiting, the most that may; try again in a moment"
                );
                let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, message);
                error.retry_after = Some(1);
                error.with_code("queue_full")
            }
            SubmitError::Draining => Self::shutting_down(),
            SubmitError::Refused(error) => (*error).into(),
            error => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
                .with_code("engine_stopped"),
        }
    }
}

impl ApiError {
    /// The server has too much to do, and may have less soon.
    pub fn overloaded(message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::SERVICE_UNAVAILABLE, message);
        error.retry_after = Some(1);
        error.with_code("overloaded")
    }

    /// The server ends what runs and begins nothing new.
    pub fn shutting_down() -> Self {
        let mut error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
        error.retry_after = Some(5);
        error.with_code("shutting_down")
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            // The prompt's own tokens are named in words there.
            EngineError::TokenOutOfRange { field: "the prompt", .. } => {
                Self::invalid("prompt", message)
            }
            EngineError::NumChoices { .. } => Self::invalid("n", message),
            EngineError::ParamOutOfRange { field, .. }
            | EngineError::TokenOutOfRange { field, .. }
            | EngineError::ListTooLong { field, .. } => Self::invalid(field, message),
            EngineError::MaxTokensZero => {
                Self::invalid("max_tokens", "max_tokens must be 1 or more")
            }
            EngineError::MinTokensAboveMax { .. } => Self::invalid("min_tokens", message),
            EngineError::EmptyStopString { .. } => Self::invalid("stop", message),
            EngineError::EmptyPrompt => Self::invalid("prompt", "the prompt has no tokens"),
            EngineError::PromptTooLong { prompt_tokens, context_length, .. } => {
                Self::context_length_exceeded("prompt", prompt_tokens, context_length)
            }
            _ => Self::internal(message),
        }
    }
}

impl ApiError {
    /// The prompt, which is in `param`, leaves no room for an answer.
    pub fn context_length_exceeded(
        param: &str,
        prompt_tokens: usize,
        context_length: usize,
    ) -> Self {
        let message = format!(
            "the prompt has {prompt_tokens} tokens, but this model's maximum context length is {context_length} tokens, \
             prompt and answer together; shorten the prompt"
        );
        Self::invalid(param, message).with_code("context_length_exceeded")
    }
}

impl ApiError {
    /// The conversation, which is in `param`, has more messages than the context has tokens.
    pub fn too_many_messages(param: &str, num_messages: usize, context_length: usize) -> Self {
        let message = format!(
            "the conversation has {num_messages} messages, but this model's maximum context length is {context_length} \
             tokens; leave the oldest out"
        );
        Self::invalid(param, message).with_code("context_length_exceeded")
    }
}

impl ApiError {
    /// A schema, a regular expression or a grammar, which is in `param`, cannot be held to.
    pub fn invalid_grammar(param: &str, message: &str) -> Self {
        Self::invalid(param, format!("{param} does not compile: {message}"))
            .with_code("invalid_grammar")
    }

    /// What the chat template says of the conversation, which is in `param`.
    pub fn of_template(param: &str, error: &ChatTemplateError) -> Self {
        Self::invalid(param, error.to_string()).with_code("chat_template_error")
    }

    /// The engine could not go on with a request.
    pub fn failed(error: &EngineError) -> Self {
        match error {
            // It compiled, and turned out to ask for too much.
            EngineError::Constraint(_) => {
                Self::new(StatusCode::BAD_REQUEST, error.to_string()).with_code("invalid_grammar")
            }
            // Its grammar, its biases and its min_tokens contradict each other.
            EngineError::NoCandidates => {
                Self::new(StatusCode::BAD_REQUEST, error.to_string()).with_code("no_candidates")
            }
            // Another server may answer it.
            EngineError::EngineStopped => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
                    .with_code("engine_stopped")
            }
            _ => Self::internal(error.to_string()),
        }
    }
}
