//! Activations as 8-bit integers with a scale per 32, for products with quantized weights.
//!
//! For each 32 values: `scale = max |x| / 127`, and each value times `127 / max |x|` is rounded to
//! the nearest integer, ties to even. Where the largest magnitude is below 2^-100 all become zero.
//! A NaN or infinity makes the scale NaN or infinite, so that the results are not numbers either.

use crate::backend::CpuBackend;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::pack::codes::GROUP_COLS;

/// 32 quantized activations of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActivationBlock {
    quants: [i8; GROUP_COLS],
    pub(crate) scale: f32,
    /// The sums of the first and of the last 16 integers.
    sums: [i16; 2],
}

/// Which columns of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GroupHalf {
    /// All 32.
    Both,
    /// The first or the last 16.
    One(usize),
}

impl ActivationBlock {
    pub(crate) const ZERO: Self = Self { quants: [0; GROUP_COLS], scale: 0.0, sums: [0; 2] };

    /// The integers of columns `4 v..4 v + 4`.
    #[inline(always)]
    pub(crate) fn four(&self, v: usize) -> [i8; 4] {
        *self.quants[4 * v..].first_chunk().expect("a group has eight times four columns")
    }

    /// The sum of the integers.
    #[inline(always)]
    pub(crate) fn sum(&self, half: GroupHalf) -> i32 {
        match half {
            GroupHalf::Both => i32::from(self.sums[0]) + i32::from(self.sums[1]),
            GroupHalf::One(half) => i32::from(self.sums[half]),
        }
    }
}

/// Quantizes rows of `cols` values, which follow one another in `x`, padding each to whole groups.
pub(crate) fn quantize(backend: &CpuBackend, x: &[f32], cols: usize, out: &mut [ActivationBlock]) {
    let groups = cols.div_ceil(GROUP_COLS);
    if groups == 0 {
        return;
    }
    let rows_a_task = super::rows_a_task(cols);
    backend.pool().run_chunks(out, rows_a_task * groups, |number, out, _| {
        let first = number * rows_a_task;
        let rows = out.len() / groups;
        backend.level().run(Quantize { x: &x[first * cols..(first + rows) * cols], cols, out });
    });
}

struct Quantize<'a> {
    x: &'a [f32],
    cols: usize,
    out: &'a mut [ActivationBlock],
}

impl Kernel for Quantize<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let groups = self.cols.div_ceil(GROUP_COLS);
        let rows = self.x.chunks_exact(self.cols).zip(self.out.chunks_exact_mut(groups));
        for (x, out) in rows {
            for (x, out) in x.chunks(GROUP_COLS).zip(out) {
                let (low, high) = x.split_at(LANES.min(x.len()));
                quantize_group(lanes, lanes.load_part(low), lanes.load_part(high), out);
            }
        }
    }
}

#[inline(always)]
fn quantize_group<L: Lanes>(lanes: L, low: L::F32, high: L::F32, out: &mut ActivationBlock) {
    const LOWEST: f32 = f32::from_bits((127 - 100) << 23);
    let magnitude = lanes.max_magnitude(low, high);
    let inverse = if magnitude < LOWEST { 0.0 } else { 127.0 / magnitude };
    let inverse = lanes.splat(inverse);
    out.scale = magnitude / 127.0;
    let (first, last) = out.quants.split_at_mut(LANES);
    for ((x, quants), sum) in [low, high].into_iter().zip([first, last]).zip(&mut out.sums) {
        let quants = quants.first_chunk_mut().expect("half a group is 16 columns");
        lanes.store_i8(lanes.mul(x, inverse), quants);
        *sum = 0;
        for &mut quant in quants {
            *sum += i16::from(quant);
        }
    }
}
