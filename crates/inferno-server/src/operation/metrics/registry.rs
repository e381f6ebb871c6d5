//! The metrics by name.

use std::sync::Mutex;

use inferno_engine::{EngineHandle, EngineSnapshot, Finished};
use prometheus::{
    Error, Gauge, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    TextEncoder,
};

/// Seconds until something is answered.
const LATENCIES: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
/// Seconds between two tokens.
const TOKEN_LATENCIES: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3,
    0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
/// Numbers of tokens.
const TOKENS: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5];
/// Numbers of choices.
const CHOICES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0];

/// The metrics of one model, registered.
pub(super) struct Registered {
    registry: Registry,
    pub request_success: IntCounterVec,
    pub time_to_first_token: Histogram,
    pub inter_token_latency: Histogram,
    pub params_n: Histogram,
    pub params_max_tokens: Histogram,
    pub max_generation_tokens: Histogram,
    e2e_latency: Histogram,
    queue_time: Histogram,
    prefill_time: Histogram,
    decode_time: Histogram,
    inference_time: Histogram,
    request_prompt_tokens: Histogram,
    request_generation_tokens: Histogram,
    request_computed_tokens: Histogram,
    time_per_output_token: Histogram,
    engine: Mutex<OfEngine>,
}

/// What the engine counts itself, and is asked for when the page is read.
struct OfEngine {
    running: IntGauge,
    waiting: IntGauge,
    kv_cache_usage: Gauge,
    blocks_free: IntGauge,
    blocks_cached: IntGauge,
    blocks: IntGauge,
    in_flight: IntGauge,
    prefix_queries: IntCounter,
    prefix_hits: IntCounter,
    prompt_tokens: IntCounter,
    generation_tokens: IntCounter,
    preemptions: IntCounter,
    drafts: IntCounter,
    drafted_tokens: IntCounter,
    accepted_tokens: IntCounter,
    steps: IntCounter,
    failed_steps: IntCounter,
}

/// Makes metrics of one registry, all with its labels.
struct Maker<'r>(&'r Registry);

impl Maker<'_> {
    fn counter(&self, name: &str, help: &str) -> Result<IntCounter, Error> {
        let counter = IntCounter::new(name, help)?;
        self.0.register(Box::new(counter.clone()))?;
        Ok(counter)
    }

    fn gauge(&self, name: &str, help: &str) -> Result<IntGauge, Error> {
        let gauge = IntGauge::new(name, help)?;
        self.0.register(Box::new(gauge.clone()))?;
        Ok(gauge)
    }

    fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Result<Histogram, Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        let histogram = Histogram::with_opts(options)?;
        self.0.register(Box::new(histogram.clone()))?;
        Ok(histogram)
    }
}

