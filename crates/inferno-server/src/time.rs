//! Times in responses and logs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Milliseconds, rounded to microseconds.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}
