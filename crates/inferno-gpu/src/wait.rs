//! Waiting for the device.

use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::adapter::AdapterKind;
use crate::backend::GpuBackend;

/// Waits shorter than this do not predict the next one, and are too short to sleep.
const SHORT_WAIT: Duration = Duration::from_micros(200);

impl GpuBackend {
    /// Waits until the device has completed everything that was submitted. A device that does not is lost.
    pub(crate) fn wait(&self) {
        /// Much more than a pass takes. A software device may take any time, and cannot hang.
        const TIMEOUT: Duration = Duration::from_secs(300);
        if self.adapter().kind() == AdapterKind::Software {
            return self.wait_at_most(None);
        }
        let started = Instant::now();
        self.wait_actively(started);
        if self.health.check().is_err() {
            return;
        }
        self.wait_at_most(Some(TIMEOUT));
        let duration = started.elapsed();
        if duration >= SHORT_WAIT {
            let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            self.last_wait.store(nanoseconds, Ordering::Relaxed);
        }
    }

    /// Waits as long as the last time, without sleeping at the end: a processor takes long to wake up. Returns early, also
    /// for errors, if the device takes longer.
    fn wait_actively(&self, started: Instant) {
        const MAX_ACTIVE: Duration = Duration::from_millis(1);
        let expected = Duration::from_nanos(self.last_wait.load(Ordering::Relaxed));
        let early = (expected / 5 + SHORT_WAIT).min(MAX_ACTIVE / 2);
        let asleep = expected.saturating_sub(early);
        if asleep > SHORT_WAIT {
            let poll = wgpu::PollType::Wait { submission_index: None, timeout: Some(asleep) };
            if !matches!(self.poll(poll), Err(wgpu::PollError::Timeout)) {
                return;
            }
        }
        let active = Instant::now();
        let end = expected + expected / 4 + SHORT_WAIT;
        while active.elapsed() < MAX_ACTIVE && started.elapsed() < end {
            if !matches!(self.poll(wgpu::PollType::Poll), Ok(wgpu::PollStatus::Poll)) {
                return;
            }
            hint::spin_loop();
        }
    }

    /// Waits as [`wait`](Self::wait) does; `None` for any time.
    pub(crate) fn wait_at_most(&self, timeout: Option<Duration>) {
        let poll = wgpu::PollType::Wait { submission_index: None, timeout };
        match (self.poll(poll), timeout) {
            (Err(wgpu::PollError::Timeout), Some(timeout)) => {
                let seconds = timeout.as_secs_f64();
                self.health.fail(format!("it has not completed its work within {seconds} seconds"));
            }
            (Err(error), _) => self.health.fail(error.to_string()),
            (Ok(_), _) => {}
        }
        self.count_completion();
    }

    /// Polls the device. If it is lost meanwhile, wgpu panics; that is a failure of the device, of which nothing more can be
    /// expected.
    fn poll(&self, poll: wgpu::PollType) -> Result<wgpu::PollStatus, wgpu::PollError> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.device.poll(poll)));
        polled.unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            self.health.fail(message.unwrap_or("it was lost").to_owned());
            Ok(wgpu::PollStatus::QueueEmpty)
        })
    }
}

#[cfg(test)]
mod tests {
    use inferno_backend::{Backend, DeviceMemory, Function, Pass};

    use super::*;
    use crate::adapter;

    #[test]
    fn active_waits_end_in_time() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        for last_wait in [Duration::ZERO, Duration::from_micros(900), Duration::from_millis(20)] {
            let mut x = backend.alloc(1 << 10, 1 << 10).expect("memory");
            let mut pass = backend.begin();
            pass.apply(1 << 10, Function::Gelu, &mut x);
            pass.submit().expect("a device that works");
            backend.last_wait.store(last_wait.as_nanos() as u64, Ordering::Relaxed);
            backend.wait_actively(Instant::now());
            backend.wait();
            backend.check().expect("nothing failed");
        }
    }
}
