//! Metrics of the process, with the names of Prometheus' client libraries.

use std::time::{SystemTime, UNIX_EPOCH};

use inferno_engine::resident_bytes;
use prometheus::{Error, IntCounter, IntGauge};

use super::builder::MetricBuilder;
use crate::operation::logs::num_dropped_lines;

/// Metrics of this process.
pub(super) struct ProcessMetrics {
    /// If the system reports it.
    resident_bytes: Option<IntGauge>,
    dropped_log_lines: IntCounter,
}

impl ProcessMetrics {
    /// Registers the metrics; called when the model is loaded.
    pub fn new(make: &MetricBuilder<'_>) -> Result<Self, Error> {
        let started = make.float_gauge(
            "process_start_time_seconds",
            "Time at which the model was loaded, in seconds since 1970.",
        )?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        started.set(now.as_secs_f64());
        let resident_bytes = resident_bytes()
            .map(|_| make.gauge("process_resident_memory_bytes", "Resident memory in bytes."))
            .transpose()?;
        let dropped_log_lines = make.counter(
            "inferno_log_lines_dropped_total",
            "Log lines that were dropped because standard error was not read.",
        )?;
        Ok(Self { resident_bytes, dropped_log_lines })
    }

    pub fn update(&self) {
        let dropped = num_dropped_lines().saturating_sub(self.dropped_log_lines.get());
        self.dropped_log_lines.inc_by(dropped);
        if let (Some(gauge), Some(bytes)) = (&self.resident_bytes, resident_bytes()) {
            gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
    }
}
