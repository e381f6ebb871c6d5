//! Mutable parts of one slice for several threads.

// Hands out parts of a slice by pointer.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::Range;

use crate::threads::ThreadPool;

/// A mutable slice that several threads write to, each in its own parts.
pub(crate) struct Disjoint<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: the elements of a `Disjoint` are accessible only through `part`, whose callers guarantee that parts that
// exist at the same time do not overlap; so sharing it amounts to sending the parts.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// The elements of `range`.
    ///
    /// **Panics** if the range is not within the slice.
    ///
    /// # Safety
    ///
    /// While the part lives, no other part that overlaps it may be created.
    // As with `split_at_mut`, the parts do not overlap; here the caller guarantees it.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub(crate) unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "a part beyond its slice");
        // SAFETY: the assertion checks that the range is within the slice that `new` borrowed for `'a`, and the
        // caller guarantees that no other reference to it exists.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

impl ThreadPool {
    /// Calls `work(number, part, thread)` for each part of `slice`. Part `i` is `starts[i]..starts[i + 1]`. Runs on all
    /// threads if `is_parallel`, otherwise on the calling thread.
    ///
    /// **Panics** if `work` does, and if `starts` are not in ascending order within the slice.
    pub(crate) fn run_parts<T: Send>(
        &self,
        slice: &mut [T],
        starts: &[usize],
        is_parallel: bool,
        work: impl Fn(usize, &mut [T], usize) + Sync,
    ) {
        assert!(starts.is_sorted(), "starts in ascending order");
        let num_parts = starts.len().saturating_sub(1);
        let slice = Disjoint::new(slice);
        let task = |number: usize, thread: usize| {
            let range = starts[number]..starts[number + 1];
            // SAFETY: the starts ascend, so parts with different numbers do not overlap, and each number is run once.
            work(number, unsafe { slice.part(range) }, thread);
        };
        match is_parallel {
            true => self.run(num_parts, &task),
            false => (0..num_parts).for_each(|number| task(number, 0)),
        }
    }

    /// Splits `slice` into chunks of `chunk_len` elements and calls `work(number, chunk, thread)` for each chunk,
    /// in parallel, as [`run`](Self::run) does.
    ///
    /// **Panics** if `work` does, and if `chunk_len` is zero.
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
            // SAFETY: chunks with different numbers do not overlap, and the pool runs each number once.
            work(number, unsafe { slice.part(range) }, thread);
        });
    }
}
