//! Activations as 8-bit integers with a scale per 32, for products with quantized weights.
//!
//! For each 32 values: `scale = max |x| / 127`, and each value times `127 / max |x|` is rounded to
//! the nearest integer, ties to even. Where the largest magnitude is below 2^-100 all become zero.
//! A NaN or infinity makes the scale NaN or infinite, so that the results are not numbers either.

use std::ops::Range;

use crate::backend::CpuBackend;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::ops::activations::{
    ActivationGroup, ActivationRows, BLOCK_ROWS, Block, Line, MAX_NARROW,
};
use crate::ops::linear::Rows;
use crate::pack::codes::GROUP_COLS;

/// Quantizes rows of `cols` values, padding each to whole groups.
pub(crate) fn quantize(
    backend: &CpuBackend,
    rows: Rows<'_>,
    x: &[f32],
    cols: usize,
    out: &mut ActivationRows,
) {
    out.fill(backend.pool(), rows, cols, GROUP_COLS, |block, out| {
        backend.level().run(Quantize { block, x, cols, out });
    });
}

/// The rows of one block.
struct Quantize<'a> {
    block: Block<'a>,
    x: &'a [f32],
    cols: usize,
    out: &'a mut [Line],
}

impl Quantize<'_> {
    /// A block of `W` rows: a group of all rows before the next, so that their scales are computed
    /// side by side and cache lines are filled at once.
    #[inline(always)]
    fn block<L: Lanes, const W: usize>(self, lanes: L) {
        let mut rows = [&[][..]; W];
        let mut num_rows = 0;
        for (row, input) in rows.iter_mut().zip(self.block.inputs()) {
            *row = &self.x[input * self.cols..][..self.cols];
            num_rows += 1;
        }
        let out: &mut [ActivationGroup<W>] = bytemuck::cast_slice_mut(self.out);
        for (first, out) in (0..self.cols).step_by(GROUP_COLS).zip(out) {
            let cols = first..self.cols.min(first + GROUP_COLS);
            quantize_group(lanes, &rows[..num_rows], cols, out);
        }
    }
}

impl Kernel for Quantize<'_> {
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

#[inline(always)]
fn quantize_group<L: Lanes, const W: usize>(
    lanes: L,
    rows: &[&[f32]],
    cols: Range<usize>,
    out: &mut ActivationGroup<W>,
) {
    const LOWEST: f32 = f32::from_bits((127 - 100) << 23);
    let halves = |row: &[f32]| {
        let (low, high) = row[cols.clone()].split_at(LANES.min(cols.len()));
        [lanes.load_part(low), lanes.load_part(high)]
    };
    let mut magnitudes = [0.0; LANES];
    for (row, magnitude) in rows.iter().zip(&mut magnitudes) {
        let [low, high] = halves(row);
        *magnitude = lanes.max_magnitude(low, high);
    }
    let (magnitude, steps) = (lanes.load(&magnitudes), lanes.splat(127.0));
    let inverse = lanes.div(steps, magnitude);
    let mut inverses = [0.0; LANES];
    lanes.store(lanes.zero_below(magnitude, lanes.splat(LOWEST), inverse), &mut inverses);
    lanes.store_part(lanes.div(magnitude, steps), &mut out.scales);
    let mut sums = [[0; W]; 2];
    for (row, x) in rows.iter().enumerate() {
        let inverse = lanes.splat(inverses[row]);
        let quants = out.quants[row].chunks_exact_mut(LANES);
        for ((x, quants), sums) in halves(x).into_iter().zip(quants).zip(&mut sums) {
            let quants = quants.first_chunk_mut().expect("half a group is 16 columns");
            lanes.store_i8(lanes.mul(x, inverse), quants);
            let sum: i16 = quants.iter().map(|&quant| i16::from(quant)).sum();
            sums[row] = i32::from(sum);
        }
    }
    out.complete(&sums);
}
