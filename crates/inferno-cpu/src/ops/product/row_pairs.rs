//! Sums of products of bytes for pairs of rows, on levels that multiply two rows at a time.

use std::ops::Range;

use crate::lanes::Lanes;

/// The sums for `T` rows of the products of their columns with vectors `vectors` of codes, an even number. Columns
/// start at `at` in each row.
#[inline(always)]
pub(super) fn dots<L: Lanes, const T: usize, const C: usize>(
    lanes: L,
    codes: impl Fn(usize) -> L::Bytes,
    vectors: Range<usize>,
    rows: &[[i8; C]; T],
    at: usize,
) -> [L::I32; T] {
    debug_assert!(T % 2 == 0, "pairs of rows");
    let mut dots = [lanes.splat_i32(0); T];
    for v in vectors.step_by(2) {
        let operands = lanes.pair_operands([codes(v), codes(v + 1)]);
        let eight = |row: &[i8; C]| *row[at + 4 * v..].first_chunk().expect("eight columns");
        for (dots, rows) in dots.chunks_exact_mut(2).zip(rows.chunks_exact(2)) {
            let sums = [dots[0], dots[1]];
            let sums = lanes.dot_pair(sums, operands, [eight(&rows[0]), eight(&rows[1])]);
            [dots[0], dots[1]] = sums;
        }
    }
    for dots in dots.chunks_exact_mut(2) {
        [dots[0], dots[1]] = lanes.pair_sums([dots[0], dots[1]]);
    }
    dots
}
