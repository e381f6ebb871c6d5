//! Uploads, and submissions, which carry them.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use inferno_backend::BackendError;

use super::allocation::Allocation;
use super::staging::{MAX_STAGED_BYTES, Staging};
use crate::backend::GpuBackend;

/// Bytes that are transferred at a time. The host holds a copy of them until then.
pub(crate) const TRANSFER_BYTES: usize = 32 << 20;

/// Bytes of an upload that need memory in one piece.
const UPLOAD_BYTES: usize = 8 << 20;

impl GpuBackend {
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
        // Downloads notice that it was aborted.
        self.completion.record(&mut encoder.begin_compute_pass(&Default::default()));
        self.completion.submit(&self.queue, encoder.finish());
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
}

#[cfg(test)]
mod tests {
    use inferno_backend::DeviceMemory;

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
}
