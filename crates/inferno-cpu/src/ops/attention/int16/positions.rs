//! The locations of the keys and values of a span, 16 positions at a time, and what to prefetch.
//!
//! Blocks are too far apart for the hardware prefetcher: with each cache line that is read, the corresponding line four
//! groups later is prefetched, of the keys, then of the values, then of the next task's keys. Scales are prefetched at
//! the start of a span. That is for reads in place; `next_span.rs` is for others.
//!
//! **Tried.** Looking up each group and its prefetches when it is read: blocks are found by divisions, and with 16
//! sequences of 136 tokens that took more time than more prefetches saved. Prefetching into the first-level or the
//! second-level cache, four groups or a whole head ahead: the differences were smaller than those between runs.

use std::ops::Range;

use crate::kv_cache::Plane;
use crate::lanes::{LANES, Lanes};
use crate::ops::attention::inputs::{SPAN, TILE, VECTORS};
use crate::ops::attention::task::SpanTask;

/// Groups of a span.
const GROUPS: usize = SPAN / LANES;

/// 16 positions of one head's keys or values: rows of cache lines.
#[derive(Clone, Copy)]
pub(super) struct PositionGroup<'a> {
    /// For keys, and values in keys, a row is two components of the 16 positions; for other values, two positions.
    pub(super) bytes: &'a [u8],
    /// Bytes from row to row.
    pub(super) stride: usize,
    /// A scale for each position.
    pub(super) scales: &'a [u8],
    /// The bytes that are read four groups later, in the same layout, for reads in place.
    pub(super) ahead: &'a [u8],
}

impl<'a> PositionGroup<'a> {
    /// Without positions.
    pub(super) const EMPTY: Self = Self { bytes: &[], stride: 0, scales: &[], ahead: &[] };

    /// The group of `position`, in a block of whole cache lines.
    #[inline(always)]
    fn of(task: &SpanTask<'a>, plane: Plane, position: usize) -> Self {
        let block_tokens = task.attention.cache.layout.block_tokens;
        let region = task.bytes(plane, position);
        let offset = position % block_tokens / LANES * LANES;
        let (order, first) = task.attention.stored(plane);
        let dim = task.attention.dim(order);
        let (start, stride) = match order {
            Plane::Keys => (2 * first * block_tokens + 4 * offset, 4 * block_tokens),
            Plane::Values => (2 * offset * dim, 4 * dim),
        };
        let scales = &region[2 * block_tokens * dim + 4 * offset..];
        Self { bytes: &region[start..], stride, scales, ahead: &[] }
    }

    #[inline(always)]
    pub(super) fn line<L: Lanes>(&self, lanes: L, row: usize, at: usize) -> L::Bytes {
        let bytes = &self.bytes[row * self.stride + at..];
        lanes.load_bytes(bytes.first_chunk().expect("a group holds whole lines"))
    }

    /// [`line`](Self::line), with a prefetch of the corresponding line of `ahead`.
    #[inline(always)]
    pub(super) fn line_and_ahead<L: Lanes>(&self, lanes: L, row: usize, at: usize) -> L::Bytes {
        lanes.prefetch_far(self.ahead, row * self.stride + at);
        self.line(lanes, row, at)
    }
}

/// The groups of a span, by number. In tiles that are partly visible, visible groups replace the others; groups of other
/// tiles are empty.
pub(super) struct PositionGroups<'a> {
    pub(super) keys: [PositionGroup<'a>; GROUPS],
    pub(super) values: [PositionGroup<'a>; GROUPS],
    /// The groups that hold visible positions.
    pub(super) seen: Range<usize>,
}

impl<'a> PositionGroups<'a> {
    /// Without positions.
    pub(super) const EMPTY: Self = Self {
        keys: [PositionGroup::EMPTY; GROUPS],
        values: [PositionGroup::EMPTY; GROUPS],
        seen: 0..0,
    };

    /// The groups of a task, in blocks of whole cache lines.
    #[inline(always)]
    pub(super) fn of(task: &SpanTask<'a>) -> Self {
        let (seen, start) = (task.positions(), task.span * SPAN);
        let (first, end) = (seen.start - start, seen.end - start);
        let mut groups = Self { seen: first / LANES..end.div_ceil(LANES), ..Self::EMPTY };
        for number in first / TILE * VECTORS..end.div_ceil(TILE) * VECTORS {
            let position = (start + number * LANES).clamp(seen.start, seen.end - 1);
            groups.keys[number] = PositionGroup::of(task, Plane::Keys, position);
            groups.values[number] = PositionGroup::of(task, Plane::Values, position);
        }
        groups
    }

    /// Finds what is prefetched during reads in place, of these groups and of the next task.
    #[inline(always)]
    pub(super) fn look_ahead(&mut self, task: &SpanTask<'a>) {
        let end = self.seen.end;
        let tiles = self.seen.start / VECTORS * VECTORS..end.next_multiple_of(VECTORS);
        for number in tiles.clone() {
            self.keys[number].ahead = match number + VECTORS {
                next if next < tiles.end => self.keys[next].bytes,
                _ => self.values[tiles.start + number % VECTORS].bytes,
            };
        }
        for number in tiles.start..end {
            self.values[number].ahead = match number + VECTORS {
                next if next < end => self.values[next].bytes,
                next => match task.next {
                    Some(task) => {
                        let (seen, start) = (task.positions(), task.span * SPAN);
                        let position =
                            start + (seen.start - start) / TILE * TILE + (next - end) * LANES;
                        let position = position.clamp(seen.start, seen.end - 1);
                        PositionGroup::of(task, Plane::Keys, position).bytes
                    }
                    None => &[],
                },
            };
        }
    }

    /// A tile of keys.
    #[inline(always)]
    pub(super) fn tile(&self, tile: usize) -> [PositionGroup<'a>; VECTORS] {
        let groups = &self.keys[tile * VECTORS..];
        *groups.first_chunk().expect("a span is whole tiles")
    }

    /// Prefetches the scales of all groups.
    #[inline(always)]
    pub(super) fn prefetch_scales<L: Lanes>(&self, lanes: L) {
        for number in self.seen.clone() {
            lanes.prefetch(self.keys[number].scales, 0);
            lanes.prefetch(self.values[number].scales, 0);
        }
    }
}
