//! Finds out whether threads were descheduled in favor of other programs.
//!
//! The clock of a thread's processor time costs a system call, which steps of a few microseconds cannot afford. So threads
//! only note that one had to wait for another, which costs nothing; measurements begin after that.

// Only the model's own workspace sets `loom`. It has no time.
#![allow(unexpected_cfgs)]

use std::time::Duration;

use super::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use super::team::StepDelays;

/// Delays of the current step.
// Apart from what threads read all the time.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Delays {
    suspected: AtomicBool,
    num_threads: AtomicUsize,
    longest_nanos: AtomicU64,
}

impl Delays {
    /// Notes that a thread waited for others until it had to be parked.
    pub(super) fn suspect(&self) {
        if cfg!(not(loom)) {
            self.suspected.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether there was a suspicion since the last call.
    pub(super) fn take_suspicion(&self) -> bool {
        self.suspected.load(Ordering::Relaxed) && self.suspected.swap(false, Ordering::Relaxed)
    }

    /// Runs a thread's part of a step and adds its delay, if it is long enough to count.
    pub(super) fn measure(&self, run: impl FnOnce()) {
        let watch = Watch::start();
        run();
        let delay = watch.delay();
        if StepDelays::counts(delay) {
            self.num_threads.fetch_add(1, Ordering::Relaxed);
            let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
            self.longest_nanos.fetch_max(nanos, Ordering::Relaxed);
        }
    }

    /// Returns the delays since the last call.
    pub(super) fn take(&self) -> StepDelays {
        StepDelays {
            num_threads: self.num_threads.swap(0, Ordering::Relaxed),
            longest: Duration::from_nanos(self.longest_nanos.swap(0, Ordering::Relaxed)),
        }
    }
}

/// Measures how long this thread is ready but not running.
#[cfg(all(target_os = "linux", not(loom)))]
struct Watch {
    wall: std::time::Instant,
    processor: Option<Duration>,
}

#[cfg(all(target_os = "linux", not(loom)))]
impl Watch {
    fn start() -> Self {
        Self { wall: std::time::Instant::now(), processor: processor_time() }
    }

    /// The time since the start in which the thread did not run; zero if it is too short to count, or if the thread only
    /// waited for something, such as a page of a file.
    fn delay(&self) -> Duration {
        let wall = self.wall.elapsed();
        if !StepDelays::counts(wall) || !was_preempted() {
            return Duration::ZERO;
        }
        let used =
            processor_time().zip(self.processor).map(|(now, start)| now.saturating_sub(start));
        used.map_or(Duration::ZERO, |used| wall.saturating_sub(used))
    }
}

/// The processor time of this thread.
#[cfg(all(target_os = "linux", not(loom)))]
fn processor_time() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

/// Whether this thread was descheduled against its will since the last call.
#[cfg(all(target_os = "linux", not(loom)))]
fn was_preempted() -> bool {
    use nix::sys::resource::{UsageWho, getrusage};
    thread_local! {
        static LAST: std::cell::Cell<std::ffi::c_long> = const { std::cell::Cell::new(0) };
    }
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    usage.is_ok_and(|usage| {
        let count = usage.involuntary_context_switches();
        LAST.replace(count) != count
    })
}

/// Other systems do not report preemptions of a thread.
#[cfg(not(all(target_os = "linux", not(loom))))]
struct Watch;

#[cfg(not(all(target_os = "linux", not(loom))))]
impl Watch {
    fn start() -> Self {
        Self
    }

    fn delay(&self) -> Duration {
        Duration::ZERO
    }
}
