//! What the threads of a pool do with their time, measured on request.
//!
//! Off, it costs one relaxed load per parallel step and per stage; kernels have no code for it. It does not use the
//! primitives of `sync.rs`: nothing is synchronized by it, and loom need not explore it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::StepFn;

/// The time of operations so far, since a backend was created. Only time during which
/// [`measure_usage`](crate::CpuBackend::measure_usage) is enabled counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Duration of parallel steps.
    pub parallel: Duration,
    /// The time that threads computed in parallel steps, over all threads.
    pub busy: Duration,
    /// Duration of the conversion of the inputs of products: norms that are fused with them, and quantization.
    pub input: Duration,
    /// The part of [`parallel`](Self::parallel) in that.
    pub input_parallel: Duration,
    /// The part of [`busy`](Self::busy) in that.
    pub input_busy: Duration,
    /// The part of [`busy`](Self::busy) that computed the activation functions of gated products.
    pub gate_busy: Duration,
}

impl ThreadUsage {
    /// What was added since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            parallel: self.parallel.saturating_sub(before.parallel),
            busy: self.busy.saturating_sub(before.busy),
            input: self.input.saturating_sub(before.input),
            input_parallel: self.input_parallel.saturating_sub(before.input_parallel),
            input_busy: self.input_busy.saturating_sub(before.input_busy),
            gate_busy: self.gate_busy.saturating_sub(before.gate_busy),
        }
    }
}

/// Measures [`ThreadUsage`].
#[derive(Debug, Default)]
pub(crate) struct UsageMeter {
    is_on: AtomicBool,
    parallel: Nanoseconds,
    busy: Nanoseconds,
    input: Nanoseconds,
    input_parallel: Nanoseconds,
    input_busy: Nanoseconds,
    gate_busy: Nanoseconds,
}

/// A sum of durations.
#[derive(Debug, Default)]
struct Nanoseconds(AtomicU64);

impl Nanoseconds {
    fn add(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

impl UsageMeter {
    pub(crate) fn set_on(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Whether time is measured.
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// The time so far.
    pub(crate) fn usage(&self) -> ThreadUsage {
        ThreadUsage {
            parallel: self.parallel.get(),
            busy: self.busy.get(),
            input: self.input.get(),
            input_parallel: self.input_parallel.get(),
            input_busy: self.input_busy.get(),
            gate_busy: self.gate_busy.get(),
        }
    }

    /// Measures a parallel step, which `distribute` runs with the task that it is called with.
    pub(super) fn step(&self, task: &StepFn<'_>, distribute: impl FnOnce(&StepFn<'_>)) {
        let started = Instant::now();
        distribute(&|items: Range<usize>, thread| {
            let started = Instant::now();
            task(items, thread);
            self.busy.add(started.elapsed());
        });
        self.parallel.add(started.elapsed());
    }

    /// Runs `convert`, which converts the input of a product, and measures it if that is enabled.
    pub(crate) fn input<R>(&self, convert: impl FnOnce() -> R) -> R {
        if !self.is_on() {
            return convert();
        }
        let (before, started) = (self.usage(), Instant::now());
        let result = convert();
        self.input.add(started.elapsed());
        let ThreadUsage { parallel, busy, .. } = self.usage().since(&before);
        self.input_parallel.add(parallel);
        self.input_busy.add(busy);
        result
    }

    /// Runs `combine`, which applies an activation function within a task, and measures it if that is enabled.
    pub(crate) fn gate(&self, combine: impl FnOnce()) {
        if !self.is_on() {
            return combine();
        }
        let started = Instant::now();
        combine();
        self.gate_busy.add(started.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use crate::threads::ThreadPool;

    use super::*;

    const NAP: Duration = Duration::from_millis(2);

    #[test]
    fn only_what_happens_while_it_is_on_is_measured() {
        let pool = ThreadPool::new(2).expect("two threads");
        let step = || pool.run(4, &|_, _| sleep(NAP));
        step();
        pool.usage_meter().input(step);
        pool.usage_meter().gate(|| sleep(NAP));
        assert_eq!(pool.usage_meter().usage(), ThreadUsage::default());
        pool.usage_meter().set_on(true);
        step();
        pool.usage_meter().set_on(false);
        step();
        let usage = pool.usage_meter().usage();
        assert!(usage.busy >= 4 * NAP, "{usage:?}");
        // Two threads cannot work longer than two times the duration.
        assert!(usage.busy <= 2 * usage.parallel, "{usage:?}");
        assert_eq!(usage.input, Duration::ZERO);
    }

    #[test]
    fn inputs_are_a_part_of_the_steps() {
        let pool = ThreadPool::new(2).expect("two threads");
        let meter = pool.usage_meter();
        meter.set_on(true);
        pool.run(2, &|_, _| meter.gate(|| sleep(NAP)));
        let before = meter.usage();
        assert!(before.gate_busy >= 2 * NAP && before.gate_busy <= before.busy, "{before:?}");
        meter.input(|| {
            sleep(NAP);
            pool.run(2, &|_, _| sleep(NAP));
        });
        let usage = meter.usage().since(&before);
        assert_eq!((usage.input_parallel, usage.input_busy), (usage.parallel, usage.busy));
        assert!(usage.input >= usage.parallel + NAP, "{usage:?}");
    }

    #[test]
    fn a_step_within_a_task_is_counted_once() {
        let pool = ThreadPool::new(2).expect("two threads");
        pool.usage_meter().set_on(true);
        pool.run(2, &|_, _| pool.run(2, &|_, _| sleep(NAP)));
        let usage = pool.usage_meter().usage();
        assert!(usage.busy <= 2 * usage.parallel, "{usage:?}");
        assert!(usage.busy >= 4 * NAP, "{usage:?}");
    }
}
