//! Cancels a generation from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops its generation, from any thread.
///
/// The forward pass in progress is completed; no further one starts, even between the chunks of a long
/// prompt.
#[derive(Debug, Clone)]
pub struct CancelHandle {
    cancelled: Arc<AtomicBool>,
}

impl CancelHandle {
    /// Creates the handle of a new generation.
    pub(super) fn new() -> Self {
        Self { cancelled: Arc::default() }
    }

    /// Stops the generation. No effect after its end.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
