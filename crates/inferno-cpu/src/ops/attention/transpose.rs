//! Transpositions from the order of keys to that of values, 16 components of 16 positions at a time.

// Registers are indexed by number; iterators over them are not always inlined.
#![allow(clippy::needless_range_loop)]

use crate::lanes::{LANES, Lanes, VectorTypes};
use crate::scratch::CacheLine;

/// A vector of bytes.
type Bytes<L> = <L as VectorTypes>::Bytes;

/// The columns of 16 rows of single-precision numbers.
#[inline(always)]
pub(super) fn transpose_f32<L: Lanes>(lanes: L, rows: &[CacheLine; LANES]) -> [Bytes<L>; LANES] {
    let first = lanes.load_bytes(bytemuck::cast_ref(&rows[0].0));
    let (mut low, mut high) = ([first; LANES / 2], [first; LANES / 2]);
    for i in 0..LANES / 2 {
        let even = lanes.load_bytes(bytemuck::cast_ref(&rows[2 * i].0));
        let odd = lanes.load_bytes(bytemuck::cast_ref(&rows[2 * i + 1].0));
        [low[i], high[i]] = lanes.interleave_u32(even, odd);
    }
    // In each quarter, `low` holds its first two columns, and `high` the others.
    let (low, high) = (transpose_u64(lanes, low), transpose_u64(lanes, high));
    let mut columns = [first; LANES];
    for i in 0..LANES / 2 {
        let column = i / 2 * 4 + i % 2;
        (columns[column], columns[column + 2]) = (low[i], high[i]);
    }
    columns
}

/// Converts pairs of 16-bit integers: from 8 rows with two components of 16 positions to 8 rows with two positions of
/// 16 components.
#[inline(always)]
pub(super) fn transpose_pairs<L: Lanes>(lanes: L, mut rows: [Bytes<L>; 8]) -> [Bytes<L>; 8] {
    for i in 0..8 {
        rows[i] = lanes.exchange_middle_u16(rows[i]);
    }
    transpose_u64(lanes, rows)
}

/// The columns of 8 rows of 64-bit numbers.
#[inline(always)]
fn transpose_u64<L: Lanes>(lanes: L, rows: [Bytes<L>; 8]) -> [Bytes<L>; 8] {
    let (mut even, mut odd) = ([rows[0]; 4], [rows[0]; 4]);
    for i in 0..4 {
        [even[i], odd[i]] = lanes.interleave_u64(rows[2 * i], rows[2 * i + 1]);
    }
    let (even, odd) = (lanes.transpose_quarters(even), lanes.transpose_quarters(odd));
    let mut columns = rows;
    for i in 0..4 {
        (columns[2 * i], columns[2 * i + 1]) = (even[i], odd[i]);
    }
    columns
}
