//! Memory that kernels stream: aligned to cache lines, zeroed lazily, allocated without aborting.
//!
//! Large arrays use huge pages if the system provides them. Two threads that only read 400 MB reached 33 GB/s
//! with pages of 2 MiB and 25 GB/s with pages of 4 KiB (medians of 25 alternating passes each, on a virtual
//! machine with two cores of a Sapphire Rapids). (Tried: mapping 2 MiB more, and starting each array at a huge page, which Linux
//! before 6.7 does not do by itself. On Linux 6.18, weights were then read 5 to 10% slower.)

// Makes slices of mapped pages.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex, Weak};

use bytemuck::Pod;
use inferno_backend::BackendError;
use memmap2::{MmapMut, MmapRaw};

use crate::threads::lock;

/// Bytes of a cache line; a multiple of every element's size.
pub(crate) const LINE_BYTES: usize = 64;

/// Bytes of a huge page. Mappings of at least this size request huge pages.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A zeroed array of plain numbers that starts at a cache line. Pages that were never written use no memory.
#[derive(Debug)]
pub(crate) struct AlignedArray {
    pages: Arc<MmapRaw>,
    /// Offset of the array in the pages, in bytes.
    start: usize,
    bytes: usize,
}

impl AlignedArray {
    /// Maps an array of `bytes` bytes in separate pages.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`], which names `what` the array is for.
    pub(crate) fn zeroed(bytes: usize, what: &'static str) -> Result<Self, BackendError> {
        let pages =
            MmapMut::map_anon(bytes).map_err(|_| BackendError::OutOfMemory { what, bytes })?;
        #[cfg(target_os = "linux")]
        if bytes >= HUGE_PAGE_BYTES {
            // Only advice: without support for huge pages, the pages are small.
            let _ = pages.advise(memmap2::Advice::HugePage);
        }
        Ok(Self { pages: Arc::new(pages.into()), start: 0, bytes })
    }

    /// Makes the system provide the memory of the first `bytes` bytes soon, in a thread of its own. Otherwise it does so when
    /// they are first written: on a virtual machine, that made a server's first prompts a seventh slower.
    pub(crate) fn populate(&self, bytes: usize) {
        #[cfg(target_os = "linux")]
        {
            let (pages, start, end) = (self.pages.clone(), self.start, bytes.min(self.bytes));
            if end == 0 {
                return;
            }
            let populate = move || {
                for at in (0..end).step_by(HUGE_PAGE_BYTES) {
                    let length = HUGE_PAGE_BYTES.min(end - at);
                    let advice = memmap2::Advice::PopulateWrite;
                    if pages.advise_range(advice, start + at, length).is_err() {
                        // Kernels before 5.14 cannot do this.
                        return;
                    }
                }
            };
            // Without the thread, the memory is provided when it is written.
            let _ = std::thread::Builder::new().name("populate".to_owned()).spawn(populate);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = bytes;
    }

    /// The array as numbers of type `T`.
    pub(crate) fn get<T: Pod>(&self) -> &[T] {
        // SAFETY: the range is within the pages, and no other `AlignedArray` overlaps it: `zeroed` maps the
        // pages for this array alone, and `Arena::zeroed` hands out each byte once. Mapped pages are
        // initialized, and the borrow of `self` excludes writers.
        let bytes =
            unsafe { std::slice::from_raw_parts(self.pages.as_ptr().add(self.start), self.bytes) };
        bytemuck::cast_slice(bytes)
    }

    /// The array as mutable numbers of type `T`.
    pub(crate) fn get_mut<T: Pod>(&mut self) -> &mut [T] {
        // SAFETY: as in `get`; the exclusive borrow of `self` excludes all other accesses.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(self.pages.as_mut_ptr().add(self.start), self.bytes)
        };
        bytemuck::cast_slice_mut(bytes)
    }
}

/// Bytes that an [`Arena`] maps at a time.
const SEGMENT_BYTES: usize = 64 << 20;

/// Allocates arrays next to one another in huge pages, which none of them would fill alone.
///
/// The pages are unmapped when the last array in them is dropped.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    segment: Mutex<ArenaSegment>,
}

/// The pages that an arena allocates from, and the bytes allocated in them.
#[derive(Debug, Default)]
struct ArenaSegment {
    pages: Weak<MmapRaw>,
    used: usize,
}

impl Arena {
    /// Allocates an array that may share its pages with others.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`], which names `what` the array is for.
    pub(crate) fn zeroed(
        &self,
        bytes: usize,
        what: &'static str,
    ) -> Result<AlignedArray, BackendError> {
        if bytes > SEGMENT_BYTES / 2 {
            return AlignedArray::zeroed(bytes, what);
        }
        let mut segment = lock(&self.segment);
        let room = bytes.next_multiple_of(LINE_BYTES);
        let fitting = segment.pages.upgrade().filter(|pages| room <= pages.len() - segment.used);
        let (pages, start) = match fitting {
            Some(pages) => (pages, segment.used),
            None => (AlignedArray::zeroed(SEGMENT_BYTES, what)?.pages, 0),
        };
        *segment = ArenaSegment { pages: Arc::downgrade(&pages), used: start + room };
        Ok(AlignedArray { pages, start, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_size_start_at_a_cache_line_and_are_zeroed() {
        for bytes in (0..300).step_by(4).chain([1 << 20, (4 << 20) + 8]) {
            let mut array = AlignedArray::zeroed(bytes, "a test").expect("little memory");
            assert_eq!(array.get::<u8>().as_ptr().addr() % LINE_BYTES, 0);
            assert_eq!(array.get_mut::<f32>().len(), bytes / 4);
            assert!(array.get::<u8>().iter().all(|&byte| byte == 0));
        }
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no pages")]
    fn the_populated_part_of_an_array_has_memory() {
        use std::os::unix::fs::FileExt;

        const BYTES: usize = 64 << 20;
        const PAGE_BYTES: usize = 4096;
        let array = AlignedArray::zeroed(BYTES, "a test").expect("little memory");
        // Each page has an entry of eight bytes, whose highest bit is set if the page has memory.
        let resident_bytes = || {
            let first = array.get::<u8>().as_ptr().addr() / PAGE_BYTES;
            let mut entries = vec![0; BYTES / PAGE_BYTES * 8];
            let pages = std::fs::File::open("/proc/self/pagemap").expect("Linux");
            pages.read_exact_at(&mut entries, 8 * first as u64).expect("mapped pages");
            let is_present = |entry: &&[u8]| entry[7] >= 0x80;
            entries.chunks_exact(8).filter(is_present).count() * PAGE_BYTES
        };
        assert_eq!(resident_bytes(), 0);
        array.populate(BYTES / 2);
        let wait = std::time::Duration::from_millis(10);
        let is_populated = (0..1000).any(|_| {
            std::thread::sleep(wait);
            resident_bytes() >= BYTES / 2
        });
        assert!(is_populated, "{} bytes", resident_bytes());
        assert!(array.get::<u8>().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn arrays_of_an_arena_are_adjacent_and_disjoint() {
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
    fn an_arena_unmaps_pages_when_their_arrays_are_dropped() {
        let arena = Arena::default();
        arena.zeroed(1000, "a test").expect("little memory").get_mut::<u8>().fill(7);
        let again = arena.zeroed(1000, "a test").expect("little memory");
        assert!(again.get::<u8>().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn allocating_more_than_any_machine_has_fails() {
        let error = AlignedArray::zeroed(usize::MAX, "the KV cache").expect_err("too much");
        assert!(error.to_string().contains("the KV cache"), "{error}");
    }
}
