//! Where the results of one task of a product go.

use std::ops::Range;

use crate::disjoint::Disjoint;
use crate::lanes::{LANES, Lanes};
use crate::ops::experts::ExpertSlots;

/// The rows of a product: which row of the input belongs to which row of the output.
#[derive(Clone, Copy)]
pub(crate) enum RowMap<'a> {
    /// So many rows of both from row `first` on.
    Same { first: usize, len: usize },
    /// The slots of one expert.
    Slots(ExpertSlots<'a>),
}

impl RowMap<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Same { len, .. } => len,
            Self::Slots(slots) => slots.len(),
        }
    }

    pub(crate) fn input(self, index: usize) -> usize {
        match self {
            Self::Same { first, .. } => first + index,
            Self::Slots(slots) => slots.input(index),
        }
    }

    /// Some of the rows.
    pub(crate) fn part(self, rows: Range<usize>) -> Self {
        match self {
            Self::Same { first, len } => {
                assert!(rows.end <= len, "some of the rows");
                Self::Same { first: first + rows.start, len: rows.len() }
            }
            Self::Slots(slots) => Self::Slots(slots.part(rows)),
        }
    }

    /// The row of the output.
    ///
    /// **Panics** when there are not as many rows.
    fn output(self, index: usize) -> usize {
        match self {
            Self::Same { first, len } => {
                assert!(index < len, "one of the rows");
                first + index
            }
            Self::Slots(slots) => slots.output(index),
        }
    }
}

/// How a product's sums reach the output.
#[derive(Clone, Copy, Default)]
pub(crate) struct Epilogue<'a> {
    /// What is added to every row, a number a column.
    pub(crate) bias: Option<&'a [f32]>,
    /// Whether the result is added to what the output held.
    pub(crate) accumulate: bool,
}

/// The part of an output that one task writes: some columns of some rows.
pub(crate) struct Target<'a> {
    out: &'a Disjoint<'a, f32>,
    stride: usize,
    cols: Range<usize>,
    rows: RowMap<'a>,
    epilogue: Epilogue<'a>,
}

impl<'a> Target<'a> {
    /// Columns `cols` of the rows `rows` of `out`, whose rows hold `stride` values.
    ///
    /// **Panics** when a row has fewer columns.
    ///
    /// # Safety
    ///
    /// While the target lives, nothing else may refer to these columns of these rows: other targets
    /// of `out` differ from it in all their rows or in all their columns.
    pub(crate) unsafe fn new(
        out: &'a Disjoint<'a, f32>,
        stride: usize,
        cols: Range<usize>,
        rows: RowMap<'a>,
        epilogue: Epilogue<'a>,
    ) -> Self {
        assert!(cols.end <= stride, "columns beyond the output's");
        Self { out, stride, cols, rows, epilogue }
    }

    /// The rows that it writes, and those that they are computed from.
    #[inline(always)]
    pub(crate) fn rows(&self) -> RowMap<'a> {
        self.rows
    }

    /// Asks for the memory that [`write`](Self::write) will write to, no nearer than the second-level
    /// cache. Rows of an output lie so far apart that nothing else fetches them in time.
    #[inline(always)]
    pub(super) fn prefetch<L: Lanes>(&mut self, lanes: L, row: usize, panel: usize) {
        lanes.prefetch_far(bytemuck::cast_slice(self.part(row, panel)), 0);
    }

    /// The columns of row `row`, without the epilogue.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f32] {
        self.columns(row, self.cols.clone())
    }

    /// The columns of panel `panel` of row `row`.
    #[inline(always)]
    fn part(&mut self, row: usize, panel: usize) -> &mut [f32] {
        let first = self.cols.start + panel * LANES;
        self.columns(row, first..self.cols.end.min(first + LANES))
    }

    /// Columns of the output in row `row`, within `cols`.
    #[inline(always)]
    fn columns(&mut self, row: usize, columns: Range<usize>) -> &mut [f32] {
        let at = self.rows.output(row) * self.stride;
        // SAFETY: `output` gives one of `rows` or panics, both callers give columns within `cols`, and the caller of `new` promised that these
        // columns of these rows are this target's alone; the part borrows the target, so that no
        // other is made of it meanwhile.
        unsafe { self.out.part(at + columns.start..at + columns.end) }
    }

    /// Writes 16 sums of row `row`: those of panel `panel` of this task.
    #[inline(always)]
    pub(crate) fn write<L: Lanes>(&mut self, lanes: L, row: usize, panel: usize, sums: L::F32) {
        let epilogue = self.epilogue;
        let first = self.cols.start + panel * LANES;
        let out = self.part(row, panel);
        let mut sums = sums;
        if let Some(bias) = epilogue.bias {
            sums = lanes.add(sums, lanes.load_part(&bias[first..first + out.len()]));
        }
        if epilogue.accumulate {
            sums = lanes.add(lanes.load_part(out), sums);
        }
        lanes.store_part(sums, out);
    }
}
