//! Products of 16-bit integers by a matrix unit: 16 rows with 16 columns.

use std::ops::Range;

use super::span::{BLOCK_ROWS, Int16Span, halves, padded_dim};
use crate::kv_cache::Plane;
use crate::lanes::{ColumnTile, LANES, Lanes, MatrixUnit, TileSums};
use crate::ops::attention::inputs::SPAN;
use crate::ops::attention::merge::MIXED;

/// Rows of the unit's first operand. All operands of a block are multiplied by a group of columns before the next
/// group, while it is in the first-level cache.
const OPERAND_ROWS: usize = 16;

/// Columns of the first operand, which are rows of the second.
pub(super) const STEP: usize = 64;

/// Tiles of a group of 16 components of a span's values, for each half.
pub(super) const VALUE_STEPS: usize = SPAN / STEP;

/// The results of the unit for 16 rows and 16 columns: the sums of products of high halves, of a high half and a low
/// one, and of low halves.
#[repr(C, align(64))]
struct HalfSums([TileSums; 3]);

/// Two results: while the unit computes one, the other is read.
pub(super) struct ResultBuffers([HalfSums; 2]);

impl ResultBuffers {
    #[inline(always)]
    pub(super) fn new() -> Self {
        const ZEROS: HalfSums = HalfSums([[[0; LANES]; OPERAND_ROWS]; 3]);
        Self([ZEROS; 2])
    }
}

impl HalfSums {
    /// The three sums of each row.
    #[inline(always)]
    fn rows(&self) -> impl Iterator<Item = [&[i32; LANES]; 3]> {
        let Self([high, middle, low]) = self;
        high.iter().zip(middle).zip(low).map(|((high, middle), low)| [high, middle, low])
    }
}

/// The sums of a row without their low 8 bits, converted.
#[inline(always)]
fn join<L: Lanes>(lanes: L, [high, middle, low]: [&[i32; LANES]; 3]) -> L::F32 {
    let rest = lanes.add_i32(lanes.load_i32(middle), lanes.shr8(lanes.load_i32(low)));
    lanes.to_f32(lanes.add_i32(lanes.shl8(lanes.load_i32(high)), rest))
}

/// Runs `$multiply` for each of `$columns`, and `$take` one column later, each with the buffer of its column. (Closures
/// would not be compiled for the instruction set.)
macro_rules! one_ahead {
    ($buffers:ident, $columns:expr, |$column:ident, $sums:ident| $multiply:expr, $take:expr $(,)?) => {{
        let columns: Range<usize> = $columns;
        for ahead in columns.start..columns.end + 1 {
            if ahead < columns.end {
                let ($column, HalfSums($sums)) = (ahead, &mut $buffers.0[ahead % 2]);
                $multiply;
            }
            if ahead > columns.start {
                let ($column, $sums) = (ahead - 1, &$buffers.0[(ahead - 1) % 2]);
                $take;
            }
        }
    }};
}

/// Rows of a block as operands. Results are numbered by groups of columns, then by operands.
#[derive(Clone, Copy)]
struct Operands {
    /// Their number is two to this power: divisions would take as long as products.
    shift: u32,
}

impl Operands {
    #[inline(always)]
    fn of_rows(num_rows: usize) -> Self {
        const { assert!(BLOCK_ROWS == 2 * OPERAND_ROWS, "one operand, or two") };
        Self { shift: u32::from(num_rows > OPERAND_ROWS) }
    }

    /// The numbers of the results for `groups`.
    #[inline(always)]
    fn numbers(self, groups: Range<usize>) -> Range<usize> {
        groups.start << self.shift..groups.end << self.shift
    }

    /// The group and the first row of a result.
    #[inline(always)]
    fn of(self, number: usize) -> (usize, usize) {
        let operand = number & ((1 << self.shift) - 1);
        (number >> self.shift, operand * OPERAND_ROWS)
    }
}

impl<const IN_PLACE: bool> Int16Span<'_, IN_PLACE> {
    /// The scores of a block of rows.
    #[inline(always)]
    pub(super) fn score_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        unit: &L::Unit,
        buffers: &mut ResultBuffers,
        rows: Range<usize>,
    ) {
        let dim = padded_dim(self.task.attention, Plane::Keys);
        let steps = dim / STEP;
        let seen = self.seen_by(rows.clone());
        let memory = &mut self.memory;
        let factors = &memory.factors[rows.clone()];
        let keys: &[ColumnTile] = bytemuck::cast_slice(memory.keys);
        let groups = seen.start / LANES..seen.end.div_ceil(LANES);
        let operands = Operands::of_rows(rows.len());
        one_ahead!(
            buffers,
            operands.numbers(groups),
            |number, sums| {
                let (group, first) = operands.of(number);
                let (high, low) = keys[2 * group * steps..][..2 * steps].split_at(steps);
                let queries = halves(memory.queries, dim, rows.start + first);
                unit.multiply_halves(queries, dim, [high, low], sums);
            },
            {
                let (group, first) = operands.of(number);
                let scale = lanes.load_part(&memory.key_scales[group * LANES..][..LANES]);
                let scores = &mut memory.scores[first * SPAN + group * LANES..];
                let rows = sums.rows().zip(&factors[first..]).zip(scores.chunks_mut(SPAN));
                for ((sums, &factor), scores) in rows {
                    let score = lanes.mul(lanes.mul(join(lanes, sums), lanes.splat(factor)), scale);
                    lanes.store_part(score, &mut scores[..LANES]);
                }
            },
        );
    }

    /// Mixes values with the weights of a block of rows.
    #[inline(always)]
    pub(super) fn mix_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        unit: &L::Unit,
        buffers: &mut ResultBuffers,
        rows: Range<usize>,
        scales: &[f32; BLOCK_ROWS],
    ) {
        let seen = self.seen_by(rows.clone());
        let partial_len = self.task.attention.partial_len;
        let steps = seen.start / STEP..seen.end.div_ceil(STEP);
        let values: &[ColumnTile] = bytemuck::cast_slice(self.memory.values);
        let groups = padded_dim(self.task.attention, Plane::Values) / LANES;
        let operands = Operands::of_rows(rows.len());
        let partial = &mut self.partial[rows.start * partial_len..rows.end * partial_len];
        one_ahead!(
            buffers,
            operands.numbers(0..groups),
            |number, sums| {
                let (group, first) = operands.of(number);
                let (high, low) =
                    values[2 * group * VALUE_STEPS..][..2 * VALUE_STEPS].split_at(VALUE_STEPS);
                let columns = [&high[steps.clone()], &low[steps.clone()]];
                let weights = halves(self.memory.weights, SPAN, first);
                let from = steps.start * STEP;
                let weights = [&weights[0][from..], &weights[1][from..]];
                unit.multiply_halves(weights, SPAN, columns, sums);
            },
            {
                let (group, first) = operands.of(number);
                let partial = &mut partial[first * partial_len + MIXED + group * LANES..];
                let rows = sums.rows().zip(&scales[first..]).zip(partial.chunks_mut(partial_len));
                for ((sums, &scale), mixed) in rows {
                    let sum = lanes.mul(join(lanes, sums), lanes.splat(scale));
                    lanes.store_part(sum, &mut mixed[..LANES]);
                }
            },
        );
    }
}
