//! The distribution of a step's items over its threads.

use std::ops::Range;

use super::sync::atomic::{AtomicU64, Ordering};

/// The fraction of a share that is taken at once: a quarter. Large pieces at the start make long streams; small
/// ones at the end let all threads finish together.
const PIECES: usize = 4;

/// One thread's share of the items of a step: a contiguous range. Its thread takes from the front, threads whose
/// shares are empty take from the back.
// Each share has a pair of cache lines to itself, since processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Share {
    /// The first item in the low half, the end in the high half.
    left: AtomicU64,
}

/// The end of a share that items are taken from.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Front,
    Back,
}

impl Share {
    /// Sets the items of the share.
    ///
    /// **Panics** if an item does not fit in 32 bits.
    pub(super) fn fill(&self, items: Range<usize>) {
        let half = |item: usize| u64::from(u32::try_from(item).expect("a step of so many items"));
        self.left.store(half(items.start) | half(items.end) << 32, Ordering::Relaxed);
    }

    /// Removes all items.
    pub(super) fn clear(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    /// Takes some items, if any are left.
    pub(super) fn take(&self, from: End) -> Option<Range<usize>> {
        let mut left = self.left.load(Ordering::Relaxed);
        loop {
            let (start, end) = (left as u32 as usize, (left >> 32) as usize);
            if start >= end {
                return None;
            }
            let count = (end - start).div_ceil(PIECES);
            let (taken, rest) = match from {
                End::Front => (start..start + count, start + count..end),
                End::Back => (end - count..end, start..end - count),
            };
            let rest = rest.start as u64 | (rest.end as u64) << 32;
            let swap =
                self.left.compare_exchange_weak(left, rest, Ordering::Relaxed, Ordering::Relaxed);
            match swap {
                Ok(_) => return Some(taken),
                Err(now) => left = now,
            }
        }
    }
}
