//! The peak rates of the machine, which a forward pass is compared with.
//!
//! Reads are timed by sweeps over memory that is larger than the caches, with the widest registers of the machine,
//! independently of the backend's instruction set. Arithmetic is timed with the backend's instruction set, with loops
//! that keep their sums in registers and their inputs in the first-level cache. Both use all threads of the backend.

mod clock;
mod peak;
mod sweep;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use inferno_backend::BackendError;

use crate::backend::CpuBackend;

/// Each rate is the best of this many tries.
const TRIES: usize = 5;

/// Tasks per thread in one try, so that a thread that is delayed does not delay all others.
const TASKS_A_THREAD: usize = 8;

/// Empty steps in one try.
const STEPS: usize = 500;

/// The peak rates of a machine with a backend's threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofs {
    /// Size of the memory that was read, in bytes. The read rate is that of memory if this exceeds the caches.
    pub sweep_bytes: usize,
    /// Bytes read per second.
    pub read_bytes_per_second: f64,
    /// Multiplications and additions of 8-bit integers per second.
    pub int8_ops_per_second: f64,
    /// Multiplications and additions in single precision per second.
    pub f32_ops_per_second: f64,
    /// Multiplications and additions with weights of F16 and BF16 per second: in single precision, or on a matrix unit as two
    /// of bfloat16 numbers, which take four times as long as one of 8-bit integers. F16 takes three, so it reaches at most two
    /// thirds of this rate.
    pub f16_ops_per_second: f64,
    /// Multiplications and additions of 16-bit integers per second, as attention uses them with a cache of I16: on a matrix
    /// unit, each takes four of 8-bit integers.
    pub int16_ops_per_second: f64,
    /// Clock rate of a busy core; `None` if it is not known how to measure it on this kind of processor.
    pub cycles_per_second: Option<f64>,
    /// Overhead of a parallel step, in seconds: starting it on all threads, and waiting for the last one.
    pub step_seconds: f64,
}

impl CpuBackend {
    /// Measures the peak rates. This takes about a second per gigabyte of `sweep_bytes`, and half a second for the
    /// arithmetic.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`] if `sweep_bytes` cannot be allocated.
    pub fn measure_roofs(&self, sweep_bytes: usize) -> Result<Roofs, BackendError> {
        let (int8, f32_rate) = (self.int8_rates(), self.f32_rate());
        Ok(Roofs {
            sweep_bytes,
            read_bytes_per_second: self.read_rate(sweep_bytes)?,
            int8_ops_per_second: int8.vectors.max(int8.matrices),
            f32_ops_per_second: f32_rate,
            f16_ops_per_second: f32_rate.max(int8.matrices / 4.0),
            int16_ops_per_second: self.int16_rate().max(int8.matrices / 4.0),
            cycles_per_second: clock::cycles_per_second(),
            step_seconds: self.step_seconds(),
        })
    }

    /// The time of a step in which each thread only waits until all have started.
    fn step_seconds(&self) -> f64 {
        let num_threads = self.num_threads();
        let num_begun = AtomicUsize::new(0);
        let step = || {
            num_begun.store(0, Ordering::Relaxed);
            self.executor().pool.run(num_threads, &|_, _| {
                num_begun.fetch_add(1, Ordering::AcqRel);
                while num_begun.load(Ordering::Acquire) < num_threads {
                    // There may be fewer processors than threads.
                    std::thread::yield_now();
                }
            });
        };
        fastest(|| (0..STEPS).for_each(|_| step())) / STEPS as f64
    }
}

/// The shortest time of several tries, in seconds.
fn fastest(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let started = Instant::now();
        run();
        best = best.min(started.elapsed().as_secs_f64());
    }
    // If the clock did not advance, the time is below its resolution.
    best.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuOptions, Isa};

    #[test]
    fn every_level_has_marks_that_are_numbers() {
        for isa in Isa::available() {
            for threads in [1, 2] {
                let options = CpuOptions { isa: Some(isa), threads: Some(threads) };
                let backend = CpuBackend::new(options).expect("it is available");
                let roofs = backend.measure_roofs(1 << 20).expect("a megabyte");
                assert_eq!(roofs.sweep_bytes, 1 << 20);
                for mark in [
                    roofs.read_bytes_per_second,
                    roofs.int8_ops_per_second,
                    roofs.f32_ops_per_second,
                    roofs.f16_ops_per_second,
                    roofs.int16_ops_per_second,
                ] {
                    // No machine that runs this does fewer, and none with two threads does more.
                    assert!((1e6..1e15).contains(&mark), "{isa}: {roofs:?}");
                }
                assert!((1e-12..0.1).contains(&roofs.step_seconds), "{isa}: {roofs:?}");
            }
        }
    }

    #[test]
    fn more_memory_than_there_is_is_refused() {
        let backend = CpuBackend::new(CpuOptions::default()).expect("this machine's own");
        assert!(backend.measure_roofs(usize::MAX).is_err());
    }
}
