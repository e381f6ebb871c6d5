//! The serialized form of metrics.

use std::time::Duration;

use serde::Serialize;

use super::{FinishReason, Metrics, Passes, peak_resident_bytes};

/// [`Metrics`] with derived values; durations in seconds.
#[derive(Serialize)]
pub(super) struct Report {
    devices: Vec<String>,
    load_seconds: Option<f64>,
    prompt_tokens: usize,
    generated_tokens: usize,
    drafted_tokens: usize,
    accepted_tokens: usize,
    finish_reason: Option<&'static str>,
    time_to_first_token_seconds: Option<f64>,
    prefill_tokens_per_second: Option<f64>,
    decode_tokens_per_second: Option<f64>,
    prefill_passes: Passes,
    decode_passes: Passes,
    peak_resident_bytes: Option<u64>,
}

/// [`Passes`] likewise.
#[derive(Serialize)]
pub(super) struct PassesReport {
    count: usize,
    num_tokens: usize,
    total_seconds: f64,
    p50_seconds: Option<f64>,
    p90_seconds: Option<f64>,
    p99_seconds: Option<f64>,
    max_seconds: Option<f64>,
    seconds: Vec<f64>,
}

impl From<Metrics> for Report {
    fn from(metrics: Metrics) -> Self {
        let rates = [metrics.prefill_tokens_per_second(), metrics.decode_tokens_per_second()];
        let [prefill_tokens_per_second, decode_tokens_per_second] = rates;
        Self {
            devices: metrics.devices,
            load_seconds: metrics.load_time.map(|time| time.as_secs_f64()),
            prompt_tokens: metrics.prompt_tokens,
            generated_tokens: metrics.generated_tokens,
            drafted_tokens: metrics.drafted_tokens,
            accepted_tokens: metrics.accepted_tokens,
            finish_reason: metrics.finish_reason.map(FinishReason::name),
            time_to_first_token_seconds: metrics.time_to_first_token.map(|time| time.as_secs_f64()),
            prefill_tokens_per_second,
            decode_tokens_per_second,
            prefill_passes: metrics.prefill_passes,
            decode_passes: metrics.decode_passes,
            peak_resident_bytes: peak_resident_bytes(),
        }
    }
}

impl From<Passes> for PassesReport {
    fn from(passes: Passes) -> Self {
        let [p50_seconds, p90_seconds, p99_seconds, max_seconds] = Passes::PERCENTILES
            .map(|(_, percent)| passes.percentile(percent).map(|time| time.as_secs_f64()));
        Self {
            count: passes.durations().len(),
            num_tokens: passes.num_tokens(),
            total_seconds: passes.total().as_secs_f64(),
            p50_seconds,
            p90_seconds,
            p99_seconds,
            max_seconds,
            seconds: passes.durations().iter().map(Duration::as_secs_f64).collect(),
        }
    }
}
