//! Activations as 8-bit integers with a scale for each 256 columns, for products with quantized weights.
//!
//! For each 256 values: `scale = max |x| / 127`, and each value times `127 / max |x|` is rounded to the nearest
//! integer, ties to even. If the largest magnitude is below 2^-100, all integers are zero. If a value is not finite,
//! neither is the scale, so that the results are not numbers either.
//!
//! Over 256 columns, an outlier would make the scale too coarse for the others: with F16 weights and rounded
//! activations, the perplexity of Ember rises by 0.02% with a scale for each 32 columns and by 0.21% with one for 256.
//! So the columns are distributed over 16 lanes, and if the largest magnitude is an outlier among the maxima of the
//! lanes, the scale follows the second largest lane, as long as that is at least an eighth of the largest. What exceeds
//! the range of the integers is stored separately in parts (*overflows*), and perplexity rises by 0.02%. (Tried:
//! following the third, fourth or fifth lane: no better. Separating everything that makes a scale finer: no better, and
//! overflows in every 256 columns of any activations. Separating everything that is twice the second lane: too little,
//! with Q6_K perplexity rises by 0.09%.)

use crate::isa::Level;
use crate::lanes::{Kernel, LANES, Lanes, vectors, vectors_mut};
use crate::ops::activation_rows::{BlockRow, InputForm};
use crate::ops::activations::{
    ActivationRun, BLOCK_ROWS, MAX_NARROW, MAX_OVERFLOWS, RUN_LINES, TILE_COLS,
};
use crate::pack::codes::CHUNK_COLS;
use crate::scratch::CacheLine;

/// The largest magnitude is an outlier if its square is more than this times the mean of the squares of the maxima of
/// all lanes. With 256 normally distributed numbers, that happens once in a thousand times.
const OUTLIER_RATIO: f32 = 4.0;

/// Largest magnitudes below this are treated as zero, and so are units of weights.
pub(crate) const LOWEST: f32 = f32::from_bits((127 - 100) << 23);

/// Activations in runs of 256 columns, padded to whole runs.
pub(crate) struct Integers;

impl Integers {
    /// Whether the matrix unit multiplies a block of `width` rows: fewer are multiplied by vectors even if there is one
    /// (`product/few_rows.rs`).
    fn for_tiles(level: Level, width: usize) -> bool {
        width == BLOCK_ROWS && level.has_matrix_unit()
    }
}

impl InputForm for Integers {
    fn row_lines(cols: usize) -> usize {
        cols.div_ceil(CHUNK_COLS) * RUN_LINES
    }

    fn convert(level: Level, row: BlockRow<'_>, out: &mut [CacheLine]) {
        let (width, for_tiles) = (row.width, Self::for_tiles(level, row.width));
        level.run(ForWidth { width, work: QuantizeRuns { row, for_tiles, out } });
    }

    fn complete(level: Level, num_rows: usize, width: usize, out: &mut [CacheLine]) {
        let for_tiles = Self::for_tiles(level, width);
        level.run(ForWidth { width, work: CompleteRuns { num_rows, for_tiles, out } });
    }
}

/// Work on a block, compiled for its width.
trait BlockWork {
    /// Does the work on a block of `W` rows.
    fn run<L: Lanes, const W: usize>(self, lanes: L);
}

/// Runs `work` on a block of `width` rows.
struct ForWidth<B> {
    width: usize,
    work: B,
}

impl<B: BlockWork> Kernel for ForWidth<B> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        const { assert!(MAX_NARROW == 8 && BLOCK_ROWS == 16) };
        match self.width {
            1 => self.work.run::<L, 1>(lanes),
            2 => self.work.run::<L, 2>(lanes),
            4 => self.work.run::<L, 4>(lanes),
            8 => self.work.run::<L, 8>(lanes),
            _ => self.work.run::<L, 16>(lanes),
        }
    }
}

/// Quantizes columns of one row in runs of 256.
struct QuantizeRuns<'a> {
    row: BlockRow<'a>,
    /// Whether the matrix unit multiplies them.
    for_tiles: bool,
    out: &'a mut [CacheLine],
}

