//! The processor time of the current thread.

use std::time::Duration;

/// A point in the processor time of the current thread, which the load of the machine does not change. On systems
/// that do not report it, wall-clock time.
#[derive(Clone, Copy)]
pub(super) struct ThreadTime {
    #[cfg(unix)]
    start: Duration,
    #[cfg(not(unix))]
    start: std::time::Instant,
}

#[cfg(unix)]
impl ThreadTime {
    pub(super) fn now() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let nanoseconds = Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0));
        Self { start: Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + nanoseconds }
    }

    /// The time since then.
    pub(super) fn elapsed(self) -> Duration {
        Self::now().start.saturating_sub(self.start)
    }
}

#[cfg(not(unix))]
impl ThreadTime {
    pub(super) fn now() -> Self {
        Self { start: std::time::Instant::now() }
    }

    /// The time since then.
    pub(super) fn elapsed(self) -> Duration {
        self.start.elapsed()
    }
}
