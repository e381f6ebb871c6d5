//! Products of 16-bit integers by vectors, two at a time: a few rows with vectors of a panel.

// Registers are indexed by number; iterators over them are not always inlined.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use super::positions::PositionGroup;
use super::span::{BLOCK_ROWS, Int16Span, PairRow, halves, padded_dim};
use crate::kv_cache::Plane;
use crate::lanes::{LANES, Lanes, VECTOR_BYTES, VectorTypes};
use crate::ops::attention::inputs::{PANEL, SPAN, TILE, VECTORS};
use crate::ops::attention::merge::MIXED;
use crate::ops::attention::task::within;

/// Rows of 64 columns of two integers.
trait Pairs: Copy {
    /// Number of rows.
    fn num_rows(&self) -> usize;

    /// 16 columns of row `row`.
    fn vector<L: Lanes>(&self, lanes: L, row: usize, vector: usize) -> L::Bytes;
}

impl Pairs for &[PairRow] {
    #[inline(always)]
    fn num_rows(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn vector<L: Lanes>(&self, lanes: L, row: usize, vector: usize) -> L::Bytes {
        lanes.load_bytes(bytemuck::cast_ref(&self[row][vector]))
    }
}

/// A tile of keys, read in place.
#[derive(Clone, Copy)]
struct KeyPairs<'a> {
    groups: [PositionGroup<'a>; VECTORS],
    num_rows: usize,
}

impl Pairs for KeyPairs<'_> {
    #[inline(always)]
    fn num_rows(&self) -> usize {
        self.num_rows
    }

    #[inline(always)]
    fn vector<L: Lanes>(&self, lanes: L, row: usize, vector: usize) -> L::Bytes {
        self.groups[vector].line_and_ahead(lanes, row, 0)
    }
}

/// 64 components of some positions, read in place.
#[derive(Clone, Copy)]
struct ValuePairs<'a> {
    group: PositionGroup<'a>,
    first_row: usize,
    num_rows: usize,
    column: usize,
}

impl Pairs for ValuePairs<'_> {
    #[inline(always)]
    fn num_rows(&self) -> usize {
        self.num_rows
    }

    #[inline(always)]
    fn vector<L: Lanes>(&self, lanes: L, row: usize, vector: usize) -> L::Bytes {
        let at = (self.column / LANES + vector) * VECTOR_BYTES;
        self.group.line_and_ahead(lanes, self.first_row + row, at)
    }
}

/// Both halves of a row of factors, two at a time.
type Factors<'a> = [&'a [[i16; 2]]; 2];

/// Sums of `T` rows and `V` vectors of columns, for each half of the row's factors.
type PairSums<L, const T: usize, const V: usize> = [[[<L as VectorTypes>::I32; V]; 2]; T];

#[inline(always)]
fn zeros<L: Lanes, const T: usize, const V: usize>(lanes: L) -> PairSums<L, T, V> {
    [[[lanes.splat_i32(0); V]; 2]; T]
}

