//! Metrics of the process, with the names of Prometheus' client libraries.

use std::time::{SystemTime, UNIX_EPOCH};

use inferno_engine::resident_bytes;
use prometheus::{Counter, Error, IntCounter, IntGauge};

use super::builder::MetricBuilder;
use crate::operation::logs::num_dropped_lines;

/// Metrics of this process.
pub(super) struct ProcessMetrics {
    /// If the system reports it.
    resident_bytes: Option<IntGauge>,
    /// If the system reports it.
    cpu_seconds: Option<Counter>,
    /// If the system reports it.
    open_files: Option<IntGauge>,
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
        let cpu_seconds = cpu_seconds()
            .map(|_| make.float_counter("process_cpu_seconds_total", "CPU time in seconds."))
            .transpose()?;
        let open_files = num_open_files()
            .map(|_| make.gauge("process_open_fds", "Open file descriptors."))
            .transpose()?;
        let dropped_log_lines = make.counter(
            "inferno_log_lines_dropped_total",
            "Log lines that were dropped because standard error was not read.",
        )?;
        Ok(Self { resident_bytes, cpu_seconds, open_files, dropped_log_lines })
    }

    pub fn update(&self) {
        let dropped = num_dropped_lines().saturating_sub(self.dropped_log_lines.get());
        self.dropped_log_lines.inc_by(dropped);
        if let (Some(gauge), Some(bytes)) = (&self.resident_bytes, resident_bytes()) {
            gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        if let (Some(counter), Some(seconds)) = (&self.cpu_seconds, cpu_seconds()) {
            counter.inc_by((seconds - counter.get()).max(0.0));
        }
        if let (Some(gauge), Some(count)) = (&self.open_files, num_open_files()) {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}

/// CPU time of this process in user and system mode, on Linux.
fn cpu_seconds() -> Option<f64> {
    /// Linux reports times in hundredths of a second (USER_HZ) on all architectures that matter here.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the name of the program in parentheses, may contain spaces; utime and stime are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Some((times.next()?.ok()? + times.next()?.ok()?) / TICKS_PER_SECOND)
}

/// Number of open file descriptors, on Linux.
fn num_open_files() -> Option<usize> {
    // Reading the folder opens one more.
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}
