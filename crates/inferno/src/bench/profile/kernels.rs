//! Records the kernels of a GPU.

use std::sync::Arc;

use inferno_gpu::{GpuBackend, KernelTime};

use super::{OperationProfile, Work};
use crate::Error;

/// Records kernels on a GPU while it is enabled.
pub(crate) struct KernelRecorder(Arc<GpuBackend>);

impl KernelRecorder {
    /// A disabled recorder for models on `backend`.
    ///
    /// **Errors**: a device without timestamps.
    pub(crate) fn new(backend: Arc<GpuBackend>) -> Result<Self, Error> {
        backend.time_kernels(false)?;
        Ok(Self(backend))
    }

    /// Records kernels from now on, or stops.
    pub(super) fn record(&self, is_on: bool) {
        // `new` has checked that the device has timestamps.
        let _ = self.0.time_kernels(is_on);
    }

    /// Returns what was recorded, and starts anew.
    pub(super) fn take(&self) -> Vec<OperationProfile> {
        self.0.take_kernel_times().into_iter().map(operation).collect()
    }
}

fn operation(kernel: KernelTime) -> OperationProfile {
    let KernelTime { name, num_calls, time, weight_bytes, multiplications } = kernel;
    let f32_ops = (2.0 * multiplications) as u64;
    let work = Work { bytes: weight_bytes, f32_ops, ..Work::default() };
    let work = (weight_bytes > 0).then_some(work);
    OperationProfile { name, num_calls, time, busy: time, work }
}