impl BlockWork for QuantizeRuns<'_> {
    #[inline(always)]
    fn run<L: Lanes, const W: usize>(self, lanes: L) {
        let Self { row: BlockRow { values, row, .. }, for_tiles, out } = self;
        let out: &mut [ActivationRun<W>] = bytemuck::cast_slice_mut(out);
        for (x, out) in values.chunks(CHUNK_COLS).zip(out) {
            match x.first_chunk() {
                Some(x) => quantize_run(lanes, x, row, out),
                None => {
                    let mut padded = [0.0; CHUNK_COLS];
                    padded[..x.len()].copy_from_slice(x);
                    quantize_run(lanes, &padded, row, out);
                }
            }
            if !for_tiles {
                out.complete(lanes, row);
            }
        }
    }
}

/// Completes runs of a block of which the first `num_rows` rows were quantized.
struct CompleteRuns<'a> {
    num_rows: usize,
    /// Whether the matrix unit multiplies them.
    for_tiles: bool,
    out: &'a mut [CacheLine],
}

impl BlockWork for CompleteRuns<'_> {
    #[inline(always)]
    fn run<L: Lanes, const W: usize>(self, _lanes: L) {
        let out: &mut [ActivationRun<W>] = bytemuck::cast_slice_mut(self.out);
        for out in out {
            (self.num_rows..W).for_each(|row| out.clear_overflows(row));
            if self.for_tiles {
                out.gather_overflows();
            }
        }
    }
}

#[inline(always)]
fn quantize_run<L: Lanes, const W: usize>(
    lanes: L,
    x: &[f32; CHUNK_COLS],
    row: usize,
    out: &mut ActivationRun<W>,
) {
    let (columns, _) = vectors(x);
    let mut largest = lanes.splat(0.0);
    for x in columns {
        largest = lanes.larger_magnitude(largest, lanes.load(x));
    }
    out.clear_overflows(row);
    let mean = lanes.sum(lanes.mul(largest, largest)) / LANES as f32;
    let mut magnitude = lanes.max_magnitude(largest, largest);
    if magnitude.is_finite() && magnitude * magnitude > OUTLIER_RATIO * mean {
        let mut magnitudes = [0.0; LANES];
        lanes.store(largest, &mut magnitudes);
        magnitude = store_outlier(x, &magnitudes, row, out);
    }
    let inverse = lanes.splat(if magnitude < LOWEST { 0.0 } else { 127.0 / magnitude });
    for (tile, columns) in out.tiles.iter_mut().zip(columns.chunks_exact(TILE_COLS / LANES)) {
        let (quants, _) = vectors_mut(&mut tile[row]);
        for (quants, x) in quants.iter_mut().zip(columns) {
            lanes.store_i8(lanes.mul(lanes.load(x), inverse), quants);
        }
    }
    out.scales[row] = magnitude / 127.0;
}

/// Stores the overflows of a row with an outlier, and returns the magnitude that determines the scale. If there would
/// be too many overflows, there are none, and the magnitude is that of the outlier. `magnitudes` are the maxima of the
/// lanes.
#[inline(always)]
fn store_outlier<const W: usize>(
    x: &[f32],
    magnitudes: &[f32; LANES],
    row: usize,
    out: &mut ActivationRun<W>,
) -> f32 {
    let (mut lane, mut first, mut second) = (0, 0.0, 0.0);
    for (index, &magnitude) in magnitudes.iter().enumerate() {
        if magnitude > first {
            (lane, second, first) = (index, first, magnitude);
        } else if magnitude > second {
            second = magnitude;
        }
    }
    let mut limit = f32::max(second, first / MAX_OVERFLOWS as f32);
    while limit >= LOWEST && limit < first {
        if add_overflows(x, lane, limit, row, out) {
            return limit;
        }
        limit *= 2.0;
    }
    first
}

/// Stores what exceeds `limit`, which is in columns of one lane only. Returns false, and stores nothing, if there are
/// too many overflows.
#[inline(always)]
fn add_overflows<const W: usize>(
    x: &[f32],
    lane: usize,
    limit: f32,
    row: usize,
    out: &mut ActivationRun<W>,
) -> bool {
    let inverse = 127.0 / limit;
    let mut num_parts = 0;
    for (column, x) in x.iter().enumerate().skip(lane).step_by(LANES) {
        let beyond = |x: f32| {
            let quant = (x * inverse).round_ties_even() as i32;
            quant - quant.clamp(-127, 127)
        };
        let rest = beyond(*x);
        num_parts += (rest.unsigned_abs() as usize).div_ceil(127);
        if num_parts > MAX_OVERFLOWS {
            out.clear_overflows(row);
            return false;
        }
        out.add_overflow(row, column, rest);
    }
    true
}
