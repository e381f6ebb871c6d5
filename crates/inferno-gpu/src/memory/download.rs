//! Downloads.

use std::ops::Range;
use std::sync::PoisonError;

use inferno_backend::BackendError;

use super::allocation::Allocation;
use super::buffer::GpuBuffer;
use super::upload::TRANSFER_BYTES;
use crate::backend::{GpuBackend, GpuCounters};
use crate::completion::COUNT_BYTES;

impl GpuBackend {
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
}
