//! Metrics of one request, and its line in the log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inferno_engine::{EngineError, FinishReason, Finished, ProgressEvent, TokenEvent};
use serde_json::json;
use tracing::Span;

use super::counts::TokenCounts;
use crate::ServedModel;
use crate::errors::ApiError;
use crate::operation::traces::RequestSpan;
use crate::request::RequestOrigin;
use crate::state::App;
use crate::time::milliseconds;

/// vLLM's finish reason of a request that the engine failed at.
const FAILED: &str = "error";

/// nginx's status of a request whose client disconnected.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// What is measured of one request. If it is dropped before all choices have finished, it counts as aborted.
pub(super) struct Record {
    app: Arc<App>,
    started: Instant,
    /// The span of the HTTP request, so that the log line carries its id.
    span: Span,
    origin: RequestOrigin,
    block_tokens: usize,
    pub counts: TokenCounts,
    preemptions: usize,
    queued: Duration,
    time_to_first_token: Option<Duration>,
    /// When each choice had its last token.
    last_token: Vec<Option<Instant>>,
    outcome: &'static str,
    /// How the request ended, as an HTTP status; a stream has already been answered with 200 if it fails.
    status: u16,
}

impl Record {
    /// Begins the record of a request that came at `started` and that the engine accepted.
    pub fn begin(
        app: &Arc<App>,
        model: &ServedModel,
        started: Instant,
        counts: TokenCounts,
        max_tokens: Option<usize>,
    ) -> Self {
        let num_choices = counts.choices.len();
        app.metrics.admitted(num_choices, max_tokens);
        Self {
            app: Arc::clone(app),
            started,
            span: Span::current(),
            origin: RequestOrigin::current(),
            block_tokens: model.handle.snapshot().block_tokens,
            counts,
            preemptions: 0,
            queued: Duration::ZERO,
            time_to_first_token: None,
            last_token: vec![None; num_choices],
            outcome: "abort",
            status: CLIENT_CLOSED_REQUEST,
        }
    }

    pub fn progress(&mut self, progress: &ProgressEvent) {
        let elapsed = progress.time.saturating_duration_since(self.started);
        self.counts.add_progress(progress, elapsed);
    }

    pub fn token(&mut self, token: &TokenEvent) {
        let elapsed = token.time.saturating_duration_since(self.started);
        self.counts.add_token(token.choice, elapsed);
        let Some(last) = self.last_token.get_mut(token.choice) else {
            return;
        };
        match last.replace(token.time) {
            Some(before) => {
                self.app.metrics.inter_token(token.time.saturating_duration_since(before));
            }
            None if self.time_to_first_token.is_none() => {
                self.time_to_first_token = Some(elapsed);
                self.app.metrics.first_token(elapsed);
            }
            None => {}
        }
    }

    pub fn finished(&mut self, finished: &Finished) {
        self.counts.finish(finished);
        self.preemptions += finished.timings.num_preemptions;
        self.queued = finished.timings.queued;
        self.outcome = finished_reason(finished.reason);
        self.status = match finished.reason {
            FinishReason::Cancelled => 503,
            FinishReason::DeadlineExceeded => 504,
            _ => 200,
        };
        self.app.metrics.finished(finished, self.outcome);
        if self.counts.num_unfinished() == 0 {
            self.app.metrics.ended(self.counts.max_generated_tokens());
        }
    }

    pub fn failed(&mut self, error: &EngineError) {
        self.outcome = FAILED;
        let status = ApiError::failed(error).status;
        self.status = status.as_u16();
        let _entered = self.span.enter();
        match status.is_server_error() {
            true => tracing::error!(%error, "the engine failed"),
            false => tracing::warn!(%error, "the request failed"),
        }
    }

    /// The request as a span of its trace, with the names that vLLM uses.
    fn trace_span(&self) -> RequestSpan<'_> {
        let seconds = |duration: Duration| json!(duration.as_secs_f64());
        let duration = self.started.elapsed();
        let mut attributes = vec![
            (
                "gen_ai.response.model",
                json!(self.app.loaded().map_or("", |model| model.info.name())),
            ),
            ("gen_ai.request.n", json!(self.counts.choices.len())),
            ("gen_ai.usage.prompt_tokens", json!(self.counts.prompt_tokens)),
            ("gen_ai.usage.completion_tokens", json!(self.counts.generated_tokens())),
            ("gen_ai.latency.time_in_queue", seconds(self.queued)),
            ("gen_ai.latency.e2e", seconds(duration)),
            ("http.response.status_code", json!(self.status)),
        ];
        let first_token = self.time_to_first_token.map(seconds);
        attributes.extend(first_token.map(|it| ("gen_ai.latency.time_to_first_token", it)));
        let error = (self.status != 200).then_some(self.outcome);
        RequestSpan { origin: &self.origin, duration, error, attributes }
    }

    /// How much of the prompt came from the prefix cache, and why not more.
    fn cache_outcome(&self) -> &'static str {
        let prompt_tokens = self.counts.prompt_tokens;
        match self.counts.max_cached_tokens() {
            0 if prompt_tokens <= self.block_tokens => "miss: prompt shorter than one cache block",
            0 => "miss: no cached prefix",
            // At least one token is always computed.
            cached if cached + self.block_tokens >= prompt_tokens => "hit",
            _ => "partial: the rest is new or was evicted",
        }
    }
}

/// vLLM's finish reason.
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
        let num_unfinished = self.counts.num_unfinished();
        if num_unfinished > 0 {
            // Other choices may have finished normally.
            if self.outcome != FAILED {
                self.outcome = "abort";
                self.status = CLIENT_CLOSED_REQUEST;
            }
            self.app.metrics.aborted(num_unfinished, self.outcome);
        }
        if let Some(traces) = &self.app.traces {
            traces.add(self.trace_span());
        }
        let _entered = self.span.enter();
        tracing::info!(
            status = self.status,
            outcome = self.outcome,
            prompt_tokens = self.counts.prompt_tokens,
            cached_tokens = self.counts.max_cached_tokens(),
            cache = self.cache_outcome(),
            generated_tokens = self.counts.generated_tokens(),
            choices = self.counts.choices.len(),
            preemptions = self.preemptions,
            queued_ms = milliseconds(self.queued),
            first_token_ms = self.time_to_first_token.map(milliseconds),
            total_ms = milliseconds(self.started.elapsed()),
            "request finished"
        );
    }
}
