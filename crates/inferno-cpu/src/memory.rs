//! Memory that kernels stream: aligned to cache lines, zeroed lazily, refused rather than aborted.

use bytemuck::{Pod, Zeroable};
use inferno_backend::BackendError;

/// What the allocation is made of. The system hands out fresh zero pages, which take no memory
/// until they are written, only for alignments up to this one; for a stricter alignment the
/// standard library would write every zero itself.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
struct Grain([u8; GRAIN_BYTES]);

const GRAIN_BYTES: usize = 16;

/// Bytes of a cache line; a multiple of every element's size.
pub(crate) const LINE_BYTES: usize = 64;

/// A zeroed array of plain numbers that starts at a cache line. Pages that were never written take
/// no memory.
#[derive(Debug)]
pub(crate) struct Lines {
    grains: Vec<Grain>,
    /// Bytes from the start of the allocation to its first cache line.
    start: usize,
    bytes: usize,
}

impl Lines {
    /// **Errors**: [`BackendError::OutOfMemory`], naming `what` it was for.
    pub(crate) fn zeroed(bytes: usize, what: &'static str) -> Result<Self, BackendError> {
        let room = bytes.saturating_add(LINE_BYTES - GRAIN_BYTES);
        let grains: Vec<Grain> = bytemuck::allocation::try_zeroed_vec(room.div_ceil(GRAIN_BYTES))
            .map_err(|()| BackendError::OutOfMemory { what, bytes })?;
        let start = grains.as_ptr().addr().wrapping_neg() % LINE_BYTES;
        Ok(Self { grains, start, bytes })
    }

    /// The array as numbers of type `T`.
    pub(crate) fn get<T: Pod>(&self) -> &[T] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.grains);
        bytemuck::cast_slice(&bytes[self.start..self.start + self.bytes])
    }

    /// The array as numbers of type `T`, to write to.
    pub(crate) fn get_mut<T: Pod>(&mut self) -> &mut [T] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.grains);
        bytemuck::cast_slice_mut(&mut bytes[self.start..self.start + self.bytes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_size_start_at_a_cache_line_and_hold_zeros() {
        for bytes in (0..300).step_by(4).chain([1 << 20]) {
            let mut lines = Lines::zeroed(bytes, "a test").expect("little memory");
            assert_eq!(lines.get::<u8>().as_ptr().addr() % LINE_BYTES, 0);
            assert_eq!(lines.get_mut::<f32>().len(), bytes / 4);
            assert!(lines.get::<u8>().iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn more_than_any_machine_has_is_refused() {
        let error = Lines::zeroed(usize::MAX, "the KV cache").expect_err("too much");
        assert!(error.to_string().contains("the KV cache"), "{error}");
    }
}
