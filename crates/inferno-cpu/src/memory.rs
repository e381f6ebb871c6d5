//! Memory that kernels stream: aligned to cache lines, zeroed lazily, refused rather than aborted.

use bytemuck::{Pod, Zeroable};
use inferno_backend::BackendError;

/// One cache line.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

/// Bytes of a cache line; a multiple of every element's size.
pub(crate) const LINE_BYTES: usize = 64;

/// A zeroed array of plain numbers that starts at a cache line. Pages that were never written take
/// no memory.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    bytes: usize,
}

impl Lines {
    /// **Errors**: [`BackendError::OutOfMemory`], naming `what` it was for.
    pub(crate) fn zeroed(bytes: usize, what: &'static str) -> Result<Self, BackendError> {
        let lines = bytemuck::allocation::try_zeroed_vec(bytes.div_ceil(LINE_BYTES))
            .map_err(|()| BackendError::OutOfMemory { what, bytes })?;
        Ok(Self { lines, bytes })
    }

    /// The array as numbers of type `T`.
    pub(crate) fn get<T: Pod>(&self) -> &[T] {
        bytemuck::cast_slice(&bytemuck::cast_slice::<_, u8>(&self.lines)[..self.bytes])
    }

    /// The array as numbers of type `T`, to write to.
    pub(crate) fn get_mut<T: Pod>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(
            &mut bytemuck::cast_slice_mut::<_, u8>(&mut self.lines)[..self.bytes],
        )
    }
}

/// `a * b` bytes, or a number that no allocation grants where that overflows.
pub(crate) fn size(a: usize, b: usize) -> usize {
    a.saturating_mul(b)
}
