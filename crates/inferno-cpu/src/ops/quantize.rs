//! Activations as 8-bit integers, for products with quantized weights: with a scale for each 32
//! columns, or for each 256.
//!
//! For each so many values: `scale = max |x| / 127`, and each value times `127 / max |x|` is rounded to
//! the nearest integer, ties to even. Where the largest magnitude is below 2^-100 all become zero.
//! A NaN or infinity makes the scale NaN or infinite, so that the results are not numbers either.
//!
//! Over 256 columns, one that stands out would make the scale too coarse for the others: with F16 weights
//! and activations rounded, perplexity of Ember rises by 0.02% with a scale for each 32 columns, by 0.21%
//! with one for 256. So the columns are dealt out to 16 lanes, and where the largest magnitude stands out of
//! the lanes' largest ones, the scale follows the second lane, as long as that is an eighth of the first.
//! What is beyond the integers' range is kept beside them, part by part, and perplexity rises by 0.02%.
//! (Following the third, fourth, fifth lane: no better. Setting aside whatever makes a scale finer: no
//! better, and some part in each 256 columns of any activations; whatever is twice the second lane: too
//! little, with Q6_K perplexity rises by 0.09%.)

use crate::backend::CpuBackend;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes, vectors, vectors_mut};
use crate::ops::activations::{
    ActivationGroup, ActivationRows, ActivationRun, BLOCK_ROWS, Block, Line, MAX_NARROW,
    MAX_OVERFLOWS, RUN_LINES, TILE_COLS,
};
use crate::ops::input::InputRows;
use crate::ops::linear::Rows;
use crate::pack::codes::{CHUNK_COLS, GROUP_COLS};

/// What the square of the largest magnitude must be, in means of the squares of the lanes' largest ones, to
/// stand out. Of 256 normally distributed numbers one does in a thousand times.
const STANDS_OUT: f32 = 4.0;

/// Largest magnitudes below this, and units of weights, are taken for zero.
pub(crate) const LOWEST: f32 = f32::from_bits((127 - 100) << 23);

/// Quantizes rows, padding each to whole groups of 32 columns.
pub(crate) fn quantize_groups(
    backend: &CpuBackend,
    rows: Rows<'_>,
    x: InputRows<'_>,
    out: &mut ActivationRows,
) {
    let cols = x.cols();
    out.fill(backend, rows, x, cols.div_ceil(GROUP_COLS), |block, out| {
        backend.level().run(Groups { block, cols, out });
    });
}

/// Quantizes rows, padding each to whole runs of 256 columns.
pub(crate) fn quantize_runs(
    backend: &CpuBackend,
    rows: Rows<'_>,
    x: InputRows<'_>,
    out: &mut ActivationRows,
) {
    let row_lines = x.cols().div_ceil(CHUNK_COLS) * RUN_LINES;
    out.fill(backend, rows, x, row_lines, |block, out| {
        // Fewer rows are multiplied by vectors, with a matrix unit too (`product/narrow.rs`).
        let for_tiles = block.width == BLOCK_ROWS && backend.level().has_tiles();
        backend.level().run(Runs { block, for_tiles, out });
    });
}

/// The rows of one block, in groups.
struct Groups<'a> {
    block: Block<'a>,
    cols: usize,
    out: &'a mut [Line],
}

impl Groups<'_> {
    /// A block of `W` rows: a group of all rows before the next, so that their scales are computed
    /// side by side and cache lines are filled at once.
    #[inline(always)]
    fn block<L: Lanes, const W: usize>(self, lanes: L) {
        let out: &mut [ActivationGroup<W>] = bytemuck::cast_slice_mut(self.out);
        for (first, out) in (0..self.cols).step_by(GROUP_COLS).zip(out) {
            quantize_group(lanes, self.block.rows, first, out);
        }
    }
}

impl Kernel for Groups<'_> {
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

/// The 32 columns of a row from `first` on, or what there is of them and zeros.
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

/// The rows of one block, in runs.
struct Runs<'a> {
    block: Block<'a>,
    /// Whether the matrix unit takes them.
    for_tiles: bool,
    out: &'a mut [Line],
}

impl Runs<'_> {
    /// A block of `W` rows.
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

impl Kernel for Runs<'_> {
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
    if magnitude.is_finite() && magnitude * magnitude > STANDS_OUT * mean {
        let mut magnitudes = [0.0; LANES];
        lanes.store(largest, &mut magnitudes);
        magnitude = set_aside(x, &magnitudes, row, out);
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

/// Sets aside what stands out of a row's values, whose largest magnitudes in each lane are given, and gives
/// what the scale is to follow: all of them where that is too much.
#[inline(always)]
fn set_aside<const W: usize>(
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

/// Sets aside what is beyond `limit`, which is in columns of one lane alone; or nothing, and gives false,
/// where it is too much.
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
