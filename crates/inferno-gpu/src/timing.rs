//! Durations of kernels on the device, by timestamps before and after each dispatch.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inferno_backend::BackendError;

use crate::backend::GpuBackend;

/// Dispatches of a submission that are timed: a set has at most 4,096 timestamps.
pub(crate) const MAX_TIMED: usize = 2048;

const TIMESTAMP_BYTES: u64 = size_of::<u64>() as u64;
const SET_BYTES: u64 = 2 * MAX_TIMED as u64 * TIMESTAMP_BYTES;

/// All dispatches of a kernel with the same shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KernelTime {
    /// The tensors of a product, or the name of the kernel and the number of workgroups.
    pub name: String,
    /// Number of dispatches.
    pub num_calls: usize,
    /// Their duration on the device, without gaps between them.
    pub time: Duration,
    /// Bytes of weights that they read, counting each product once.
    pub weight_bytes: u64,
    /// Multiplications of products.
    pub multiplications: f64,
}

/// What a dispatch reads and computes at least, if that is counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepWork {
    pub(crate) weight_bytes: u64,
    pub(crate) multiplications: f64,
}

/// Timestamps of a device, if it has them.
#[derive(Debug)]
pub(crate) struct Timing {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    host: wgpu::Buffer,
    nanoseconds_per_tick: f64,
    is_on: AtomicBool,
    times: Mutex<HashMap<String, KernelTime>>,
}

impl Timing {
    /// The features of a device with timestamps.
    pub(crate) const FEATURES: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY;

    /// `None` if the device has no timestamps.
    pub(crate) fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Option<Self> {
        if !device.features().contains(Self::FEATURES) {
            return None;
        }
        let label = Some("timestamps");
        let buffer = |usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label,
                size: SET_BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        Some(Self {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label,
                ty: wgpu::QueryType::Timestamp,
                count: 2 * MAX_TIMED as u32,
            }),
            resolved: buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            host: buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST),
            nanoseconds_per_tick: queue.get_timestamp_period().into(),
            is_on: AtomicBool::new(false),
            times: Mutex::default(),
        })
    }

    /// Whether dispatches are timed.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// The timestamps around dispatch `number` of a submission.
    pub(crate) fn around(&self, number: usize) -> wgpu::ComputePassTimestampWrites<'_> {
        let first = 2 * number as u32;
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        }
    }

    /// Copies the timestamps of `count` dispatches to the host.
    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder, count: usize) {
        encoder.resolve_query_set(&self.queries, 0..2 * count as u32, &self.resolved, 0);
        let bytes = 2 * count as u64 * TIMESTAMP_BYTES;
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.host, 0, bytes);
    }

    /// Adds the times of `steps`, whose timestamps were resolved and whose submission is complete. `wait` waits for the
    /// device.
    pub(crate) fn add<'s>(
        &self,
        wait: impl FnOnce(),
        steps: impl ExactSizeIterator<Item = (String, StepWork)> + 's,
    ) {
        let bytes = 2 * steps.len() as u64 * TIMESTAMP_BYTES;
        if bytes == 0 {
            return;
        }
        self.host.map_async(wgpu::MapMode::Read, 0..bytes, |_| {});
        wait();
        let Ok(view) = self.host.get_mapped_range(0..bytes) else { return };
        let stamps: Vec<u64> = bytemuck::pod_collect_to_vec(&view);
        drop(view);
        self.host.unmap();
        let mut times = self.times();
        for ((name, work), stamps) in steps.zip(stamps.chunks_exact(2)) {
            let ticks = stamps[1].saturating_sub(stamps[0]);
            let entry = times.entry(name).or_default();
            entry.num_calls += 1;
            entry.time += Duration::from_nanos((ticks as f64 * self.nanoseconds_per_tick) as u64);
            entry.weight_bytes += work.weight_bytes;
            entry.multiplications += work.multiplications;
        }
    }

    fn times(&self) -> MutexGuard<'_, HashMap<String, KernelTime>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GpuBackend {
    /// Times each kernel from now on, or stops. Passes then wait for the device, and take longer as a whole.
    ///
    /// **Errors**: [`BackendError::Unavailable`] if the device has no timestamps.
    pub fn time_kernels(&self, is_on: bool) -> Result<(), BackendError> {
        let timing = self.timing.as_ref().ok_or_else(|| BackendError::Unavailable {
            what: "a profile of kernels".to_owned(),
            reason: format!("{} has no timestamps", self.adapter().name()),
        })?;
        timing.is_on.store(is_on, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the times of kernels since the last call, those with the longest first.
    pub fn take_kernel_times(&self) -> Vec<KernelTime> {
        let Some(timing) = &self.timing else { return Vec::new() };
        let times = std::mem::take(&mut *timing.times());
        let mut times: Vec<_> =
            times.into_iter().map(|(name, time)| KernelTime { name, ..time }).collect();
        times.sort_by_key(|kernel| std::cmp::Reverse(kernel.time));
        times
    }
}