/// Adds the products of factors with the rows of `pairs`, in `V` vectors from `first` on.
#[inline(always)]
fn multiply<L: Lanes, const T: usize, const V: usize>(
    lanes: L,
    factors: [Factors<'_>; T],
    pairs: impl Pairs,
    first: usize,
    mut sums: PairSums<L, T, V>,
) -> PairSums<L, T, V> {
    let num_rows = pairs.num_rows();
    let mut rows = factors;
    for t in 0..T {
        for half in 0..2 {
            rows[t][half] = &factors[t][half][..num_rows];
        }
    }
    for k in 0..num_rows {
        let mut vectors = [pairs.vector(lanes, k, first); V];
        for v in 1..V {
            vectors[v] = pairs.vector(lanes, k, first + v);
        }
        for t in 0..T {
            for half in 0..2 {
                for v in 0..V {
                    let sum = sums[t][half][v];
                    sums[t][half][v] = lanes.dot_i16(sum, vectors[v], rows[t][half][k]);
                }
            }
        }
    }
    sums
}

/// A sum without its low 8 bits, converted.
#[inline(always)]
fn join<L: Lanes>(lanes: L, high: L::I32, low: L::I32) -> L::F32 {
    lanes.to_f32(lanes.add_i32(high, lanes.shr8(low)))
}

/// Runs `$body` for all of `$rows`, `$T` at a time from row `$first` on, with `$V` vectors of columns: as many as have
/// their sums in the registers of `$L`.
macro_rules! pair_blocks {
    ($L:ident, $rows:expr, |$first:ident, $T:ident, $V:ident| $body:expr) => {{
        let rows: Range<usize> = $rows;
        let mut $first = rows.start;
        while $first < rows.end {
            let left = rows.end - $first;
            // Three rows need 24 registers for sums, four for vectors of the panel and two for factors.
            if $L::REGISTERS >= 32 && left >= 3 {
                const $T: usize = 3;
                const $V: usize = VECTORS;
                $body;
                $first += $T;
            } else if $L::REGISTERS >= 32 && left >= 2 {
                const $T: usize = 2;
                const $V: usize = VECTORS;
                $body;
                $first += $T;
            } else if $L::REGISTERS >= 32 {
                const $T: usize = 1;
                const $V: usize = VECTORS;
                $body;
                $first += $T;
            } else if left >= 3 {
                // Twelve registers of sums are enough for chains of products to overlap.
                const $T: usize = 3;
                const $V: usize = 1;
                $body;
                $first += $T;
            } else if left >= 2 {
                const $T: usize = 2;
                const $V: usize = 1;
                $body;
                $first += $T;
            } else {
                const $T: usize = 1;
                const $V: usize = 2;
                $body;
                $first += $T;
            }
        }
    }};
}

impl<const IN_PLACE: bool> Int16Span<'_, IN_PLACE> {
    /// The scores of a block of rows.
    #[inline(always)]
    pub(super) fn score_pairs<L: Lanes>(&mut self, lanes: L, rows: Range<usize>) {
        let num_pairs = padded_dim(self.task.attention, Plane::Keys) / 2;
        let seen = self.seen_by(rows.clone());
        let scores = std::mem::take(&mut self.memory.scores);
        for tile in seen.start / TILE..seen.end.div_ceil(TILE) {
            let in_place =
                IN_PLACE.then(|| KeyPairs { groups: self.groups.tile(tile), num_rows: num_pairs });
            if IN_PLACE {
                self.read_scales(lanes, Plane::Keys, tile * VECTORS..(tile + 1) * VECTORS);
            }
            let panel = &self.memory.keys[tile * num_pairs..(tile + 1) * num_pairs];
            pair_blocks!(L, rows.clone(), |first, T, V| {
                let seen = within(self.seen_by(first..first + T), tile * TILE..(tile + 1) * TILE);
                if !seen.is_empty() {
                    let mut factors = [[&[][..]; 2]; T];
                    for t in 0..T {
                        factors[t] = halves(self.memory.queries, num_pairs, first + t);
                    }
                    for v in (0..VECTORS).step_by(V) {
                        let sums = zeros::<L, T, V>(lanes);
                        let sums = match in_place {
                            Some(keys) => multiply(lanes, factors, keys, v, sums),
                            None => multiply(lanes, factors, panel, v, sums),
                        };
                        for t in 0..T {
                            let factor = lanes.splat(self.memory.factors[first + t]);
                            for (j, v) in (v..v + V).enumerate() {
                                let at = tile * TILE + v * LANES;
                                let scale = lanes.load_part(&self.memory.key_scales[at..][..LANES]);
                                let sum = join(lanes, sums[t][0][j], sums[t][1][j]);
                                let score = lanes.mul(lanes.mul(sum, factor), scale);
                                let at = (first + t - rows.start) * SPAN + at;
                                lanes.store_part(score, &mut scores[at..at + LANES]);
                            }
                        }
                    }
                }
            });
        }
        self.memory.scores = scores;
    }

    /// Mixes values with the weights of a block of rows.
    #[inline(always)]
    pub(super) fn mix_pairs<L: Lanes>(
        &mut self,
        lanes: L,
        rows: Range<usize>,
        scales: &[f32; BLOCK_ROWS],
    ) {
        let partial_len = self.task.attention.partial_len;
        pair_blocks!(L, rows.clone(), |first, T, V| {
            let seen = self.seen_by(first..first + T);
            let mut factors = [[&[][..]; 2]; T];
            for t in 0..T {
                factors[t] = halves(self.memory.weights, SPAN / 2, first + t - rows.start);
            }
            for column in (0..padded_dim(self.task.attention, Plane::Values)).step_by(V * LANES) {
                let (panel, v) = (column / PANEL, column % PANEL / LANES);
                let sums = zeros::<L, T, V>(lanes);
                let sums = if IN_PLACE {
                    self.mix_in_place(lanes, factors, seen.clone(), column, sums)
                } else {
                    let pairs = seen.start / 2..seen.end.div_ceil(2);
                    let panel = &self.memory.values[panel * (SPAN / 2)..(panel + 1) * (SPAN / 2)];
                    multiply(lanes, part(factors, pairs.start), &panel[pairs], v, sums)
                };
                for t in 0..T {
                    let scale = lanes.splat(scales[first + t - rows.start]);
                    for j in 0..V {
                        let sum = join(lanes, sums[t][0][j], sums[t][1][j]);
                        let at = (first + t) * partial_len + MIXED + column + j * LANES;
                        let out = &mut self.partial[at..at + LANES];
                        lanes.store_part(lanes.mul(sum, scale), out);
                    }
                }
            }
        });
    }

    /// Adds the products of the positions `seen`, relative to the span's start, in `V` vectors from component
    /// `column` on.
    #[inline(always)]
    fn mix_in_place<L: Lanes, const T: usize, const V: usize>(
        &self,
        lanes: L,
        factors: [Factors<'_>; T],
        seen: Range<usize>,
        column: usize,
        mut sums: PairSums<L, T, V>,
    ) -> PairSums<L, T, V> {
        let mut position = seen.start / LANES * LANES;
        while position < seen.end {
            let here = within(seen.clone(), position..position + LANES);
            let first_row = (here.start - position) / 2;
            let num_rows = (here.end - position).div_ceil(2) - first_row;
            let group = self.groups.values[position / LANES];
            let values = ValuePairs { group, first_row, num_rows, column };
            let factors = part(factors, position / 2 + first_row);
            sums = multiply(lanes, factors, values, 0, sums);
            position += LANES;
        }
        sums
    }
}

/// Factors from pair `first` on.
#[inline(always)]
fn part<const T: usize>(factors: [Factors<'_>; T], first: usize) -> [Factors<'_>; T] {
    let mut rest = factors;
    for t in 0..T {
        for half in 0..2 {
            rest[t][half] = &factors[t][half][first..];
        }
    }
    rest
}
