//! What one request took, for the metrics and its line in the log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inferno_engine::{EngineError, FinishReason, Finished, TokenEvent};
use tracing::Span;

use crate::ServedModel;
use crate::errors::ApiError;
use crate::state::App;

/// vLLM's word for the end of a request that the engine failed at.
const FAILED: &str = "error";

/// What one request took. Dropped before its end, it counts as one whose client went away.
pub(super) struct Record {
    app: Arc<App>,
    started: Instant,
    /// That of the HTTP request, so that the line carries its id.
    span: Span,
    block_tokens: usize,
    prompt_tokens: usize,
    cached_tokens: usize,
    generated_tokens: usize,
    /// Those of the longest choice.
    max_generated_tokens: usize,
    preemptions: usize,
    queued: Duration,
    time_to_first_token: Option<Duration>,
    /// When each choice had its last token.
    last_token: Vec<Option<Instant>>,
    num_open: usize,
    outcome: &'static str,
}

impl Record {
    /// Begins one of a request that came at `started` and that the engine took.
    pub fn begin(
        app: &Arc<App>,
        model: &ServedModel,
        started: Instant,
        prompt_tokens: usize,
        num_choices: usize,
        max_tokens: Option<usize>,
    ) -> Self {
        app.metrics.admitted(num_choices, max_tokens);
        Self {
            app: Arc::clone(app),
            started,
            span: Span::current(),
            block_tokens: model.handle.snapshot().block_tokens,
            prompt_tokens,
            cached_tokens: 0,
            generated_tokens: 0,
            max_generated_tokens: 0,
            preemptions: 0,
            queued: Duration::ZERO,
            time_to_first_token: None,
            last_token: vec![None; num_choices],
            num_open: num_choices,
            outcome: "abort",
        }
    }

    pub fn token(&mut self, token: &TokenEvent) {
        let Some(last) = self.last_token.get_mut(token.choice) else {
            return;
        };
        match last.replace(token.time) {
            Some(before) => {
                self.app.metrics.inter_token(token.time.saturating_duration_since(before));
            }
            None if self.time_to_first_token.is_none() => {
                let took = token.time.saturating_duration_since(self.started);
                self.time_to_first_token = Some(took);
                self.app.metrics.first_token(took);
            }
            None => {}
        }
    }

    pub fn finished(&mut self, finished: &Finished) {
        self.num_open = self.num_open.saturating_sub(1);
        self.cached_tokens = self.cached_tokens.max(finished.cached_tokens);
        self.generated_tokens += finished.generated_tokens;
        self.max_generated_tokens = self.max_generated_tokens.max(finished.generated_tokens);
        self.preemptions += finished.timings.num_preemptions;
        self.queued = finished.timings.queued;
        self.outcome = finished_reason(finished.reason);
        self.app.metrics.finished(finished, self.outcome);
        if self.num_open == 0 {
            self.app.metrics.ended(self.max_generated_tokens);
        }
    }

    pub fn failed(&mut self, error: &EngineError) {
        self.outcome = FAILED;
        let _entered = self.span.enter();
        match ApiError::failed(error).status.is_server_error() {
            true => tracing::error!(%error, "the engine failed"),
            false => tracing::warn!(%error, "the request could not be gone on with"),
        }
    }

    /// Why the prompt, or a part of it, had to be computed.
    fn cache_outcome(&self) -> &'static str {
        match self.cached_tokens {
            0 if self.prompt_tokens <= self.block_tokens => "miss: shorter than a block",
            0 => "miss: no earlier text that is still cached begins like this",
            // At least one token is always computed.
            cached if cached + self.block_tokens >= self.prompt_tokens => "hit",
            _ => "partial: what follows is new or was evicted",
        }
    }
}

/// vLLM's word for the end of a request.
fn finished_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::EndOfGeneration
        | FinishReason::StopString(_)
        | FinishReason::StopToken(_) => "stop",
        FinishReason::Length | FinishReason::ContextFull => "length",
        FinishReason::Cancelled | FinishReason::DeadlineExceeded => "abort",
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.num_open > 0 {
            // Some of its choices may have ended well.
            if self.outcome != FAILED {
                self.outcome = "abort";
            }
            self.app.metrics.broken_off(self.num_open, self.outcome);
        }
        let _entered = self.span.enter();
        tracing::info!(
            outcome = self.outcome,
            prompt_tokens = self.prompt_tokens,
            cached_tokens = self.cached_tokens,
            cache = self.cache_outcome(),
            generated_tokens = self.generated_tokens,
            choices = self.last_token.len(),
            preemptions = self.preemptions,
            queued_ms = milliseconds(self.queued),
            first_token_ms = self.time_to_first_token.map(milliseconds),
            total_ms = milliseconds(self.started.elapsed()),
            "answered"
        );
    }
}

/// Rounded to microseconds.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}
