//! The values of one head in the rows of a batch.

// Writes to columns of shared rows.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::QkvLayout;

use crate::disjoint::Disjoint;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::rope::{HeadRope, RowPart};

/// Rows between one that is read and the one that is prefetched. (With one and with four, it takes as long.)
const ROWS_AHEAD: usize = 2;

/// The columns of a head.
#[derive(Clone, Copy)]
pub(super) struct HeadColumns {
    row_len: usize,
    first: usize,
    dim: usize,
}

impl HeadColumns {
    pub(super) fn new(layout: &QkvLayout, part: RowPart, head: usize) -> Self {
        let [q_len, k_len, _] = layout.part_lens();
        let (start, dim) = match part {
            RowPart::Queries => (0, layout.head_dim),
            RowPart::Keys => (q_len, layout.head_dim),
            RowPart::Values => (q_len + k_len, layout.value_dim()),
        };
        Self { row_len: layout.row_len(), first: start + head * dim, dim }
    }

    /// The places of the head's values in row `row`.
    #[inline(always)]
    fn in_row(self, row: usize) -> Range<usize> {
        let at = row * self.row_len + self.first;
        at..at + self.dim
    }

    /// Prefetches the values [`ROWS_AHEAD`] rows after `values`: rows are too far apart for the hardware prefetcher.
    #[inline(always)]
    fn prefetch_ahead<L: Lanes>(self, lanes: L, values: &[f32]) {
        let distance = ROWS_AHEAD * self.row_len * size_of::<f32>();
        for line in values.chunks(LANES) {
            lanes.prefetch(bytemuck::cast_slice(line), distance);
        }
    }
}

/// Rows of which one head is stored.
pub(super) trait HeadRows {
    /// The values of row `row`, which may be changed in place: each row is requested once.
    fn row<L: Lanes>(&mut self, lanes: L, row: usize) -> &[f32];
}

/// Rows as they are.
pub(super) struct StoredRows<'a> {
    pub(super) values: &'a [f32],
    pub(super) columns: HeadColumns,
}

impl HeadRows for StoredRows<'_> {
    #[inline(always)]
    fn row<L: Lanes>(&mut self, lanes: L, row: usize) -> &[f32] {
        let values = &self.values[self.columns.in_row(row)];
        self.columns.prefetch_ahead(lanes, values);
        values
    }
}

/// Rows that are normalized and rotated in place.
pub(super) struct RopedRows<'a> {
    values: &'a Disjoint<'a, f32>,
    columns: HeadColumns,
    rope: &'a HeadRope<'a>,
    part: RowPart,
    head: usize,
}

impl<'a> RopedRows<'a> {
    /// One head of rows with this layout.
    ///
    /// # Safety
    ///
    /// Values that exist at the same time must differ in the part or the head, and nothing else may access their columns.
    pub(super) unsafe fn new(
        values: &'a Disjoint<'a, f32>,
        layout: &QkvLayout,
        rope: &'a HeadRope<'a>,
        part: RowPart,
        head: usize,
    ) -> Self {
        Self { values, columns: HeadColumns::new(layout, part, head), rope, part, head }
    }
}

impl HeadRows for RopedRows<'_> {
    #[inline(always)]
    fn row<L: Lanes>(&mut self, lanes: L, row: usize) -> &[f32] {
        // SAFETY: the caller of `new` guarantees that no other value has these columns, and this one is borrowed until the
        // part is dropped.
        let values = unsafe { self.values.part(self.columns.in_row(row)) };
        self.columns.prefetch_ahead(lanes, values);
        self.rope.apply(lanes, row, self.part, self.head, values);
        values
    }
}

/// Normalizes and rotates a head that is not stored.
pub(super) struct RopeHead<'a> {
    pub(super) rows: RopedRows<'a>,
    pub(super) num_rows: usize,
}

impl Kernel for RopeHead<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        for row in 0..self.num_rows {
            self.rows.row(lanes, row);
        }
    }
}
