//! Profiles as JSON.

use serde_json::{Value, json};

use super::{OperationProfile, PhaseProfile, ProductProfile};
use crate::bench::DeviceRoofs;

impl PhaseProfile {
    /// Returns the operations as JSON: sums over all passes, and what they reached.
    pub(in crate::bench) fn json(&self, roofs: &DeviceRoofs) -> Value {
        let operation = |operation: &OperationProfile| {
            let reached = operation.work.map(|work| work.reached(roofs, operation.time));
            json!({
                "name": operation.name,
                "calls": operation.num_calls,
                "seconds": operation.time.as_secs_f64(),
                "share": operation.time.as_secs_f64() / self.total.as_secs_f64().max(1e-12),
                "idle_share": operation.idle_share(self.num_threads),
                "bytes": operation.work.map(|work| work.bytes),
                "int8_ops": operation.work.map(|work| work.int8_ops),
                "int16_ops": operation.work.map(|work| work.int16_ops),
                "f16_ops": operation.work.map(|work| work.f16_ops),
                "f32_ops": operation.work.map(|work| work.f32_ops),
                "bytes_per_second": reached.as_ref().map(|reached| reached.bytes_per_second),
                "read_share": reached.as_ref().map(|reached| reached.read_share),
                "ops_per_second": reached.as_ref().map(|reached| reached.ops_per_second),
                "arithmetic_share": reached.as_ref().map(|reached| reached.arithmetic_share),
                "limit": reached.as_ref().map(|reached| reached.limit),
            })
        };
        json!({
            "passes": self.num_passes,
            "tokens": self.num_tokens,
            "seconds": self.total.as_secs_f64(),
            "outside_seconds": self.outside().as_secs_f64(),
            "operations": self.operations.iter().map(operation).collect::<Vec<_>>(),
        })
    }
}

impl ProductProfile {
    pub(in crate::bench) fn json(&self) -> Value {
        let speeds = self.speeds.iter().map(|speed| {
            json!({
                "format": speed.dtype.name(),
                "rows": speed.num_rows,
                "cached_bytes_per_second": speed.cached_bytes_per_second,
                "cached_ops_per_second": speed.cached_ops_per_second,
                "streamed_bytes_per_second": speed.streamed_bytes_per_second,
                "streamed_ops_per_second": speed.streamed_ops_per_second,
                "share": speed.share,
                "overlap": speed.overlap,
                "cycles_per_tile": speed.cycles_per_tile,
                "least_cycles_per_tile": speed.least_cycles_per_tile,
            })
        });
        speeds.collect()
    }
}
