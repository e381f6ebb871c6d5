//! Activations, and transfers between the host and the device.

use std::hint;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use inferno_backend::BackendError;

use super::allocation::{Allocation, Binding};
use super::staging::{MAX_STAGED_BYTES, Staging};
use crate::adapter::AdapterKind;
use crate::backend::{GpuBackend, GpuCounters};
use crate::completion::COUNT_BYTES;
use crate::health;

/// Bytes that are transferred at a time. The host holds a copy of them until then.
pub(crate) const TRANSFER_BYTES: usize = 32 << 20;

/// Bytes of an upload that need memory in one piece.
const UPLOAD_BYTES: usize = 8 << 20;

/// Waits shorter than this do not predict the next one, and are too short to sleep.
const SHORT_WAIT: Duration = Duration::from_micros(200);

/// A matrix of activations in the memory of the GPU.
#[derive(Debug)]
pub struct GpuBuffer {
    pub(crate) memory: Allocation,
    rows: usize,
    cols: usize,
    /// Rows that a kernel can bind at once.
    tile_rows: usize,
}

impl<'a> From<&'a GpuBuffer> for Binding<'a> {
    fn from(buffer: &'a GpuBuffer) -> Self {
        (&buffer.memory).into()
    }
}

impl<'a> From<&'a mut GpuBuffer> for Binding<'a> {
    fn from(buffer: &'a mut GpuBuffer) -> Self {
        (&buffer.memory).into()
    }
}

impl GpuBuffer {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of values per row.
    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// The first `rows` rows, in tiles that a kernel can bind: all of them, except for [`GpuBackend::alloc_tiled`].
    pub(crate) fn row_tiles(
        &self,
        rows: usize,
    ) -> impl Iterator<Item = (Range<usize>, Binding<'_>)> {
        let (row_bytes, tile_rows) = ((self.cols * size_of::<f32>()) as u64, self.tile_rows);
        (0..rows).step_by(tile_rows).map(move |first| {
            let offset = first as u64 * row_bytes;
            let bytes = (tile_rows as u64 * row_bytes).min(self.memory.bytes() - offset);
            let binding = match self.rows <= tile_rows {
                true => self.into(),
                false => self.memory.part(offset, bytes),
            };
            (first..rows.min(first + tile_rows), binding)
        })
    }
}

impl GpuBackend {
    /// Allocates `bytes` zeroed bytes on the device, rounded up to a multiple of 4.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`]; [`BackendError::BufferTooLarge`] if kernels could not bind the whole
    /// buffer.
    pub(crate) fn allocate(
        &self,
        bytes: usize,
        what: &'static str,
    ) -> Result<Allocation, BackendError> {
        let max = self.limits.max_storage_buffer_binding_size;
        if bytes as u64 > max && bytes as u64 <= self.limits.max_buffer_size {
            return Err(BackendError::BufferTooLarge { what, bytes, max });
        }
        self.allocate_unbound(bytes, what)
    }

    /// Allocates as [`allocate`](Self::allocate) does, also more than kernels can bind at once.
    fn allocate_unbound(
        &self,
        bytes: usize,
        what: &'static str,
    ) -> Result<Allocation, BackendError> {
        const MIN_BYTES: u64 = 16;
        let out_of_memory = || BackendError::OutOfMemory { what, bytes };
        let size = (bytes as u64).checked_next_multiple_of(4).ok_or_else(out_of_memory)?;
        if size > self.limits.max_buffer_size {
            return Err(out_of_memory());
        }
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST;
        let buffer = self.create_buffer(size.max(MIN_BYTES), usage, what)?;
        Ok(self.registry.register(buffer))
    }

