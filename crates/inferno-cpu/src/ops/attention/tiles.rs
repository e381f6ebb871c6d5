//! Sums of products of 16-bit integers by a matrix unit: 16 rows with 16 columns.

use std::ops::Range;

use super::SPAN;
use super::integer::{BLOCK_ROWS, Span, halves, padded_dim};
use super::merge::MIXED;
use crate::lanes::{ColumnTile, LANES, Lanes, RowTiles, TileSums, TileUnit};

/// Rows of the unit's first operand. A block's operands take each group of columns in turn, while it
/// is in the innermost cache.
const OPERAND_ROWS: usize = 16;

/// Columns of the first operand, which are rows of the second.
pub(super) const STEP: usize = 64;

/// Tiles of a group of 16 components of a span's values, for each half.
pub(super) const VALUE_STEPS: usize = SPAN / STEP;

/// What the unit gives for 16 rows and 16 columns, by halves of both.
#[repr(C, align(64))]
struct Sums([TileSums; 4]);

/// Results that are kept at once: while the unit works on one, the other is made use of.
pub(super) struct Buffers([Sums; 2]);

impl Buffers {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| Sums([[[0; LANES]; 16]; 4])))
    }
}

/// The sums of row `row` less their low 8 bits, as numbers.
#[inline(always)]
fn join<L: Lanes>(lanes: L, Sums(sums): &Sums, row: usize) -> L::F32 {
    let [high_high, high_low, low_high, low_low] = sums;
    let middle = lanes.add_i32(lanes.load_i32(&high_low[row]), lanes.load_i32(&low_high[row]));
    let middle = lanes.add_i32(middle, lanes.lower(lanes.load_i32(&low_low[row])));
    lanes.to_f32(lanes.add_i32(lanes.raise(lanes.load_i32(&high_high[row])), middle))
}

/// Does `$multiply` for each of `$columns`, and `$take` one column behind it, each with the buffer of
/// its column. (A function of closures would not be compiled for the level.)
macro_rules! one_ahead {
    ($buffers:ident, $columns:expr, |$column:ident, $sums:ident| $multiply:expr, $take:expr $(,)?) => {{
        let columns: Range<usize> = $columns;
        for ahead in columns.start..columns.end + 1 {
            if ahead < columns.end {
                let ($column, Sums($sums)) = (ahead, &mut $buffers.0[ahead % 2]);
                $multiply;
            }
            if ahead > columns.start {
                let ($column, $sums) = (ahead - 1, &$buffers.0[(ahead - 1) % 2]);
                $take;
            }
        }
    }};
}

impl<const IN_PLACE: bool> Span<'_, IN_PLACE> {
    /// The scores of a block of rows.
    #[inline(always)]
    pub(super) fn score_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        unit: &L::Tiles,
        buffers: &mut Buffers,
        rows: Range<usize>,
    ) {
        let dim = padded_dim(self.task.attention);
        let steps = dim / STEP;
        let seen = self.seen_by(rows.clone());
        let memory = &mut self.memory;
        let operands = rows.len().div_ceil(OPERAND_ROWS);
        let keys: &[ColumnTile] = bytemuck::cast_slice(memory.keys);
        let groups = seen.start / LANES..seen.end.div_ceil(LANES);
        one_ahead!(
            buffers,
            groups.start * operands..groups.end * operands,
            |number, sums| {
                let (group, first) = (number / operands, number % operands * OPERAND_ROWS);
                let queries = halves::<i8>(memory.queries, dim, rows.start + first);
                let (high, low) = keys[2 * group * steps..][..2 * steps].split_at(steps);
                let queries = queries.map(|queries| row_tiles(queries, dim));
                unit.multiply_two(queries, [high, low], [None; 2], sums, |_tile| {});
            },
            {
                let (group, first) = (number / operands, number % operands * OPERAND_ROWS);
                let scale = lanes.load_part(&memory.key_scales[group * LANES..][..LANES]);
                let factors = &memory.factors[rows.start + first..rows.end];
                for (place, &factor) in factors.iter().take(OPERAND_ROWS).enumerate() {
                    let sum = join(lanes, sums, place);
                    let score = lanes.mul(lanes.mul(sum, lanes.splat(factor)), scale);
                    let at = (first + place) * SPAN + group * LANES;
                    lanes.store_part(score, &mut memory.scores[at..at + LANES]);
                }
            },
        );
    }

    /// Mixes values with the weights of a block of rows.
    #[inline(always)]
    pub(super) fn mix_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        unit: &L::Tiles,
        buffers: &mut Buffers,
        rows: Range<usize>,
        scales: &[f32; BLOCK_ROWS],
    ) {
        let seen = self.seen_by(rows.clone());
        let partial_len = self.task.attention.partial_len;
        let steps = seen.start / STEP..seen.end.div_ceil(STEP);
        let operands = rows.len().div_ceil(OPERAND_ROWS);
        let values: &[ColumnTile] = bytemuck::cast_slice(self.memory.values);
        let groups = padded_dim(self.task.attention) / LANES;
        one_ahead!(
            buffers,
            0..groups * operands,
            |number, sums| {
                let (group, first) = (number / operands, number % operands * OPERAND_ROWS);
                let [high, low] = halves::<i8>(self.memory.weights, SPAN, first);
                let weights = [&high[steps.start * STEP..], &low[steps.start * STEP..]];
                let (high, low) =
                    values[2 * group * VALUE_STEPS..][..2 * VALUE_STEPS].split_at(VALUE_STEPS);
                let columns = [&high[steps.clone()], &low[steps.clone()]];
                let weights = weights.map(|weights| row_tiles(weights, SPAN));
                unit.multiply_two(weights, columns, [None; 2], sums, |_tile| {});
            },
            {
                let (group, first) = (number / operands, number % operands * OPERAND_ROWS);
                for place in 0..OPERAND_ROWS.min(rows.len() - first) {
                    let scale = lanes.splat(scales[first + place]);
                    let mixed = lanes.mul(join(lanes, sums, place), scale);
                    let at = (rows.start + first + place) * partial_len + MIXED + group * LANES;
                    lanes.store_part(mixed, &mut self.partial[at..at + LANES]);
                }
            },
        );
    }
}

/// Rows of `len` bytes as tiles side by side.
fn row_tiles(bytes: &[i8], len: usize) -> RowTiles<'_> {
    RowTiles { bytes, row_stride: len, tile_stride: STEP }
}
