//! Why a choice finished.

use axum::http::StatusCode;
use inferno_engine::{FinishReason, Finished, StopParams, Timings};

use crate::errors::ApiError;

/// Why a choice finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// The model generated an end-of-generation token.
    EndOfGeneration,
    /// This stop string.
    Text(String),
    /// This stop token.
    Token(u32),
    /// `max_tokens`, or the context length.
    Length,
}

/// The end of a choice.
#[derive(Debug, Clone)]
pub(crate) struct Finish {
    pub cause: StopCause,
    pub prompt_tokens: usize,
    pub cached_tokens: usize,
    pub generated_tokens: usize,
    pub reasoning_tokens: usize,
    pub timings: Timings,
}

impl Finish {
    /// **Errors**: a choice that was cut short, by the deadline or because the server stops.
    pub fn of(
        finished: &Finished,
        reasoning_tokens: usize,
        stop: &StopParams,
    ) -> Result<Self, ApiError> {
        let cause = match finished.reason {
            FinishReason::EndOfGeneration => StopCause::EndOfGeneration,
            FinishReason::StopString(index) => {
                StopCause::Text(stop.stop.get(index).cloned().unwrap_or_default())
            }
            FinishReason::StopToken(token) => StopCause::Token(token),
            FinishReason::Length | FinishReason::ContextFull => StopCause::Length,
            FinishReason::Cancelled => return Err(ApiError::shutting_down()),
            FinishReason::DeadlineExceeded => {
                let message = "the answer took longer than this server allows for a request";
                return Err(ApiError::new(StatusCode::GATEWAY_TIMEOUT, message)
                    .with_code("deadline_exceeded"));
            }
        };
        Ok(Self {
            cause,
            prompt_tokens: finished.prompt_tokens,
            cached_tokens: finished.cached_tokens,
            generated_tokens: finished.generated_tokens,
            reasoning_tokens,
            timings: finished.timings,
        })
    }
}
