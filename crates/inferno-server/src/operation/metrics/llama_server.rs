//! Metrics under the names of llama-server, which have no labels.

use std::fmt::Write as _;

use inferno_engine::EngineSnapshot;

/// What the metrics are computed from.
pub(super) struct Totals<'s> {
    pub engine: &'s EngineSnapshot,
    /// Time of all requests from their first computation to their first token.
    pub prompt_seconds: f64,
    /// Time of all requests from their first token to their last.
    pub generation_seconds: f64,
    /// Tokens of the longest finished sequence.
    pub max_sequence_tokens: usize,
}

impl Totals<'_> {
    fn computed_tokens(&self) -> f64 {
        self.engine.prompt_tokens.saturating_sub(self.engine.scheduler.prefix_hits) as f64
    }
}

/// A metric's name, type, help text and value.
type Source = (&'static str, &'static str, &'static str, fn(&Totals<'_>) -> f64);

const METRICS: &[Source] = &[
    ("prompt_tokens_total", "counter", "Computed prompt tokens.", |now| now.computed_tokens()),
    ("prompt_tokens_cached_total", "counter", "Prompt tokens from the prefix cache.", |now| {
        now.engine.scheduler.prefix_hits as f64
    }),
    ("prompt_seconds_total", "counter", "Time until first tokens, without the queue.", |now| {
        now.prompt_seconds
    }),
    ("tokens_predicted_total", "counter", "Generated tokens.", |now| {
        now.engine.generation_tokens as f64
    }),
    ("tokens_predicted_seconds_total", "counter", "Time from first to last tokens.", |now| {
        now.generation_seconds
    }),
    // llama-server's type, although it is a maximum.
    ("n_tokens_max", "counter", "Tokens of the longest sequence so far.", |now| {
        now.max_sequence_tokens as f64
    }),
    ("n_decode_total", "counter", "Forward passes.", |now| now.engine.steps as f64),
    ("spec_decode_num_drafts_total", "counter", "Speculative drafts.", |now| {
        now.engine.scheduler.drafts as f64
    }),
    ("spec_decode_num_draft_tokens_total", "counter", "Draft tokens.", |now| {
        now.engine.scheduler.drafted_tokens as f64
    }),
    ("spec_decode_num_accepted_tokens_total", "counter", "Accepted draft tokens.", |now| {
        now.engine.scheduler.accepted_tokens as f64
    }),
    ("prompt_tokens_seconds", "gauge", "Mean computed prompt tokens per second.", |now| {
        ratio(now.computed_tokens(), now.prompt_seconds)
    }),
    ("predicted_tokens_seconds", "gauge", "Mean generated tokens per second.", |now| {
        ratio(now.engine.generation_tokens as f64, now.generation_seconds)
    }),
    ("requests_processing", "gauge", "Running sequences.", |now| now.engine.num_running as f64),
    ("requests_deferred", "gauge", "Waiting sequences.", |now| now.engine.num_waiting as f64),
    ("n_busy_slots_per_decode", "gauge", "Mean generated tokens per forward pass.", |now| {
        ratio(now.engine.generation_tokens as f64, now.engine.steps as f64)
    }),
];

/// 0 if there is nothing to divide by.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The metrics in Prometheus' text format.
pub(super) fn text(now: &Totals<'_>) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in METRICS {
        let name = format!("llamacpp:{name}");
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {}", value(now));
    }
    text
}
