//! Memory that kernels stream: aligned to cache lines, zeroed lazily, refused rather than aborted.
//!
//! Large arrays lie in large pages, where the system has them to give: two threads that read 400 MB
//! with nothing else to do got 33 GB/s from pages of 2 MiB and 25 from pages of 4 KiB (medians of 25
//! passes each, in turns, on a virtual machine with two cores of a Sapphire Rapids).

use std::sync::{Arc, Mutex, Weak};

use bytemuck::{Pod, Zeroable};
use inferno_backend::BackendError;
use memmap2::{MmapMut, MmapRaw};

use crate::threads::lock;

/// Bytes of a cache line; a multiple of every element's size.
pub(crate) const LINE_BYTES: usize = 64;

/// Bytes of a large page, from which on a mapping asks for them.
pub(crate) const LARGE_PAGE_BYTES: usize = 2 << 20;

/// A zeroed array of plain numbers that starts at a cache line. Pages that were never written take
/// no memory.
#[derive(Debug)]
pub(crate) struct Lines {
    pages: Arc<MmapRaw>,
    /// Where in the pages the array starts.
    start: usize,
    bytes: usize,
}

impl Lines {
    /// An array in pages of its own.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`], naming `what` it was for.
    pub(crate) fn zeroed(bytes: usize, what: &'static str) -> Result<Self, BackendError> {
        let pages =
            MmapMut::map_anon(bytes).map_err(|_| BackendError::OutOfMemory { what, bytes })?;
        #[cfg(target_os = "linux")]
        if bytes >= LARGE_PAGE_BYTES {
            // Advice: where the system does not take it, the pages are small.
            let _ = pages.advise(memmap2::Advice::HugePage);
        }
        Ok(Self { pages: Arc::new(pages.into()), start: 0, bytes })
    }

    /// The array as numbers of type `T`.
    pub(crate) fn get<T: Pod>(&self) -> &[T] {
        // SAFETY: the range lies within the pages, and no other `Lines` has any of it: `zeroed` makes
        // the pages for this array alone, and `Arena::zeroed` gives out each byte once. Zeros are
        // valid bytes, and the borrow of `self` keeps writers away.
        let bytes =
            unsafe { std::slice::from_raw_parts(self.pages.as_ptr().add(self.start), self.bytes) };
        bytemuck::cast_slice(bytes)
    }

    /// The array as numbers of type `T`, to write to.
    pub(crate) fn get_mut<T: Pod>(&mut self) -> &mut [T] {
        // SAFETY: as above; the exclusive borrow of `self` keeps everybody else away.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(self.pages.as_mut_ptr().add(self.start), self.bytes)
        };
        bytemuck::cast_slice_mut(bytes)
    }
}

/// Bytes that an [`Arena`] takes from the system at a time.
const SEGMENT_BYTES: usize = 64 << 20;

/// Gives out arrays that lie side by side in large pages, which each of them alone would not fill.
///
/// The pages go back to the system when the last array in them is dropped.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    segment: Mutex<Segment>,
}

/// The pages that an arena gives out from, and how many bytes it has given out.
#[derive(Debug, Default)]
struct Segment {
    pages: Weak<MmapRaw>,
    used: usize,
}

impl Arena {
    /// An array that shares its pages with others.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`], naming `what` it was for.
    pub(crate) fn zeroed(&self, bytes: usize, what: &'static str) -> Result<Lines, BackendError> {
        if bytes > SEGMENT_BYTES / 2 {
            return Lines::zeroed(bytes, what);
        }
        let mut segment = lock(&self.segment);
        let room = bytes.next_multiple_of(LINE_BYTES);
        let fitting = segment.pages.upgrade().filter(|pages| room <= pages.len() - segment.used);
        let (pages, start) = match fitting {
            Some(pages) => (pages, segment.used),
            None => (Lines::zeroed(SEGMENT_BYTES, what)?.pages, 0),
        };
        *segment = Segment { pages: Arc::downgrade(&pages), used: start + room };
        Ok(Lines { pages, start, bytes })
    }
}

/// The first `len` of `values`, which grows where it has fewer.
pub(crate) fn at_least<T: Zeroable + Copy>(values: &mut Vec<T>, len: usize) -> &mut [T] {
    if values.len() < len {
        values.resize(len, T::zeroed());
    }
    &mut values[..len]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_size_start_at_a_cache_line_and_hold_zeros() {
        for bytes in (0..300).step_by(4).chain([1 << 20, (4 << 20) + 8]) {
            let mut lines = Lines::zeroed(bytes, "a test").expect("little memory");
            assert_eq!(lines.get::<u8>().as_ptr().addr() % LINE_BYTES, 0);
            assert_eq!(lines.get_mut::<f32>().len(), bytes / 4);
            assert!(lines.get::<u8>().iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn arrays_of_an_arena_lie_side_by_side_and_share_no_byte() {
        let arena = Arena::default();
        let sizes = [1000, 0, 64, SEGMENT_BYTES, SEGMENT_BYTES / 2, SEGMENT_BYTES / 2, 200];
        let mut arrays = sizes.map(|bytes| arena.zeroed(bytes, "a test").expect("little memory"));
        assert!(Arc::ptr_eq(&arrays[0].pages, &arrays[2].pages));
        assert_eq!(arrays[2].start, 1024);
        for (number, array) in arrays.iter_mut().enumerate() {
            assert!(array.get::<u8>().iter().all(|&byte| byte == 0));
            array.get_mut::<u8>().fill(number as u8 + 1);
        }
        for (number, (array, bytes)) in arrays.iter().zip(sizes).enumerate() {
            assert_eq!(array.get::<u8>().as_ptr().addr() % LINE_BYTES, 0);
            assert_eq!(array.get::<u8>(), vec![number as u8 + 1; bytes]);
        }
    }

    #[test]
    fn an_arena_keeps_no_pages_whose_arrays_are_gone() {
        let arena = Arena::default();
        arena.zeroed(1000, "a test").expect("little memory").get_mut::<u8>().fill(7);
        let again = arena.zeroed(1000, "a test").expect("little memory");
        assert!(again.get::<u8>().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn more_than_any_machine_has_is_refused() {
        let error = Lines::zeroed(usize::MAX, "the KV cache").expect_err("too much");
        assert!(error.to_string().contains("the KV cache"), "{error}");
    }
}
