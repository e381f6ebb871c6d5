//! Metrics that the engine counts itself; they are read for each scrape.

use std::sync::{Arc, Mutex, PoisonError};

use inferno_engine::{EngineSnapshot, StepTokens};
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Histogram, Metric, MetricFamily, MetricType};
use prometheus::{Error, Gauge, IntCounter, IntGauge, IntGaugeVec};

use super::builder::MetricBuilder;

/// A metric's name, its help text and its current value.
type Source<T> = (&'static str, &'static str, fn(&EngineSnapshot) -> T);

const GAUGES: &[Source<usize>] = &[
    ("vllm:num_requests_running", "Running sequences.", |now| now.num_running),
    ("vllm:num_requests_waiting", "Waiting sequences.", |now| now.num_waiting),
    ("inferno_kv_blocks", "Total KV blocks.", |now| now.blocks.num_blocks),
    ("inferno_kv_blocks_free", "Free KV blocks.", |now| now.blocks.num_free),
    ("inferno_kv_window_blocks", "KV blocks that can hold layers with a sliding window.", |now| {
        now.blocks.num_window_blocks
    }),
    ("inferno_kv_window_blocks_used", "KV blocks that hold layers with a sliding window.", |now| {
        now.blocks.num_window_used
    }),
    ("inferno_kv_blocks_cached", "KV blocks of the prefix cache that can be evicted.", |now| {
        now.blocks.num_cached
    }),
    ("inferno_state_slots", "Slots for the state of recurrent layers.", |now| now.states.num_slots),
    ("inferno_state_slots_free", "Free slots for the state of recurrent layers.", |now| {
        now.states.num_free
    }),
    ("inferno_state_checkpoints", "Checkpoints of the state of recurrent layers.", |now| {
        now.states.num_checkpoints
    }),
    ("inferno_stage_lost", "Whether requests wait for a stage that was lost: 0 or 1.", |now| {
        usize::from(now.is_stage_lost)
    }),
];

const COUNTERS: &[Source<u64>] = &[
    ("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", |now| {
        now.scheduler.prefix_queries
    }),
    ("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", |now| {
        now.scheduler.prefix_hits
    }),
    ("vllm:prompt_tokens_total", "Prompt tokens.", |now| now.prompt_tokens),
    ("vllm:prompt_tokens_cached_total", "Prompt tokens from the prefix cache.", |now| {
        now.scheduler.prefix_hits
    }),
    ("vllm:generation_tokens_total", "Generated tokens.", |now| now.generation_tokens),
    ("vllm:num_preemptions_total", "Preempted sequences.", |now| now.scheduler.preemptions),
    ("vllm:spec_decode_num_drafts_total", "Speculative drafts.", |now| now.scheduler.drafts),
    ("vllm:spec_decode_num_draft_tokens_total", "Draft tokens.", |now| {
        now.scheduler.drafted_tokens
    }),
    ("vllm:spec_decode_num_accepted_tokens_total", "Accepted draft tokens.", |now| {
        now.scheduler.accepted_tokens
    }),
    ("inferno_draft_passes_total", "Forward passes of the draft model.", |now| {
        now.draft_model.passes
    }),
    ("inferno_draft_failed_passes_total", "Failed forward passes of the draft model.", |now| {
        now.draft_model.failed_passes
    }),
    ("inferno_engine_steps_total", "Forward passes.", |now| now.steps),
    ("inferno_engine_failed_steps_total", "Failed forward passes.", |now| now.failed_steps),
];

