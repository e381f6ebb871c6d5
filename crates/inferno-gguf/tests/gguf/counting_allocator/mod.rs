//! An allocator that records the peak memory of a piece of code.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counting the bytes held by each thread.
pub struct CountingAllocator;

fn count(change: isize) {
    let live = LIVE.get().wrapping_add(change);
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: all memory comes from the system's allocator and is returned to it under the same layout;
// `alloc_zeroed` and `realloc` are the trait's own, which call the two functions here. Counting
// neither unwinds nor allocates: it wraps, and the cells are const-initialized and have no
// destructor.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`: `layout` is not empty.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`: `pointer` came from
        // `alloc` with this layout, and so from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs a piece of code and returns its result and its peak memory in bytes beyond
/// the memory held before.
pub fn peak_bytes<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = run();
    (result, (PEAK.get() - before) as usize)
}
