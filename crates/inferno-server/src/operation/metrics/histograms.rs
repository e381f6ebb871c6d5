//! Histograms of requests and their choices.

use inferno_engine::Finished;
use prometheus::{Error, Histogram};

use super::builder::MetricBuilder;

/// Latencies of requests, in seconds.
pub(super) const LATENCIES: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
/// Latencies of tokens, in seconds.
const TOKEN_LATENCIES: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3,
    0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
/// Numbers of tokens.
const TOKENS: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5];
/// Numbers of choices.
const CHOICES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0];

/// What is recorded of each request.
pub(super) struct RequestHistograms {
    pub time_to_first_token: Histogram,
    pub inter_token_latency: Histogram,
    pub params_n: Histogram,
    pub params_max_tokens: Histogram,
    pub max_generation_tokens: Histogram,
}

impl RequestHistograms {
    pub fn new(make: &MetricBuilder<'_>) -> Result<Self, Error> {
        Ok(Self {
            time_to_first_token: make.histogram(
                "vllm:time_to_first_token_seconds",
                "Time from arrival to the first token.",
                LATENCIES,
            )?,
            inter_token_latency: make.histogram(
                "vllm:inter_token_latency_seconds",
                "Time between consecutive tokens of a choice.",
                TOKEN_LATENCIES,
            )?,
            params_n: make.histogram(
                "vllm:request_params_n",
                "Requested number of choices (n).",
                CHOICES,
            )?,
            params_max_tokens: make.histogram(
                "vllm:request_params_max_tokens",
                "Requested maximum number of tokens (max_tokens).",
                TOKENS,
            )?,
            max_generation_tokens: make.histogram(
                "vllm:request_max_num_generation_tokens",
                "Generated tokens of the longest choice of a request.",
                TOKENS,
            )?,
        })
    }
}

/// What is recorded of each finished choice.
pub(super) struct ChoiceHistograms {
    e2e_latency: Histogram,
    queue_time: Histogram,
    pub prefill_time: Histogram,
    pub decode_time: Histogram,
    inference_time: Histogram,
    prompt_tokens: Histogram,
    generation_tokens: Histogram,
    computed_tokens: Histogram,
    time_per_output_token: Histogram,
}

impl ChoiceHistograms {
    pub fn new(make: &MetricBuilder<'_>) -> Result<Self, Error> {
        let seconds = |name: &str, help: &str| make.histogram(name, help, LATENCIES);
        let tokens = |name: &str, help: &str| make.histogram(name, help, TOKENS);
        Ok(Self {
            e2e_latency: seconds(
                "vllm:e2e_request_latency_seconds",
                "Time from arrival to the last token.",
            )?,
            queue_time: seconds("vllm:request_queue_time_seconds", "Time in the queue.")?,
            prefill_time: seconds(
                "vllm:request_prefill_time_seconds",
                "Time from scheduling to the first token.",
            )?,
            decode_time: seconds(
                "vllm:request_decode_time_seconds",
                "Time from the first to the last token.",
            )?,
            inference_time: seconds(
                "vllm:request_inference_time_seconds",
                "Time from scheduling to the last token.",
            )?,
            prompt_tokens: tokens("vllm:request_prompt_tokens", "Prompt tokens.")?,
            generation_tokens: tokens("vllm:request_generation_tokens", "Generated tokens.")?,
            computed_tokens: tokens(
                "vllm:request_prefill_kv_computed_tokens",
                "Prompt tokens that were not in the prefix cache.",
            )?,
            time_per_output_token: make.histogram(
                "vllm:request_time_per_output_token_seconds",
                "Mean time per token after the first.",
                TOKEN_LATENCIES,
            )?,
        })
    }

    pub fn observe(&self, finished: &Finished) {
        let timings = &finished.timings;
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
        self.prompt_tokens.observe(finished.prompt_tokens as f64);
        self.generation_tokens.observe(finished.generated_tokens as f64);
        self.computed_tokens.observe(computed_tokens as f64);
    }
}