/// The value of a label, and what is counted under it.
type Labeled<T> = (&'static str, fn(&EngineSnapshot) -> T);

/// Prompt tokens by the label `source`.
const PROMPT_TOKENS: [Labeled<u64>; 2] = [
    ("local_compute", |now| now.prompt_tokens.saturating_sub(now.scheduler.prefix_hits)),
    ("local_cache_hit", |now| now.scheduler.prefix_hits),
];

/// Waiting sequences by the label `reason`.
const WAITING: [Labeled<usize>; 2] = [
    ("capacity", |now| now.num_waiting.saturating_sub(now.num_deferred)),
    ("deferred", |now| now.num_deferred),
];

/// Metrics that the engine counts itself.
pub(super) struct EngineMetrics {
    gauges: Vec<IntGauge>,
    counters: Vec<IntCounter>,
    waiting: IntGaugeVec,
    kv_cache_usage: Gauge,
    in_flight: IntGauge,
    prompt_tokens: Vec<IntCounter>,
    step_tokens: StepTokensHistogram,
    accepted_at: Vec<IntCounter>,
}

impl EngineMetrics {
    pub fn new(make: &MetricBuilder<'_>, num_speculative_tokens: usize) -> Result<Self, Error> {
        // vLLM's dashboards treat an engine as down unless it reports that it is awake.
        let help = "Sleep state of the engine; always awake.";
        let sleep_state = make.gauges("vllm:engine_sleep_state", help, &["sleep_state"])?;
        for (state, holds) in [("awake", 1), ("weights_offloaded", 0), ("discard_all", 0)] {
            sleep_state.with_label_values(&[state]).set(holds);
        }
        let prompt_tokens = make.counters(
            "vllm:prompt_tokens_by_source_total",
            "Prompt tokens by source: computed, or from the prefix cache.",
            &["source"],
        )?;
        let accepted_at = make.counters(
            "vllm:spec_decode_num_accepted_tokens_per_pos_total",
            "Accepted draft tokens, by position in the draft.",
            &["position"],
        )?;
        let num_positions =
            num_speculative_tokens.min(EngineSnapshot::default().scheduler.accepted_at.len());
        let gauge = |(name, help, _): &Source<usize>| make.gauge(name, help);
        let counter = |(name, help, _): &Source<u64>| make.counter(name, help);
        Ok(Self {
            gauges: GAUGES.iter().map(gauge).collect::<Result<_, _>>()?,
            counters: COUNTERS.iter().map(counter).collect::<Result<_, _>>()?,
            waiting: make.gauges(
                "vllm:num_requests_waiting_by_reason",
                "Waiting sequences: for capacity, or deferred to share a prefix that another one is computing.",
                &["reason"],
            )?,
            kv_cache_usage: make.float_gauge(
                "vllm:kv_cache_usage_perc",
                "Fraction of KV cache blocks in use, from 0 to 1.",
            )?,
            in_flight: make.gauge("inferno_http_requests_in_flight", "HTTP requests that wait or run in the engine.")?,
            prompt_tokens: PROMPT_TOKENS
                .map(|(source, _)| prompt_tokens.with_label_values(&[source]))
                .to_vec(),
            step_tokens: make.register(StepTokensHistogram::new()?)?,
            accepted_at: (0..num_positions)
                .map(|position| accepted_at.with_label_values(&[position.to_string()]))
                .collect(),
        })
    }

    /// Sets all metrics to the current state of the engine.
    pub fn update(&self, now: &EngineSnapshot, in_flight: usize) {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        for (gauge, (_, _, value)) in self.gauges.iter().zip(GAUGES) {
            gauge.set(count(value(now)));
        }
        for (reason, value) in WAITING {
            self.waiting.with_label_values(&[reason]).set(count(value(now)));
        }
        self.kv_cache_usage.set(now.kv_usage());
        self.in_flight.set(count(in_flight));
        self.step_tokens.set(now.step_tokens);
        let counters = self.counters.iter().zip(COUNTERS.iter().map(|(_, _, value)| value(now)));
        let by_source =
            self.prompt_tokens.iter().zip(PROMPT_TOKENS.iter().map(|(_, value)| value(now)));
        let by_position = self.accepted_at.iter().zip(now.scheduler.accepted_at);
        for (counter, total) in counters.chain(by_source).chain(by_position) {
            counter.inc_by(total.saturating_sub(counter.get()));
        }
    }
}

/// A histogram that the engine counts itself.
#[derive(Clone)]
struct StepTokensHistogram {
    description: Desc,
    steps: Arc<Mutex<StepTokens>>,
}

impl StepTokensHistogram {
    fn new() -> Result<Self, Error> {
        let name = "vllm:iteration_tokens_total".to_owned();
        let help = "Tokens computed per step, for prefill and decode.".to_owned();
        let description = Desc::new(name, help, Vec::new(), Default::default())?;
        Ok(Self { description, steps: Arc::default() })
    }

    fn set(&self, steps: StepTokens) {
        *self.steps.lock().unwrap_or_else(PoisonError::into_inner) = steps;
    }
}

impl Collector for StepTokensHistogram {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.description]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let steps = *self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let mut num_steps = 0;
        let buckets = steps.num_steps.iter().zip(StepTokens::bounds()).map(|(further, bound)| {
            num_steps += further;
            let mut bucket = Bucket::default();
            bucket.set_cumulative_count(num_steps);
            bucket.set_upper_bound(bound as f64);
            bucket
        });
        let mut histogram = Histogram::default();
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(steps.num_steps.iter().sum());
        histogram.set_sample_sum(steps.num_tokens as f64);
        let mut metric = Metric::default();
        metric.set_histogram(histogram);
        let mut family = MetricFamily::default();
        family.set_name(self.description.fq_name.clone());
        family.set_help(self.description.help.clone());
        family.set_field_type(MetricType::HISTOGRAM);
        family.set_metric(vec![metric]);
        vec![family]
    }
}
