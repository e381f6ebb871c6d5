//! What operators watch of any process, by the names that Prometheus' clients give.

use std::time::{SystemTime, UNIX_EPOCH};

use inferno_engine::resident_bytes;
use prometheus::{Error, IntGauge};

use super::maker::Maker;

/// What is known of this process.
pub(super) struct OfProcess {
    /// Where the system tells it.
    resident_bytes: Option<IntGauge>,
}

impl OfProcess {
    /// From the time on at which the model is loaded.
    pub fn new(make: &Maker<'_>) -> Result<Self, Error> {
        let started = make.ratio(
            "process_start_time_seconds",
            "When the model was loaded, in seconds since 1970.",
        )?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        started.set(now.as_secs_f64());
        let resident_bytes = resident_bytes()
            .map(|_| make.gauge("process_resident_memory_bytes", "Memory that is resident."))
            .transpose()?;
        Ok(Self { resident_bytes })
    }

    pub fn update(&self) {
        if let (Some(gauge), Some(bytes)) = (&self.resident_bytes, resident_bytes()) {
            gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
    }
}