impl Registered {
    pub fn new(model: &str, handle: &EngineHandle) -> Result<Self, Error> {
        let labels = [("model_name", model), ("engine", "0")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let registry = Registry::new_custom(None, Some(labels.into_iter().collect()))?;
        let make = Maker(&registry);
        let seconds = |name: &str, help: &str| make.histogram(name, help, LATENCIES);
        let tokens = |name: &str, help: &str| make.histogram(name, help, TOKENS);

        let help = "Requests that ended, by the reason.";
        let request_success = IntCounterVec::new(
            Opts::new("vllm:request_success_total", help),
            &["finished_reason"],
        )?;
        registry.register(Box::new(request_success.clone()))?;
        for reason in ["stop", "length", "abort", "error"] {
            request_success.with_label_values(&[reason]);
        }
        cache_config(&registry, handle)?;

        let engine = OfEngine {
            running: make.gauge("vllm:num_requests_running", "Sequences that are computed.")?,
            waiting: make.gauge("vllm:num_requests_waiting", "Sequences that wait.")?,
            kv_cache_usage: Gauge::new(
                "vllm:kv_cache_usage_perc",
                "Share of the KV cache's blocks that is in use, from 0 to 1.",
            )?,
            blocks_free: make.gauge("inferno_kv_blocks_free", "KV blocks that hold nothing.")?,
            blocks_cached: make.gauge(
                "inferno_kv_blocks_cached",
                "KV blocks that hold earlier prompts and can be taken at once.",
            )?,
            blocks: make.gauge("inferno_kv_blocks", "KV blocks in all.")?,
            in_flight: make.gauge("inferno_http_requests_in_flight", "Requests being answered.")?,
            prefix_queries: make.counter(
                "vllm:prefix_cache_queries_total",
                "Prompt tokens that were looked up in the prefix cache.",
            )?,
            prefix_hits: make.counter(
                "vllm:prefix_cache_hits_total",
                "Prompt tokens that were found in the prefix cache.",
            )?,
            prompt_tokens: make.counter("vllm:prompt_tokens_total", "Prompt tokens.")?,
            generation_tokens: make.counter("vllm:generation_tokens_total", "Tokens generated.")?,
            preemptions: make.counter(
                "vllm:num_preemptions_total",
                "Sequences that gave their KV blocks to others, to be computed again.",
            )?,
            drafts: make.counter(
                "vllm:spec_decode_num_drafts_total",
                "Times that tokens of a sequence were guessed ahead.",
            )?,
            drafted_tokens: make.counter(
                "vllm:spec_decode_num_draft_tokens_total",
                "Tokens that were guessed ahead.",
            )?,
            accepted_tokens: make.counter(
                "vllm:spec_decode_num_accepted_tokens_total",
                "Those of them that were right.",
            )?,
            steps: make.counter("inferno_engine_steps_total", "Forward passes.")?,
            failed_steps: make
                .counter("inferno_engine_failed_steps_total", "Forward passes that failed.")?,
        };
        registry.register(Box::new(engine.kv_cache_usage.clone()))?;

        let registered = Self {
            request_success,
            time_to_first_token: seconds(
                "vllm:time_to_first_token_seconds",
                "From a request's arrival to its first token.",
            )?,
            inter_token_latency: make.histogram(
                "vllm:inter_token_latency_seconds",
                "From one token of a choice to its next.",
                TOKEN_LATENCIES,
            )?,
            params_n: make.histogram("vllm:request_params_n", "The parameter n.", CHOICES)?,
            params_max_tokens: tokens(
                "vllm:request_params_max_tokens",
                "The parameter max_tokens.",
            )?,
            max_generation_tokens: tokens(
                "vllm:request_max_num_generation_tokens",
                "Tokens generated for the longest choice of a request.",
            )?,
            e2e_latency: seconds("vllm:e2e_request_latency_seconds", "From arrival to end.")?,
            queue_time: seconds("vllm:request_queue_time_seconds", "Time in the queue.")?,
            prefill_time: seconds(
                "vllm:request_prefill_time_seconds",
                "From the queue's end to the first token.",
            )?,
            decode_time: seconds(
                "vllm:request_decode_time_seconds",
                "From the first token to the last.",
            )?,
            inference_time: seconds(
                "vllm:request_inference_time_seconds",
                "From the queue's end to the last token.",
            )?,
            request_prompt_tokens: tokens("vllm:request_prompt_tokens", "Prompt tokens.")?,
            request_generation_tokens: tokens(
                "vllm:request_generation_tokens",
                "Tokens generated.",
            )?,
            request_computed_tokens: tokens(
                "vllm:request_prefill_kv_computed_tokens",
                "Prompt tokens that were not found in the prefix cache.",
            )?,
            time_per_output_token: make.histogram(
                "vllm:request_time_per_output_token_seconds",
                "From the first token to the last, for each token after the first.",
                TOKEN_LATENCIES,
            )?,
            engine: Mutex::new(engine),
            registry: registry.clone(),
        };
        Ok(registered)
    }

    /// A choice ended.
    pub fn finished(&self, finished: &Finished, reason: &str) {
        let timings = &finished.timings;
        self.request_success.with_label_values(&[reason]).inc();
        self.e2e_latency.observe(timings.total.as_secs_f64());
        self.queue_time.observe(timings.queued.as_secs_f64());
        if let Some(first) = timings.time_to_first_token {
            let prefill = first.saturating_sub(timings.queued);
            self.prefill_time.observe(prefill.as_secs_f64());
            self.decode_time.observe(timings.decode.as_secs_f64());
            self.inference_time.observe((prefill + timings.decode).as_secs_f64());
        }
        if finished.generated_tokens > 1 {
            let per_token = timings.decode.as_secs_f64() / (finished.generated_tokens - 1) as f64;
            self.time_per_output_token.observe(per_token);
        }
        let computed_tokens = finished.prompt_tokens.saturating_sub(finished.cached_tokens);
        self.request_prompt_tokens.observe(finished.prompt_tokens as f64);
        self.request_generation_tokens.observe(finished.generated_tokens as f64);
        self.request_computed_tokens.observe(computed_tokens as f64);
    }

    /// The page, with what the engine says now.
    pub fn text(&self, now: &EngineSnapshot, in_flight: usize) -> Result<String, Error> {
        let engine = self.engine.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        engine.update(now, in_flight);
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

impl OfEngine {
    fn update(&self, now: &EngineSnapshot, in_flight: usize) {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.running.set(count(now.num_running));
        self.waiting.set(count(now.num_waiting));
        self.kv_cache_usage.set(now.kv_usage());
        self.blocks.set(count(now.blocks.num_blocks));
        self.blocks_free.set(count(now.blocks.num_free));
        self.blocks_cached.set(count(now.blocks.num_cached));
        self.in_flight.set(count(in_flight));
        for (counter, total) in [
            (&self.prefix_queries, now.scheduler.prefix_queries),
            (&self.prefix_hits, now.scheduler.prefix_hits),
            (&self.prompt_tokens, now.prompt_tokens),
            (&self.generation_tokens, now.generation_tokens),
            (&self.preemptions, now.scheduler.preemptions),
            (&self.drafts, now.scheduler.drafts),
            (&self.drafted_tokens, now.scheduler.drafted_tokens),
            (&self.accepted_tokens, now.scheduler.accepted_tokens),
            (&self.steps, now.steps),
            (&self.failed_steps, now.failed_steps),
        ] {
            counter.inc_by(total.saturating_sub(counter.get()));
        }
    }
}

/// A constant, whose labels say how the cache is set up.
fn cache_config(registry: &Registry, handle: &EngineHandle) -> Result<(), Error> {
    let now = handle.snapshot();
    let is_prefix_cached = if handle.options().prefix_cache { "True" } else { "False" };
    let help = "How the KV cache is set up, in the labels.";
    let options = Opts::new("vllm:cache_config_info", help)
        .const_label("block_size", now.block_tokens.to_string())
        .const_label("num_gpu_blocks", now.blocks.num_blocks.to_string())
        .const_label("enable_prefix_caching", is_prefix_cached);
    let info = IntGauge::with_opts(options)?;
    info.set(1);
    registry.register(Box::new(info))
}
