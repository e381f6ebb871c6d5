//! Where the time of forward passes goes: each kind of operation, compared with the limits of the machine.
//!
//! A [`Recorder`] observes the passes of a measurement ([`ObservedBackend`](inferno_backend::ObservedBackend)), so that passes
//! without a profile have no code for it. [`ProductProfile`] measures products on their own.

mod json;
#[cfg(feature = "gpu")]
mod kernels;
mod markdown;
mod products;
mod recorder;

use std::sync::Arc;
use std::time::Duration;

use inferno_backend::KvDType;
use inferno_cpu::CpuBackend;
use inferno_engine::Passes;
#[cfg(feature = "gpu")]
use inferno_gpu::GpuBackend;

use super::DeviceRoofs;
#[cfg(feature = "gpu")]
use crate::Error;

#[cfg(feature = "gpu")]
use kernels::KernelRecorder;
pub(super) use products::profile_products;
pub use products::{ProductProfile, ProductSpeed};
pub(crate) use recorder::Recorder;

/// What records the operations of a measurement, on the device that computes.
pub(crate) enum DeviceRecorder {
    /// A processor.
    Cpu(Arc<Recorder>),
    /// A GPU.
    #[cfg(feature = "gpu")]
    Gpu(KernelRecorder),
}

impl DeviceRecorder {
    /// A disabled recorder for models on a CPU, with keys and values in a format.
    pub(crate) fn on_cpu(backend: Arc<CpuBackend>, kv_dtype: KvDType) -> Self {
        Self::Cpu(Arc::new(Recorder::new(backend, kv_dtype)))
    }

    /// A disabled recorder for models on a GPU.
    ///
    /// **Errors**: a device without timestamps.
    #[cfg(feature = "gpu")]
    pub(crate) fn on_gpu(backend: Arc<GpuBackend>) -> Result<Self, Error> {
        KernelRecorder::new(backend).map(Self::Gpu)
    }

    /// What observes passes on a CPU.
    pub(super) fn cpu(&self) -> Option<&Arc<Recorder>> {
        match self {
            Self::Cpu(recorder) => Some(recorder),
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => None,
        }
    }

    /// Number of threads whose time operations share.
    pub(super) fn num_threads(&self) -> usize {
        self.cpu().map_or(1, |recorder| recorder.backend().num_threads())
    }

    /// Records operations from now on, or stops.
    pub(super) fn record(&self, is_on: bool) {
        match self {
            Self::Cpu(recorder) => recorder.record(is_on),
            #[cfg(feature = "gpu")]
            Self::Gpu(recorder) => recorder.record(is_on),
        }
    }

    /// Returns what was recorded, and starts anew.
    pub(super) fn take(&self) -> Vec<OperationProfile> {
        match self {
            Self::Cpu(recorder) => recorder.take(),
            #[cfg(feature = "gpu")]
            Self::Gpu(recorder) => recorder.take(),
        }
    }
}

/// The operations of the passes of a measurement.
#[derive(Debug, Clone)]
pub struct PhaseProfile {
    /// Number of passes.
    pub num_passes: usize,
    /// Number of tokens of all passes.
    pub num_tokens: usize,
    /// Number of threads.
    pub num_threads: usize,
    /// Duration of all passes.
    pub total: Duration,
    /// The kinds of operations, the one that took the most time first. Their durations do not overlap.
    pub operations: Vec<OperationProfile>,
}

/// All operations of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationProfile {
    /// What it computes; of a product, the tensors without the number of the layer.
    pub name: String,
    /// Number of times that it was executed.
    pub num_calls: usize,
    /// Its duration.
    pub time: Duration,
    /// The time that threads computed, over all threads.
    pub busy: Duration,
    /// What it reads and computes at least; `None` if that is not counted.
    pub work: Option<Work>,
}

/// What operations read from memory and compute at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of weights, keys and values.
    pub bytes: u64,
    /// Multiplications and additions of 8-bit integers: products with quantized weights.
    pub int8_ops: u64,
    /// Multiplications and additions of 16-bit integers: attention with a cache of I16.
    pub int16_ops: u64,
    /// Multiplications and additions of products with weights of F16 and BF16.
    pub f16_ops: u64,
    /// Multiplications and additions in single precision: products with other float weights, attention with other caches.
    pub f32_ops: u64,
}

