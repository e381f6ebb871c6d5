//! Stops a generation from elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the generation that it came from, from any thread.
///
/// The forward pass in progress runs to its end; no further one begins, also between the chunks of
/// a long prompt.
#[derive(Debug, Clone)]
pub struct CancelHandle {
    cancelled: Arc<AtomicBool>,
}

impl CancelHandle {
    /// Of a generation that begins.
    pub(super) fn new() -> Self {
        Self { cancelled: Arc::default() }
    }

    /// Asks the generation to stop. Asking twice, or after its end, changes nothing.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the generation was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