    /// Creates a buffer of `size` bytes, which is mapped if the host can write to it. A failure affects nothing else.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn create_buffer(
        &self,
        size: u64,
        usage: wgpu::BufferUsages,
        what: &'static str,
    ) -> Result<wgpu::Buffer, BackendError> {
        let create = || {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(what),
                size,
                usage,
                mapped_at_creation: usage.contains(wgpu::BufferUsages::MAP_WRITE),
            })
        };
        self.with_memory(create)
            .map_err(|_| BackendError::OutOfMemory { what, bytes: size as usize })
    }

    /// Does what needs memory. If there is not enough, tries again once the device is idle, which releases the memory of
    /// buffers that were dropped.
    ///
    /// **Errors**: those of the second attempt.
    fn with_memory<T>(&self, create: impl Fn() -> T) -> Result<T, wgpu::Error> {
        health::scoped(&self.device, &create).or_else(|_| {
            self.wait();
            health::scoped(&self.device, &create)
        })
    }

    /// Allocates a zeroed matrix.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn alloc_matrix(&self, rows: usize, cols: usize) -> Result<GpuBuffer, BackendError> {
        let bytes = rows.saturating_mul(cols).saturating_mul(size_of::<f32>());
        let memory = self.allocate(bytes, "activations")?;
        Ok(GpuBuffer { memory, rows, cols, tile_rows: rows.max(1) })
    }

    /// Allocates a zeroed matrix of any size, whose rows kernels bind in [tiles](GpuBuffer::row_tiles).
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn alloc_tiled(&self, rows: usize, cols: usize) -> Result<GpuBuffer, BackendError> {
        /// Tiles of a multiple of these rows begin at offsets that can be bound, see [`Allocation::part`].
        const ALIGNED_ROWS: usize = 64;
        const WHAT: &str = "logits";
        let row_bytes = cols.saturating_mul(size_of::<f32>());
        let bytes = rows.saturating_mul(row_bytes);
        let max_bytes = self.limits.max_storage_buffer_binding_size as usize;
        let tile_rows = match bytes <= max_bytes {
            true => rows.max(1),
            false => max_bytes / row_bytes / ALIGNED_ROWS * ALIGNED_ROWS,
        };
        if tile_rows == 0 {
            return Err(BackendError::OutOfMemory { what: WHAT, bytes });
        }
        Ok(GpuBuffer { memory: self.allocate_unbound(bytes, WHAT)?, rows, cols, tile_rows })
    }

    /// Copies `bytes`, whose number and whose `offset` in `target` are multiples of 4. Passes that were submitted before
    /// read the old contents, those that are submitted later the new ones.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`] if there is no room for a copy that the device reads,
    /// [`BackendError::DeviceLost`].
    pub(crate) fn write(
        &self,
        target: &Allocation,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        if bytes.is_empty() || self.stage(target.buffer(), offset, bytes) {
            return Ok(());
        }
        for (number, part) in bytes.chunks(UPLOAD_BYTES).enumerate() {
            self.write_part(target.buffer(), offset + (number * UPLOAD_BYTES) as u64, part)?;
            // The host holds what was written until a submission has completed.
            let unsubmitted = self.unsubmitted_bytes.fetch_add(part.len(), Ordering::Relaxed);
            if unsubmitted + part.len() >= TRANSFER_BYTES {
                self.submit_uploads();
                self.wait();
            }
        }
        Ok(())
    }

    /// Copies the parameters of a submission, as [`write`](Self::write) does.
    ///
    /// **Errors**: as [`write`](Self::write).
    pub(crate) fn write_params(
        &self,
        target: &wgpu::Buffer,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        match self.stage(target, 0, bytes) {
            true => Ok(()),
            false => self.write_part(target, 0, bytes),
        }
    }

    /// Adds `bytes` to the uploads of the next submission, unless they are too many.
    fn stage(&self, target: &wgpu::Buffer, offset: u64, bytes: &[u8]) -> bool {
        let mut staging = self.staging();
        let is_staged = bytes.len() <= MAX_STAGED_BYTES
            && staging.add(target, offset, bytes, |size| {
                let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
                self.create_buffer(size, usage, "uploads").ok()
            });
        if !is_staged && staging.has_target(target) {
            // What is written otherwise precedes what is staged.
            self.submit_staged(&mut staging);
        }
        is_staged
    }

    /// Starts the uploads that were not submitted.
    fn submit_uploads(&self) {
        self.unsubmitted_bytes.store(0, Ordering::Relaxed);
        self.submit_staged(&mut self.staging());
    }

    fn submit_staged(&self, staging: &mut Staging) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        staging.record(&mut encoder);
        self.queue.submit([encoder.finish()]);
        staging.recall();
    }

    /// Starts the uploads that were not submitted, and then what `record` records, which ends with the dispatch that counts
    /// the submission. Returns the number of submissions, see [`Completion`](crate::completion::Completion).
    pub(crate) fn submit_commands(&self, record: impl FnOnce(&mut wgpu::CommandEncoder)) -> u32 {
        let mut staging = self.staging();
        self.unsubmitted_bytes.store(0, Ordering::Relaxed);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        staging.record(&mut encoder);
        record(&mut encoder);
        let num_submitted = self.completion.submit(&self.queue, encoder.finish());
        staging.recall();
        num_submitted
    }

    fn staging(&self) -> MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies `bytes` at once.
    ///
    /// **Errors**: as [`write`](Self::write).
    fn write_part(
        &self,
        target: &wgpu::Buffer,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        match self.with_memory(|| self.queue.write_buffer(target, offset, bytes)) {
            Ok(()) => Ok(()),
            Err(wgpu::Error::OutOfMemory { .. }) => {
                Err(BackendError::OutOfMemory { what: "an upload", bytes: bytes.len() })
            }
            Err(error) => {
                self.health.fail(error.to_string());
                self.health.check()
            }
        }
    }

    /// Copies `source` from `offset` on to `bytes`; the offset and the length are multiples of 4. Waits for the passes that
    /// were submitted.
    ///
    /// **Errors**: [`BackendError::Device`], [`BackendError::OutOfMemory`].
    pub(crate) fn read(
        &self,
        source: &Allocation,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), BackendError> {
        self.read_all(std::iter::once((source, offset, bytes.len())), bytes)
    }

    /// Copies parts of buffers, given by their offset and length, to `bytes`, one after the other. Waits once for each
    /// [`TRANSFER_BYTES`].
    ///
    /// **Errors**: as [`read`](Self::read).
    pub(crate) fn read_all<'s>(
        &self,
        sources: impl Iterator<Item = (&'s Allocation, u64, usize)>,
        mut bytes: &mut [u8],
    ) -> Result<(), BackendError> {
        let mut parts = Vec::new();
        let mut num_bytes = 0;
        for (source, mut offset, mut len) in sources {
            while len > 0 {
                let part = len.min(TRANSFER_BYTES - num_bytes);
                parts.push((source, offset, part));
                (offset, len, num_bytes) = (offset + part as u64, len - part, num_bytes + part);
                if num_bytes == TRANSFER_BYTES {
                    let target = bytes.split_off_mut(..num_bytes).expect("room for the sources");
                    self.transfer(&parts, target)?;
                    parts.clear();
                    num_bytes = 0;
                }
            }
        }
        if num_bytes > 0 {
            self.transfer(&parts, &mut bytes[..num_bytes])?;
        }
        Ok(())
    }

    /// Copies parts of buffers to `bytes`, which they fill.
    fn transfer(
        &self,
        parts: &[(&Allocation, u64, usize)],
        bytes: &mut [u8],
    ) -> Result<(), BackendError> {
        let mut target = self.download.lock().unwrap_or_else(PoisonError::into_inner);
        let downloaded_bytes = bytes.len() as u64;
        self.count(GpuCounters { dispatches: 1, downloaded_bytes, ..Default::default() });
        // The number of submissions follows.
        let size = downloaded_bytes + COUNT_BYTES as u64;
        let staging = match target.take().filter(|staging| staging.size() >= size) {
            Some(staging) => staging,
            None => {
                let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
                let room = downloaded_bytes.next_power_of_two() + COUNT_BYTES as u64;
                self.create_buffer(room, usage, "a download")?
            }
        };
        let num_submitted = self.submit_commands(|encoder| {
            let mut at = 0;
            for &(source, offset, len) in parts {
                encoder.copy_buffer_to_buffer(source.buffer(), offset, &staging, at, len as u64);
                at += len as u64;
            }
            self.completion.record_copy(encoder, &staging, at);
        });
        let slice = staging.slice(..size);
        slice.map_async(wgpu::MapMode::Read, |_| ());
        self.wait();
        self.health.check()?;
        let view = slice.get_mapped_range().map_err(|error| BackendError::Device {
            reason: format!("results cannot be read: {error}"),
        })?;
        let (values, count) = view.split_at(bytes.len());
        bytes.copy_from_slice(values);
        let is_complete = count == num_submitted.to_ne_bytes();
        drop(view);
        staging.unmap();
        *target = Some(staging);
        if !is_complete {
            self.health
                .fail("the driver reported a submission as complete that has not run".to_owned());
        }
        self.health.check()
    }

    /// Waits until the device has completed everything that was submitted. A device that does not is lost.
    pub(crate) fn wait(&self) {
        /// Much more than a pass takes. A software device may take any time, and cannot hang.
        const TIMEOUT: Duration = Duration::from_secs(300);
        if self.adapter().kind() == AdapterKind::Software {
            return self.wait_at_most(None);
        }
        let started = Instant::now();
        self.wait_actively(started);
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
            if !matches!(self.device.poll(poll), Err(wgpu::PollError::Timeout)) {
                return;
            }
        }
        let active = Instant::now();
        let end = expected + expected / 4 + SHORT_WAIT;
        while active.elapsed() < MAX_ACTIVE && started.elapsed() < end {
            if !matches!(self.device.poll(wgpu::PollType::Poll), Ok(wgpu::PollStatus::Poll)) {
                return;
            }
            hint::spin_loop();
        }
    }

    /// Waits as [`wait`](Self::wait) does; `None` for any time.
    pub(crate) fn wait_at_most(&self, timeout: Option<Duration>) {
        let poll = wgpu::PollType::Wait { submission_index: None, timeout };
        match (self.device.poll(poll), timeout) {
            (Err(wgpu::PollError::Timeout), Some(timeout)) => {
                let seconds = timeout.as_secs_f64();
                self.health.fail(format!("it has not completed its work within {seconds} seconds"));
            }
            (Err(error), _) => self.health.fail(error.to_string()),
            (Ok(_), _) => {}
        }
        self.count_completion();
    }

    /// Copies a range of the values of `buffer` to `staging`.
    ///
    /// **Errors**: [`BackendError::Device`].
    pub(crate) fn download_values<'a>(
        &self,
        buffer: &GpuBuffer,
        values: Range<usize>,
        staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError> {
        self.health.check()?;
        staging.resize(values.len(), 0.0);
        let offset = (values.start * size_of::<f32>()) as u64;
        self.read(&buffer.memory, offset, bytemuck::cast_slice_mut(staging))?;
        Ok(staging)
    }
}

