//! Where one task of a product stores its results.

// Writes to parts of a shared output.
#![allow(unsafe_code)]

use std::ops::Range;

use crate::disjoint::Disjoint;
use crate::lanes::{LANES, Lanes};
use crate::ops::product_rows::RowMap;

/// Operations on the sums of a product before they are stored.
#[derive(Clone, Copy, Default)]
pub(crate) struct Epilogue<'a> {
    /// Factors on every row: one number per column.
    pub(crate) scales: Option<&'a [f32]>,
    /// Added to every row: one number per column.
    pub(crate) bias: Option<&'a [f32]>,
    /// Whether the result is added to the previous output.
    pub(crate) accumulate: bool,
}

impl<'a> Epilogue<'a> {
    /// The epilogue of expert `expert` if scales and bias are those of all experts, `num_cols` values each.
    pub(crate) fn of_expert(self, expert: usize, num_cols: usize) -> Self {
        self.of_cols(expert * num_cols..(expert + 1) * num_cols)
    }

    /// Whether sums are stored as they are.
    fn is_plain(self) -> bool {
        self.scales.is_none() && self.bias.is_none() && !self.accumulate
    }

    /// Stores the sums of neighbouring panels from column `first` on.
    #[inline(always)]
    fn store<L: Lanes, const P: usize>(
        self,
        lanes: L,
        mut first: usize,
        sums: [L::F32; P],
        out: &mut [f32],
    ) {
        for (mut sums, out) in sums.into_iter().zip(out.chunks_mut(LANES)) {
            if let Some(scales) = self.scales {
                sums = lanes.mul(sums, lanes.load_part(&scales[first..first + out.len()]));
            }
            if let Some(bias) = self.bias {
                sums = lanes.add(sums, lanes.load_part(&bias[first..first + out.len()]));
            }
            if self.accumulate {
                sums = lanes.add(lanes.load_part(out), sums);
            }
            lanes.store_part(sums, out);
            first += LANES;
        }
    }

    /// The epilogue of some columns.
    pub(crate) fn of_cols(self, cols: Range<usize>) -> Self {
        let part = |values: Option<&'a [f32]>| values.map(|values| &values[cols.clone()]);
        Self { scales: part(self.scales), bias: part(self.bias), ..self }
    }
}

/// The part of an output that one task writes: some columns of some rows.
pub(crate) struct OutputTarget<'a> {
    out: &'a Disjoint<'a, f32>,
    stride: usize,
    cols: Range<usize>,
    rows: RowMap<'a>,
    epilogue: Epilogue<'a>,
}

impl<'a> OutputTarget<'a> {
    /// Columns `cols` of the rows `rows` of `out`, which has `stride` columns.
    ///
    /// **Panics** if there are fewer columns.
    ///
    /// # Safety
    ///
    /// While the target lives, no other reference to these columns of these rows may exist: other targets of
    /// `out` must have other rows only or other columns only.
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

    /// The rows of the output, and the rows of the input that they are computed from.
    #[inline(always)]
    pub(crate) fn rows(&self) -> RowMap<'a> {
        self.rows
    }

    /// Prefetches the memory that [`write`](Self::write) will write into the second-level cache. Rows of an
    /// output are too far apart for the hardware prefetcher.
    #[inline(always)]
    pub(super) fn prefetch<L: Lanes>(&mut self, lanes: L, row: usize, panel: usize) {
        lanes.prefetch_far(bytemuck::cast_slice(self.part::<1>(row, panel)), 0);
    }

    /// The columns of row `row`, without the epilogue.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f32] {
        // SAFETY: these are the target's own columns.
        unsafe { self.columns(row, self.cols.clone()) }
    }

    /// The columns of `P` neighbouring panels of row `row`.
    #[inline(always)]
    fn part<const P: usize>(&mut self, row: usize, first_panel: usize) -> &mut [f32] {
        let first = self.cols.start + first_panel * LANES;
        // SAFETY: these are some of the target's own columns.
        unsafe { self.columns(row, first..self.cols.end.min(first + P * LANES)) }
    }

    /// Columns of the output in row `row`.
    ///
    /// # Safety
    ///
    /// `columns` must be within `cols`.
    #[inline(always)]
    unsafe fn columns(&mut self, row: usize, columns: Range<usize>) -> &mut [f32] {
        let at = self.rows.output(row) * self.stride;
        // SAFETY: `output` returns one of `rows` or panics, and the caller guarantees that the columns are
        // within `cols`. The caller of `new` guaranteed that these columns of these rows belong to this target
        // alone, and the slice borrows the target, so that no other slice of it exists.
        unsafe { self.out.part(at + columns.start..at + columns.end) }
    }

    /// Writes the sums of row `row` for panel `panel` of this task.
    #[inline(always)]
    pub(crate) fn write<L: Lanes>(&mut self, lanes: L, row: usize, panel: usize, sums: L::F32) {
        self.write_rows(lanes, row..row + 1, panel, |_| [sums]);
    }

    /// Writes `sums(row)` of some rows for `P` neighbouring panels of this task.
    #[inline(always)]
    pub(crate) fn write_rows<L: Lanes, const P: usize>(
        &mut self,
        lanes: L,
        rows: Range<usize>,
        first_panel: usize,
        sums: impl Fn(usize) -> [L::F32; P],
    ) {
        let epilogue = self.epilogue;
        let first = self.cols.start + first_panel * LANES;
        let is_plain = epilogue.is_plain();
        for row in rows {
            let sums = sums(row);
            let out = self.part::<P>(row, first_panel);
            if is_plain && out.len() == P * LANES {
                for (out, sums) in out.chunks_exact_mut(LANES).zip(sums) {
                    lanes.store(sums, out.first_chunk_mut().expect("whole panels"));
                }
            } else {
                epilogue.store(lanes, first, sums, out);
            }
        }
    }
}
