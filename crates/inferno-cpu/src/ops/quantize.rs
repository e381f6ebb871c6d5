//! Activations as 8-bit integers, for products with quantized weights: with a scale for each 32
//! columns, or for each 256.
//!
//! For each 32 or 256 values: `scale = max |x| / 127`, and each value times `127 / max |x|` is rounded to the nearest
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

use inferno_backend::BackendError;

use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes, vectors, vectors_mut};
use crate::ops::activation_rows::{ActivationBlock, ActivationRows};
use crate::ops::activations::{
    ActivationGroup, ActivationRun, BLOCK_ROWS, MAX_NARROW, MAX_OVERFLOWS, RUN_LINES, TILE_COLS,
};
use crate::ops::input::InputRows;
use crate::ops::product_rows::ProductRows;
use crate::pack::codes::{CHUNK_COLS, GROUP_COLS};
use crate::scratch::CacheLine;

/// The largest magnitude is an outlier if its square is more than this times the mean of the squares of the maxima of
/// all lanes. With 256 normally distributed numbers, that happens once in a thousand times.
const OUTLIER_RATIO: f32 = 4.0;

/// Largest magnitudes below this are treated as zero, and so are units of weights.
pub(crate) const LOWEST: f32 = f32::from_bits((127 - 100) << 23);

/// Cache lines of a row in groups of 32 columns.
pub(crate) fn group_row_lines(cols: usize) -> usize {
    cols.div_ceil(GROUP_COLS)
}

/// Cache lines of a row in runs of 256 columns.
pub(crate) fn run_row_lines(cols: usize) -> usize {
    cols.div_ceil(CHUNK_COLS) * RUN_LINES
}

/// Quantizes rows, padding each to whole groups of 32 columns.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(crate) fn quantize_groups(
    executor: Executor<'_>,
    rows: ProductRows<'_>,
    x: InputRows<'_>,
    out: &mut ActivationRows,
) -> Result<(), BackendError> {
    let cols = x.cols();
    out.fill(executor, rows, x, group_row_lines(cols), |block, out| {
        executor.level.run(QuantizeGroups { block, cols, out });
    })
}

/// Quantizes rows, padding each to whole runs of 256 columns.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(crate) fn quantize_runs(
    executor: Executor<'_>,
    rows: ProductRows<'_>,
    x: InputRows<'_>,
    out: &mut ActivationRows,
) -> Result<(), BackendError> {
    out.fill(executor, rows, x, run_row_lines(x.cols()), |block, out| {
        // Fewer rows are multiplied by vectors even if there is a matrix unit (`product/few_rows.rs`).
        let for_tiles = block.width == BLOCK_ROWS && executor.level.has_matrix_unit();
        executor.level.run(QuantizeRuns { block, for_tiles, out });
    })
}

/// Quantizes the rows of one block in groups of 32 columns.
struct QuantizeGroups<'a> {
    block: ActivationBlock<'a>,
    cols: usize,
    out: &'a mut [CacheLine],
}

impl QuantizeGroups<'_> {
    /// Quantizes a block of `W` rows: each group of all rows before the next one, so that their scales are
    /// computed side by side and whole cache lines are written.
    #[inline(always)]
    fn block<L: Lanes, const W: usize>(self, lanes: L) {
        let out: &mut [ActivationGroup<W>] = bytemuck::cast_slice_mut(self.out);
        for (first, out) in (0..self.cols).step_by(GROUP_COLS).zip(out) {
            quantize_group(lanes, self.block.rows, first, out);
        }
    }
}

impl Kernel for QuantizeGroups<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        const { assert!(MAX_NARROW == 8 && BLOCK_ROWS == 16) };
        match self.block.width {
            1 => self.block::<L, 1>(lanes),
            2 => self.block::<L, 2>(lanes),
            4 => self.block::<L, 4>(lanes),
            8 => self.block::<L, 8>(lanes),
            _ => self.block::<L, 16>(lanes),
        }
    }
}

/// Loads the 32 columns of a row from `first` on, with zeros for missing columns.
#[inline(always)]
fn load_group<L: Lanes>(lanes: L, row: &[f32], first: usize) -> [L::F32; 2] {
    let columns = &row[first..];
    let (low, high) = columns.split_at(LANES.min(columns.len()));
    [lanes.load_part(low), lanes.load_part(high)]
}

/// Quantizes the columns of `rows` from `first` on.
#[inline(always)]
fn quantize_group<L: Lanes, const W: usize>(
    lanes: L,
    rows: &[&[f32]],
    first: usize,
    out: &mut ActivationGroup<W>,
) {
    let mut magnitudes = [0.0; LANES];
    for (row, magnitude) in rows.iter().zip(&mut magnitudes) {
        let [low, high] = load_group(lanes, row, first);
        *magnitude = lanes.max_magnitude(low, high);
    }
    let (magnitude, steps) = (lanes.load(&magnitudes), lanes.splat(127.0));
    let inverse = lanes.div(steps, magnitude);
    let mut inverses = [0.0; LANES];
    lanes.store(lanes.zero_below(magnitude, lanes.splat(LOWEST), inverse), &mut inverses);
    lanes.store_part(lanes.div(magnitude, steps), &mut out.scales);
    for (row, x) in rows.iter().enumerate() {
        let inverse = lanes.splat(inverses[row]);
        let quants = out.quants[row].chunks_exact_mut(LANES);
        let mut sum = 0;
        for (x, quants) in load_group(lanes, x, first).into_iter().zip(quants) {
            let quants = quants.first_chunk_mut().expect("half a group is 16 columns");
            lanes.store_i8(lanes.mul(x, inverse), quants);
            sum += quants.iter().map(|&quant| i16::from(quant)).sum::<i16>();
        }
        out.starts[row] = -128 * i32::from(sum);
    }
}

/// Quantizes the rows of one block in runs of 256 columns.
struct QuantizeRuns<'a> {
    block: ActivationBlock<'a>,
    /// Whether the matrix unit multiplies them.
    for_tiles: bool,
    out: &'a mut [CacheLine],
}

impl QuantizeRuns<'_> {
    /// Quantizes a block of `W` rows.
    #[inline(always)]
    fn block<L: Lanes, const W: usize>(self, lanes: L) {
        let out: &mut [ActivationRun<W>] = bytemuck::cast_slice_mut(self.out);
        for (row, x) in self.block.rows.iter().enumerate() {
            for (x, out) in x.chunks(CHUNK_COLS).zip(&mut *out) {
                match x.first_chunk() {
                    Some(x) => quantize_run(lanes, x, row, out),
                    None => {
                        let mut padded = [0.0; CHUNK_COLS];
                        padded[..x.len()].copy_from_slice(x);
                        quantize_run(lanes, &padded, row, out);
                    }
                }
                if !self.for_tiles {
                    out.complete(lanes, row);
                }
            }
        }
        for row in self.block.rows.len()..W {
            out.iter_mut().for_each(|out| out.clear_overflows(row));
        }
        if self.for_tiles {
            out.iter_mut().for_each(ActivationRun::gather_overflows);
        }
    }
}

impl Kernel for QuantizeRuns<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.block.width {
            1 => self.block::<L, 1>(lanes),
            2 => self.block::<L, 2>(lanes),
            4 => self.block::<L, 4>(lanes),
            8 => self.block::<L, 8>(lanes),
            _ => self.block::<L, 16>(lanes),
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
