//! An allocator that knows how much a piece of code held at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread holds.
pub struct CountingAllocator;

fn count(change: isize) {
    let live = LIVE.get() + change;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches only plain thread-local cells, which
// need neither allocation nor destruction.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps `alloc`'s contract, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps `dealloc`'s contract, and `pointer` came from `System` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs a piece of code; returns what it returns and the most bytes that it held at once beyond those held before.
pub fn peak_bytes<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = run();
    (result, (PEAK.get() - before) as usize)
}
