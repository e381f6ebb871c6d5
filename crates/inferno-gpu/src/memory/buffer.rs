//! Activations, and the allocation of memory.

use std::ops::Range;

use inferno_backend::BackendError;

use super::allocation::{Allocation, Binding};
use crate::backend::GpuBackend;
use crate::health;

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
    pub(super) fn with_memory<T>(&self, create: impl Fn() -> T) -> Result<T, wgpu::Error> {
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
}

#[cfg(test)]
mod tests {
    use inferno_backend::DeviceMemory;

    use super::*;
    use crate::adapter;

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
