//! Handing parts of one slice to several threads.

use std::marker::PhantomData;
use std::ops::Range;

use crate::threads::Pool;

/// A mutable slice that several threads write to, each to parts of its own.
pub(crate) struct Disjoint<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Disjoint` gives access to its elements only through `part`, whose callers promise that
// no element is given out twice at a time; so sharing it amounts to sending the parts.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// The elements of `range`.
    ///
    /// **Panics** when the slice is shorter.
    ///
    /// # Safety
    ///
    /// While the part lives, no other part that overlaps it may be asked for.
    // The parts are as separate as those of `split_at_mut`; that they are is the caller's promise.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub(crate) unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "a part beyond its slice");
        // SAFETY: the range was checked to lie within the slice that `new` borrowed for `'a`, and
        // the caller promises that nothing else refers to it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

impl Pool {
    /// Cuts `slice` into chunks of `chunk_len` and calls `work(number, chunk, thread)` for each, in
    /// parallel, as [`run`](Self::run) does.
    ///
    /// **Panics** when `work` does, and when `chunk_len` is zero.
    pub(crate) fn run_chunks<T: Send>(
        &self,
        slice: &mut [T],
        chunk_len: usize,
        work: impl Fn(usize, &mut [T], usize) + Sync,
    ) {
        let len = slice.len();
        let num_chunks = len.div_ceil(chunk_len);
        let slice = Disjoint::new(slice);
        self.run(num_chunks, &|number, thread| {
            let range = number * chunk_len..len.min((number + 1) * chunk_len);
            // SAFETY: chunks with different numbers do not overlap, and the pool gives out each
            // number once.
            work(number, unsafe { slice.part(range) }, thread);
        });
    }
}
