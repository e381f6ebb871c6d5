//! Errors by their cause: the engine, the chat template, a grammar, the state of the server.

use axum::http::StatusCode;
use inferno_chat::ChatTemplateError;
use inferno_engine::{EngineError, SubmitError};

use super::{ApiError, ContextExceeded};

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::QueueFull { limit } => {
                let message =
                    format!("the queue is full ({limit} requests are waiting); retry later");
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
    /// The server is overloaded for the moment.
    pub fn overloaded(message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::SERVICE_UNAVAILABLE, message);
        error.retry_after = Some(1);
        error.with_code("overloaded")
    }

    /// The server finishes running requests and accepts no new ones.
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
            // The engine has no field name for the prompt.
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
            EngineError::NoLogits { .. }
            | EngineError::NoClassifier
            | EngineError::SeveralOutputs { .. } => {
                Self::invalid("model", message).with_code("unsupported_model")
            }
            EngineError::Dimensions { .. } => Self::invalid("dimensions", message),
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
    /// The prompt in `param` leaves no room for an answer.
    pub fn context_length_exceeded(
        param: &str,
        prompt_tokens: usize,
        context_length: usize,
    ) -> Self {
        // Clients search for OpenAI's "maximum context length" or for llama-server's words.
        let message = format!(
            "the prompt has {prompt_tokens} tokens, which exceeds the available context size: this model's maximum context \
             length is {context_length} tokens for prompt and answer; shorten the prompt"
        );
        Self::invalid(param, message).with_context_exceeded(prompt_tokens, context_length)
    }

    /// The error of an input with this many tokens, which does not fit the context.
    pub fn with_context_exceeded(mut self, n_prompt_tokens: usize, n_ctx: usize) -> Self {
        self.context = Some(Box::new(ContextExceeded { n_prompt_tokens, n_ctx }));
        self.with_code("context_length_exceeded")
    }

    /// The conversation in `param` has more messages than the context has tokens.
    pub fn too_many_messages(param: &str, num_messages: usize, context_length: usize) -> Self {
        let message = format!(
            "the conversation has {num_messages} messages, but this model's maximum context length is {context_length} \
             tokens; remove the oldest messages"
        );
        Self::invalid(param, message).with_code("context_length_exceeded")
    }

    /// The schema, regular expression or grammar in `param` does not compile.
    pub fn invalid_grammar(param: &str, message: &str) -> Self {
        Self::invalid(param, format!("{param} does not compile: {message}"))
            .with_code("invalid_grammar")
    }

    /// The chat template failed on the conversation in `param`.
    pub fn of_template(param: &str, error: &ChatTemplateError) -> Self {
        Self::invalid(param, error.to_string()).with_code("chat_template_error")
    }

    /// The engine failed at a request.
    pub fn failed(error: &EngineError) -> Self {
        match error {
            // It compiled, but exceeded a limit while generating.
            EngineError::Constraint(_) => {
                Self::new(StatusCode::BAD_REQUEST, error.to_string()).with_code("invalid_grammar")
            }
            // The grammar, the biases and min_tokens contradict each other.
            EngineError::NoCandidates => {
                Self::new(StatusCode::BAD_REQUEST, error.to_string()).with_code("no_candidates")
            }
            // Another server may answer it.
            EngineError::EngineStopped => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
                    .with_code("engine_stopped")
            }
            EngineError::ModelFileChanged(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
                    .with_code("model_file_changed")
            }
            _ => Self::internal(error.to_string()),
        }
    }
}