impl Work {
    fn ops(&self) -> u64 {
        self.int8_ops + self.int16_ops + self.f16_ops + self.f32_ops
    }

    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.int8_ops += other.int8_ops;
        self.int16_ops += other.int16_ops;
        self.f16_ops += other.f16_ops;
        self.f32_ops += other.f32_ops;
    }

    /// What an operation that took `time` reached.
    fn reached(&self, roofs: &DeviceRoofs, time: Duration) -> Reached {
        let seconds = time.as_secs_f64().max(1e-12);
        let [read_share, arithmetic_share] = roofs.least_seconds(self).map(|least| least / seconds);
        Reached {
            bytes_per_second: self.bytes as f64 / seconds,
            read_share,
            ops_per_second: self.ops() as f64 / seconds,
            arithmetic_share,
            limit: if read_share > arithmetic_share { "reads" } else { "arithmetic" },
        }
    }
}

/// The rates of an operation.
struct Reached {
    bytes_per_second: f64,
    /// Share of the measured bandwidth; above 1 if data is in the caches.
    read_share: f64,
    ops_per_second: f64,
    /// Share of the measured peak.
    arithmetic_share: f64,
    /// What takes longer at the limits of the machine.
    limit: &'static str,
}

impl OperationProfile {
    /// Share of the threads' time in which they wait: for an operation that uses one thread, or for the last thread of one
    /// that uses all of them.
    pub fn idle_share(&self, num_threads: usize) -> f64 {
        let available = self.time.as_secs_f64() * num_threads as f64;
        let busy_share = self.busy.as_secs_f64() / available.max(1e-12);
        (1.0 - busy_share).clamp(0.0, 1.0)
    }
}

impl PhaseProfile {
    /// The profile of `passes` with these operations.
    pub(super) fn new(
        passes: &Passes,
        num_threads: usize,
        mut operations: Vec<OperationProfile>,
    ) -> Self {
        operations.sort_by_key(|operation| std::cmp::Reverse(operation.time));
        Self {
            num_passes: passes.durations().len(),
            num_tokens: passes.num_tokens(),
            num_threads,
            total: passes.total(),
            operations,
        }
    }

    /// The time of the passes outside of operations: preparing batches, angles of rotations, checks of the file.
    pub fn outside(&self) -> Duration {
        let operations = self.operations.iter().map(|operation| operation.time).sum();
        self.total.saturating_sub(operations)
    }
}

#[cfg(test)]
mod tests {
    use inferno_cpu::Roofs;

    use super::*;

    const ROOFS: DeviceRoofs = DeviceRoofs::Cpu(CPU_ROOFS);

    pub(super) const CPU_ROOFS: Roofs = Roofs {
        sweep_bytes: 1,
        read_bytes_per_second: 1000.0,
        int8_ops_per_second: 8000.0,
        int16_ops_per_second: 4000.0,
        f16_ops_per_second: 2000.0,
        f32_ops_per_second: 2000.0,
        cycles_per_second: Some(1e9),
        step_seconds: 1e-6,
    };

    #[test]
    fn shares_are_those_of_the_roofs() {
        let work = Work { bytes: 200, int8_ops: 800, int16_ops: 400, f16_ops: 150, f32_ops: 50 };
        // 0.2 s of reads, 3 times 0.1 s of arithmetic, in 0.5 s.
        let reached = work.reached(&ROOFS, Duration::from_millis(500));
        assert!((reached.read_share - 0.4).abs() < 1e-9);
        assert!((reached.arithmetic_share - 0.6).abs() < 1e-9);
        assert_eq!(reached.limit, "arithmetic");
        assert_eq!((reached.bytes_per_second, reached.ops_per_second), (400.0, 2800.0));
        let work = Work { bytes: 400, ..work };
        assert_eq!(work.reached(&ROOFS, Duration::from_millis(500)).limit, "reads");
    }

    #[test]
    fn threads_that_do_not_compute_are_idle() {
        let operation = |busy| OperationProfile {
            time: Duration::from_millis(10),
            busy: Duration::from_millis(busy),
            ..OperationProfile::default()
        };
        assert!((operation(10).idle_share(4) - 0.75).abs() < 1e-9);
        assert_eq!(operation(40).idle_share(4), 0.0);
    }

    #[test]
    fn the_rest_of_a_pass_is_outside_of_operations() {
        let mut passes = Passes::default();
        passes.record(3, Duration::from_millis(50));
        let operation = |name: &str, milliseconds| OperationProfile {
            name: name.to_owned(),
            time: Duration::from_millis(milliseconds),
            ..OperationProfile::default()
        };
        let profile = PhaseProfile::new(&passes, 2, vec![operation("a", 10), operation("b", 32)]);
        assert_eq!(profile.outside(), Duration::from_millis(8));
        assert_eq!(profile.operations[0].name, "b");
    }
}