#[cfg(test)]
mod tests {
    use inferno_backend::{Backend, DeviceMemory, Function, Pass};

    use super::*;
    use crate::adapter;

    #[test]
    fn uploads_in_several_pieces_are_complete() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let len = 2 * UPLOAD_BYTES / size_of::<f32>() + 3;
        let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let mut buffer = backend.alloc(1, len).expect("memory");
        backend.upload(&values, &mut buffer);
        let mut staging = Vec::new();
        let found = backend.download(&buffer, 0..len, &mut staging).expect("a device that works");
        assert!(found == values);
    }

    #[test]
    fn uploads_take_effect_in_their_order() {
        const LARGE: usize = MAX_STAGED_BYTES / size_of::<f32>() + 1;
        const SMALL: usize = LARGE / 2;
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let mut buffer = backend.alloc(1, LARGE).expect("memory");
        let mut check = |lens: &[usize]| {
            let mut expected = vec![0.0; LARGE];
            backend.upload(&expected, &mut buffer);
            for (&len, value) in lens.iter().zip(1..) {
                let values = vec![value as f32; len];
                backend.upload(&values, &mut buffer);
                expected[..len].copy_from_slice(&values);
            }
            let mut staging = Vec::new();
            let found = backend.download(&buffer, 0..LARGE, &mut staging);
            assert!(found.expect("a device that works") == expected, "{lens:?}");
        };
        check(&[SMALL, 2, 1]);
        check(&[SMALL, LARGE]);
        check(&[LARGE, SMALL, 3]);
        check(&[3, LARGE, 2, LARGE, 1]);
        // More than there is kept memory for, twice.
        check(&[SMALL; 40]);
        check(&[SMALL; 40]);
    }

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

    #[test]
    fn a_buffer_that_kernels_cannot_use_is_reported_with_the_largest_size() {
        let Some(adapter) = adapter::for_tests() else { return };
        let mut backend = GpuBackend::new(adapter).expect("a device that can be opened");
        backend.limits.max_storage_buffer_binding_size = 1 << 10;
        let failure = backend.alloc(2, 1 << 8).expect_err("too large");
        let expected = BackendError::BufferTooLarge { what: "activations", bytes: 2048, max: 1024 };
        assert_eq!(failure.to_string(), expected.to_string());
        backend.alloc(1, 1 << 8).expect("the largest size");
        backend.alloc_logits(2, 1 << 3).expect("logits are divided");
    }
}
