//! Metrics that the engine counts itself; they are read for each scrape.

use std::sync::{Arc, Mutex, PoisonError};

use inferno_engine::{EngineSnapshot, StepTokens};
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Histogram, Metric, MetricFamily, MetricType};
use prometheus::{Error, Gauge, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use super::maker::Maker;

/// Metrics that the engine counts itself.
pub(super) struct OfEngine {
    running: IntGauge,
    waiting: IntGauge,
    waiting_by_reason: IntGaugeVec,
    kv_cache_usage: Gauge,
    blocks_free: IntGauge,
    blocks_cached: IntGauge,
    blocks: IntGauge,
    in_flight: IntGauge,
    prefix_queries: IntCounter,
    prefix_hits: IntCounter,
    prompt_tokens: IntCounter,
    cached_prompt_tokens: IntCounter,
    prompt_tokens_by_source: IntCounterVec,
    generation_tokens: IntCounter,
    step_tokens: StepTokensHistogram,
    preemptions: IntCounter,
    drafts: IntCounter,
    drafted_tokens: IntCounter,
    accepted_tokens: IntCounter,
    accepted_at: Vec<IntCounter>,
    steps: IntCounter,
    failed_steps: IntCounter,
}

impl OfEngine {
    pub fn new(make: &Maker<'_>, num_speculative_tokens: usize) -> Result<Self, Error> {
        // vLLM's dashboards treat an engine as down unless it reports that it is awake.
        let sleep_state = make.gauges(
            "vllm:engine_sleep_state",
            "Sleep state of the engine; always awake.",
            &["sleep_state"],
        )?;
        for (state, holds) in [("awake", 1), ("weights_offloaded", 0), ("discard_all", 0)] {
            sleep_state.with_label_values(&[state]).set(holds);
        }
        let accepted_at = make.counters(
            "vllm:spec_decode_num_accepted_tokens_per_pos_total",
            "Accepted draft tokens, by position in the draft.",
            &["position"],
        )?;
        let places =
            0..num_speculative_tokens.min(EngineSnapshot::default().scheduler.accepted_at.len());
        Ok(Self {
            running: make.gauge("vllm:num_requests_running", "Running sequences.")?,
            waiting: make.gauge("vllm:num_requests_waiting", "Waiting sequences.")?,
            waiting_by_reason: make.gauges(
                "vllm:num_requests_waiting_by_reason",
                "Waiting sequences: for capacity, or deferred to share a prefix that another one is computing.",
                &["reason"],
            )?,
            kv_cache_usage: make.ratio(
                "vllm:kv_cache_usage_perc",
                "Fraction of KV cache blocks in use, from 0 to 1.",
            )?,
            blocks_free: make.gauge("inferno_kv_blocks_free", "Free KV blocks.")?,
            blocks_cached: make.gauge(
                "inferno_kv_blocks_cached",
                "KV blocks of the prefix cache that can be evicted.",
            )?,
            blocks: make.gauge("inferno_kv_blocks", "Total KV blocks.")?,
            in_flight: make.gauge("inferno_http_requests_in_flight", "Requests in the engine.")?,
            prefix_queries: make.counter(
                "vllm:prefix_cache_queries_total",
                "Prompt tokens looked up in the prefix cache.",
            )?,
            prefix_hits: make.counter(
                "vllm:prefix_cache_hits_total",
                "Prompt tokens found in the prefix cache.",
            )?,
            prompt_tokens: make.counter("vllm:prompt_tokens_total", "Prompt tokens.")?,
            cached_prompt_tokens: make.counter(
                "vllm:prompt_tokens_cached_total",
                "Prompt tokens from the prefix cache.",
            )?,
            prompt_tokens_by_source: make.counters(
                "vllm:prompt_tokens_by_source_total",
                "Prompt tokens by source: computed, or from the prefix cache.",
                &["source"],
            )?,
            generation_tokens: make.counter("vllm:generation_tokens_total", "Generated tokens.")?,
            step_tokens: make.register(StepTokensHistogram::new()?)?,
            preemptions: make.counter(
                "vllm:num_preemptions_total",
                "Preempted sequences.",
            )?,
            drafts: make.counter(
                "vllm:spec_decode_num_drafts_total",
                "Speculative drafts.",
            )?,
            drafted_tokens: make.counter(
                "vllm:spec_decode_num_draft_tokens_total",
                "Draft tokens.",
            )?,
            accepted_tokens: make.counter(
                "vllm:spec_decode_num_accepted_tokens_total",
                "Accepted draft tokens.",
            )?,
            accepted_at: places
                .map(|place| accepted_at.with_label_values(&[place.to_string()]))
                .collect(),
            steps: make.counter("inferno_engine_steps_total", "Forward passes.")?,
            failed_steps: make
                .counter("inferno_engine_failed_steps_total", "Failed forward passes.")?,
        })
    }

    pub fn update(&self, now: &EngineSnapshot, in_flight: usize) {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.running.set(count(now.num_running));
        self.waiting.set(count(now.num_waiting));
        for (reason, number) in [
            ("capacity", now.num_waiting.saturating_sub(now.num_deferred)),
            ("deferred", now.num_deferred),
        ] {
            self.waiting_by_reason.with_label_values(&[reason]).set(count(number));
        }
        self.kv_cache_usage.set(now.kv_usage());
        self.blocks.set(count(now.blocks.num_blocks));
        self.blocks_free.set(count(now.blocks.num_free));
        self.blocks_cached.set(count(now.blocks.num_cached));
        self.in_flight.set(count(in_flight));
        self.step_tokens.set(now.step_tokens);
        let scheduler = &now.scheduler;
        let by_source = |source| self.prompt_tokens_by_source.with_label_values(&[source]);
        let computed_tokens = now.prompt_tokens.saturating_sub(scheduler.prefix_hits);
        let totals = [
            (&self.prefix_queries, scheduler.prefix_queries),
            (&self.prefix_hits, scheduler.prefix_hits),
            (&self.prompt_tokens, now.prompt_tokens),
            (&self.cached_prompt_tokens, scheduler.prefix_hits),
            (&by_source("local_compute"), computed_tokens),
            (&by_source("local_cache_hit"), scheduler.prefix_hits),
            (&self.generation_tokens, now.generation_tokens),
            (&self.preemptions, scheduler.preemptions),
            (&self.drafts, scheduler.drafts),
            (&self.drafted_tokens, scheduler.drafted_tokens),
            (&self.accepted_tokens, scheduler.accepted_tokens),
            (&self.steps, now.steps),
            (&self.failed_steps, now.failed_steps),
        ];
        let by_place = self.accepted_at.iter().zip(scheduler.accepted_at);
        for (counter, total) in totals.into_iter().chain(by_place) {
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
