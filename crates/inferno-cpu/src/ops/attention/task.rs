//! One span of positions for one unit of rows.

use std::ops::Range;

use super::inputs::{AttentionInputs, RowUnit, SPAN};
use crate::kv_cache::Plane;
use crate::ops::softmax::HeadBias;

/// One span of positions for one key/value head of a unit of rows.
#[derive(Clone, Copy)]
pub(super) struct SpanTask<'a> {
    pub(super) attention: &'a AttentionInputs<'a>,
    pub(super) unit: &'a RowUnit,
    pub(super) kv_head: usize,
    pub(super) span: usize,
    /// The task that is computed next, whose keys, or keys and values, are prefetched.
    pub(super) next: Option<&'a SpanTask<'a>>,
}

impl<'a> SpanTask<'a> {
    /// Query rows of the unit.
    #[inline(always)]
    pub(super) fn num_rows(&self) -> usize {
        self.attention.num_rows(self.unit)
    }

    /// The positions of the span that some row sees. Later rows see later positions, so that the first row
    /// determines the start and the last one the end.
    pub(super) fn positions(&self) -> Range<usize> {
        let last = self.attention.num_rows(self.unit) - 1;
        let seen = self.visible(0).start..self.visible(last).end;
        within(seen, self.span * SPAN..(self.span + 1) * SPAN)
    }

    /// The positions that row `row` of the unit sees.
    #[inline(always)]
    pub(super) fn visible(&self, row: usize) -> Range<usize> {
        self.attention.visible(self.unit, row)
    }

    /// The position of row `row` of the unit, and what distances add to the scores of its head, if they do.
    #[inline(always)]
    pub(super) fn distance_bias(&self, row: usize) -> Option<(usize, HeadBias<'_>)> {
        self.attention.distance_bias(self.unit, self.kv_head, row)
    }

    /// The region of the cache that holds a position's keys or values of this head.
    #[inline(always)]
    pub(super) fn bytes(&self, plane: Plane, position: usize) -> &'a [u8] {
        let AttentionInputs { params, cache, batch, .. } = self.attention;
        let (plane, _) = self.attention.stored(plane);
        let block = batch.block_table(self.unit.sequence)[position / cache.layout.block_tokens];
        cache.region(block, params.layer, plane, self.kv_head)
    }
}

/// The intersection of both ranges; if it is empty, an empty range within `outer`.
#[inline(always)]
pub(super) fn within(inner: Range<usize>, outer: Range<usize>) -> Range<usize> {
    let start = inner.start.clamp(outer.start, outer.end);
    start..inner.end.clamp(start, outer.end)
}
