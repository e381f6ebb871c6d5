//! Scratch memory of operations: it grows to what the largest batch needs and is then reused.
//!
//! Operations allocate only to grow it. That happens before an operation starts its tasks, so that an operation without
//! memory fails as a whole and tasks cannot fail.

use std::sync::{Mutex, MutexGuard};

use bytemuck::{Pod, Zeroable};
use inferno_backend::BackendError;

use crate::memory::{AlignedArray, HUGE_PAGE_BYTES, LINE_BYTES};
use crate::threads::lock;

/// A cache line of plain numbers.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct CacheLine(pub(crate) [f32; LINE_BYTES / size_of::<f32>()]);

/// Arrays below [`MIN_HUGE_BYTES`] are allocated in multiples of this, larger ones in multiples of huge pages.
const PAGE_BYTES: usize = 4096;

/// The smallest arrays in huge pages, where memory is requested in such pages. (With activations of 1.4 MB in pages of 4 KiB,
/// products of 256 rows with the matrix unit took up to 7% longer on a virtual machine.)
const MIN_HUGE_BYTES: usize = if cfg!(target_os = "linux") { 1 << 20 } else { HUGE_PAGE_BYTES };

/// An array of cache lines that keeps its memory. Its contents are unspecified when an operation starts.
#[derive(Debug, Default)]
pub(crate) struct ScratchArray {
    array: Option<AlignedArray>,
    /// The largest number of lines that was reserved.
    num_lines: usize,
}

impl ScratchArray {
    /// Makes room for `num_lines` cache lines.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`]; the array is then empty and can be reserved again.
    pub(crate) fn reserve(&mut self, num_lines: usize) -> Result<(), BackendError> {
        if self.num_bytes() / LINE_BYTES < num_lines {
            // Release the old memory first, so that both are never allocated at once.
            *self = Self::default();
            let bytes = allocated_bytes(num_lines);
            self.array = Some(AlignedArray::zeroed(bytes, "intermediate results")?);
        }
        self.num_lines = self.num_lines.max(num_lines);
        Ok(())
    }

    /// The reserved cache lines.
    pub(crate) fn get(&self) -> &[CacheLine] {
        self.array.as_ref().map_or(&[], |array| &array.get()[..self.num_lines])
    }

    /// The reserved cache lines, mutable.
    pub(crate) fn get_mut(&mut self) -> &mut [CacheLine] {
        self.array.as_mut().map_or(&mut [], |array| &mut array.get_mut()[..self.num_lines])
    }

    /// Bytes allocated.
    pub(crate) fn num_bytes(&self) -> usize {
        self.array.as_ref().map_or(0, |array| array.get::<u8>().len())
    }
}

/// Bytes that an array allocates for `num_lines` cache lines.
pub(crate) fn allocated_bytes(num_lines: usize) -> usize {
    let bytes = num_lines.saturating_mul(LINE_BYTES);
    let page_bytes = if bytes < MIN_HUGE_BYTES { PAGE_BYTES } else { HUGE_PAGE_BYTES };
    bytes.checked_next_multiple_of(page_bytes).unwrap_or(usize::MAX)
}

/// One scratch array for each thread of a pool.
#[derive(Debug)]
pub(crate) struct ThreadScratch {
    arrays: Vec<OwnLines<Mutex<ScratchArray>>>,
}

/// A value that shares no cache line with others, nor a pair of lines that processors fetch together: threads lock
/// neighbouring values all the time.
#[derive(Debug, Default)]
#[repr(align(128))]
struct OwnLines<T>(T);

impl ThreadScratch {
    /// Empty arrays for `num_threads` threads.
    pub(crate) fn new(num_threads: usize) -> Self {
        Self { arrays: (0..num_threads).map(|_| OwnLines::default()).collect() }
    }

    /// Makes room for `num_lines` cache lines in each array.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn reserve(&mut self, num_lines: usize) -> Result<(), BackendError> {
        self.arrays.iter().try_for_each(|OwnLines(array)| lock(array).reserve(num_lines))
    }

    /// The array of thread `thread`. No other thread locks it during a parallel step.
    pub(crate) fn lock(&self, thread: usize) -> MutexGuard<'_, ScratchArray> {
        lock(&self.arrays[thread].0)
    }

    /// Bytes allocated, over all threads.
    pub(crate) fn num_bytes(&self) -> usize {
        self.arrays.iter().map(|OwnLines(array)| lock(array).num_bytes()).sum()
    }
}
