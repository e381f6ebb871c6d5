//! Buffers on the device, and what kernels bind of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A buffer on the device. It is zeroed when it is allocated.
#[derive(Debug)]
pub(crate) struct Allocation {
    id: u64,
    buffer: wgpu::Buffer,
    registry: Arc<Registry>,
}

/// The numbers of all buffers of a device: kernels keep groups of bound buffers, which are evicted with their buffers.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    next_id: AtomicU64,
    dropped: Mutex<Vec<u64>>,
}

impl Registry {
    /// The numbers of the buffers that were dropped since the last call.
    pub(crate) fn take_dropped(&self) -> Vec<u64> {
        std::mem::take(&mut self.dropped.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Numbers a buffer.
    pub(crate) fn register(self: &Arc<Self>, buffer: wgpu::Buffer) -> Allocation {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        Allocation { id, buffer, registry: Arc::clone(self) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let mut dropped = self.registry.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        dropped.push(self.id);
    }
}

impl Allocation {
    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// A number that no other buffer of the device has or had.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Size, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.buffer.size()
    }

    /// Binds everything from `offset` on, which is a multiple of 256.
    pub(crate) fn from(&self, offset: u64) -> Binding<'_> {
        self.part(offset, self.bytes() - offset)
    }

    /// Binds `bytes` bytes from `offset` on, which is a multiple of 256.
    pub(crate) fn part(&self, offset: u64, bytes: u64) -> Binding<'_> {
        Binding { allocation: self, offset, bytes }
    }
}

/// A part of a buffer that is bound to a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding<'a> {
    allocation: &'a Allocation,
    offset: u64,
    bytes: u64,
}

impl<'a> From<&'a Allocation> for Binding<'a> {
    fn from(allocation: &'a Allocation) -> Self {
        allocation.part(0, allocation.bytes())
    }
}

/// The length of [`Binding::key`].
pub(crate) const KEY_LEN: usize = 3;

impl<'a> Binding<'a> {
    /// Identifies the binding; the first value is the number of the buffer.
    pub(crate) fn key(&self) -> [u64; KEY_LEN] {
        [self.allocation.id, self.offset, self.bytes]
    }

    pub(crate) fn resource(&self) -> wgpu::BufferBinding<'a> {
        let size = wgpu::BufferSize::new(self.bytes);
        wgpu::BufferBinding { buffer: &self.allocation.buffer, offset: self.offset, size }
    }
}
