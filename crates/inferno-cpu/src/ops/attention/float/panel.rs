//! Products of a few rows at a time with a panel of 64 columns, which stays in the first-level cache. Scores and mixed
//! values are both such products.

// Registers are indexed by number; iterators over them are not always inlined.
#![allow(clippy::needless_range_loop)]

use crate::lanes::{LANES, Lanes, VectorTypes};
use crate::ops::attention::inputs::{PANEL, VECTORS};
use crate::scratch::CacheLine;

/// A row of a panel in memory.
pub(super) type PanelRow = [CacheLine; VECTORS];

/// Vectors of one row.
pub(super) type RowVectors<L> = [<L as VectorTypes>::F32; VECTORS];

/// Rows of 64 columns.
pub(super) trait Panel: Copy {
    /// Number of rows.
    fn num_rows(&self) -> usize;

    /// Row `k`.
    fn row<L: Lanes>(&self, lanes: L, k: usize) -> RowVectors<L>;
}

impl Panel for &[PanelRow] {
    #[inline(always)]
    fn num_rows(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn row<L: Lanes>(&self, lanes: L, k: usize) -> RowVectors<L> {
        let row = &self[k];
        let mut vectors = [lanes.splat(0.0); VECTORS];
        for v in 0..VECTORS {
            vectors[v] = lanes.load(&row[v].0);
        }
        vectors
    }
}

/// The sums of `T` rows and the columns of a panel.
pub(super) type RowSums<L, const T: usize> = [RowVectors<L>; T];

/// Adds to sum `(t, column)` the products of `factors[t][k]` with row `k` of `panel`, k rising, by
/// fused multiply-add.
#[inline(always)]
pub(super) fn multiply<L: Lanes, const T: usize>(
    lanes: L,
    factors: [&[f32]; T],
    panel: impl Panel,
    mut sums: RowSums<L, T>,
) -> RowSums<L, T> {
    let num_rows = panel.num_rows();
    let mut rows = factors;
    for t in 0..T {
        rows[t] = &factors[t][..num_rows];
    }
    for k in 0..num_rows {
        let vectors = panel.row(lanes, k);
        for t in 0..T {
            let factor = lanes.splat(rows[t][k]);
            for v in 0..VECTORS {
                sums[t][v] = lanes.fma(vectors[v], factor, sums[t][v]);
            }
        }
    }
    sums
}

/// Sums that are all zero.
#[inline(always)]
pub(super) fn zeros<L: Lanes, const T: usize>(lanes: L) -> RowSums<L, T> {
    [[lanes.splat(0.0); VECTORS]; T]
}

/// Reads a row of sums.
#[inline(always)]
pub(super) fn load<L: Lanes>(lanes: L, values: &[f32]) -> RowVectors<L> {
    let values = &values[..PANEL];
    let mut sums = [lanes.splat(0.0); VECTORS];
    for v in 0..VECTORS {
        sums[v] = lanes.load_part(&values[v * LANES..(v + 1) * LANES]);
    }
    sums
}

/// Writes a row of sums.
#[inline(always)]
pub(super) fn store<L: Lanes>(lanes: L, sums: RowVectors<L>, values: &mut [f32]) {
    let values = &mut values[..PANEL];
    for v in 0..VECTORS {
        lanes.store_part(sums[v], &mut values[v * LANES..(v + 1) * LANES]);
    }
}

/// Runs `$body` for all rows below `$rows`, `$T` at a time from row `$first` on: as many as have their sums in the
/// registers of `$L`.
macro_rules! register_blocks {
    ($L:ident, $rows:expr, |$first:ident, $T:ident| $body:expr) => {{
        let rows = $rows;
        let mut $first = 0;
        while $first < rows {
            let left = rows - $first;
            // Six rows need 24 registers for sums, four for vectors of the panel and one for a factor.
            if $L::REGISTERS >= 32 && left >= 6 {
                const $T: usize = 6;
                $body;
                $first += $T;
            } else if $L::REGISTERS >= 32 && left >= 4 {
                const $T: usize = 4;
                $body;
                $first += $T;
            } else if $L::REGISTERS >= 32 && left >= 2 {
                const $T: usize = 2;
                $body;
                $first += $T;
            } else {
                const $T: usize = 1;
                $body;
                $first += $T;
            }
        }
    }};
}
pub(super) use register_blocks;
