//! The metrics that the server records itself.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use inferno_engine::{EngineHandle, EngineSnapshot, Finished};
use prometheus::proto::MetricFamily;
use prometheus::{Error, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, TextEncoder};

use super::builder::MetricBuilder;
use super::engine::EngineMetrics;
use super::histograms::{ChoiceHistograms, LATENCIES, RequestHistograms};
use super::llama_server::{self, Totals};
use super::process::ProcessMetrics;

/// The metrics of one model, registered.
pub(super) struct ServerMetrics {
    registry: Registry,
    pub request_success: IntCounterVec,
    pub http_requests: IntCounterVec,
    pub http_duration: HistogramVec,
    pub ignored_fields: IntCounterVec,
    pub requests: RequestHistograms,
    choices: ChoiceHistograms,
    /// Tokens of the longest finished sequence.
    max_sequence_tokens: AtomicUsize,
    engine: Mutex<EngineMetrics>,
    process: ProcessMetrics,
}

impl ServerMetrics {
    pub fn new(model: &str, handle: &EngineHandle) -> Result<Self, Error> {
        let labels = [("model_name", model), ("engine", "0")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let registry = Registry::new_custom(None, Some(labels.into_iter().collect()))?;
        let make = MetricBuilder(&registry);
        let help = "Finished choices, by finish reason.";
        let request_success =
            make.counters("vllm:request_success_total", help, &["finished_reason"])?;
        for reason in ["stop", "length", "abort", "error"] {
            request_success.with_label_values(&[reason]);
        }
        cache_config(&registry, handle)?;
        devices(&registry, handle)?;
        Ok(Self {
            request_success,
            http_requests: make.counters(
                "http_requests_total",
                "HTTP responses, by route, method and status class.",
                &["handler", "method", "status"],
            )?,
            http_duration: make.histograms(
                "http_request_duration_seconds",
                "Time from a request to the headers of its response, by route and method.",
                LATENCIES,
                &["handler", "method"],
            )?,
            ignored_fields: make.counters(
                "inferno_ignored_fields_total",
                "Request fields that were ignored, by name; names beyond the first 100 are \"other\".",
                &["field"],
            )?,
            requests: RequestHistograms::new(&make)?,
            choices: ChoiceHistograms::new(&make)?,
            max_sequence_tokens: AtomicUsize::new(0),
            engine: Mutex::new(EngineMetrics::new(&make, handle.max_num_drafts())?),
            process: ProcessMetrics::new(&make)?,
            registry: registry.clone(),
        })
    }

    /// A choice finished.
    pub fn finished(&self, finished: &Finished, reason: &str) {
        self.request_success.with_label_values(&[reason]).inc();
        self.choices.observe(finished);
        let num_tokens = finished.prompt_tokens + finished.generated_tokens;
        self.max_sequence_tokens.fetch_max(num_tokens, Ordering::Relaxed);
    }

    /// All metrics that have the model's name as a label, with the current state of the engine.
    pub fn families(&self, now: &EngineSnapshot, in_flight: usize) -> Vec<MetricFamily> {
        let engine = self.engine.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        engine.update(now, in_flight);
        self.process.update();
        self.registry.gather()
    }

    /// The text of all metrics, with the current state of the engine.
    pub fn text(&self, now: &EngineSnapshot, in_flight: usize) -> Result<String, Error> {
        let mut text = TextEncoder::new().encode_to_string(&self.families(now, in_flight))?;
        text += &llama_server::text(&Totals {
            engine: now,
            prompt_seconds: self.choices.prefill_time.get_sample_sum(),
            generation_seconds: self.choices.decode_time.get_sample_sum(),
            max_sequence_tokens: self.max_sequence_tokens.load(Ordering::Relaxed),
        });
        Ok(text)
    }
}

/// Constant metrics with the devices in their labels.
fn devices(registry: &Registry, handle: &EngineHandle) -> Result<(), Error> {
    let help = "A device that computes, in the order of the layers, in the labels.";
    for (index, device) in handle.devices().iter().enumerate() {
        let options = Opts::new("inferno_device_info", help)
            .const_label("index", index.to_string())
            .const_label("device", device);
        let info = IntGauge::with_opts(options)?;
        info.set(1);
        registry.register(Box::new(info))?;
    }
    Ok(())
}

/// A constant metric with the cache configuration in its labels.
fn cache_config(registry: &Registry, handle: &EngineHandle) -> Result<(), Error> {
    let now = handle.snapshot();
    let is_prefix_cached = if handle.core().options().prefix_cache { "True" } else { "False" };
    let help = "Configuration of the KV cache, in the labels.";
    let options = Opts::new("vllm:cache_config_info", help)
        .const_label("block_size", now.block_tokens.to_string())
        .const_label("num_gpu_blocks", now.blocks.num_blocks.to_string())
        .const_label("enable_prefix_caching", is_prefix_cached);
    let info = IntGauge::with_opts(options)?;
    info.set(1);
    registry.register(Box::new(info))
}
