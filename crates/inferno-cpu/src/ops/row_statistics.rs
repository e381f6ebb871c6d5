//! Operations that depend on the mean or the deviation of a row.
//!
//! **Order of the sums.** That of [`norm`](crate::ops::norm): lane `i` adds values `i`, `i + 16`, ..., squares by fused
//! multiply-add; then the lanes are added as a tree.

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::norm::{mean, mean_square};

/// Scales each block of the width of `x` in the rows of `out` so that the mean of its squares, which counts as `minimum`
/// if it is smaller, becomes that of the row of `x`.
pub(crate) fn match_magnitude(
    executor: Executor<'_>,
    rows: usize,
    x: &CpuBuffer,
    minimum: f32,
    out: &mut CpuBuffer,
) {
    let (cols, width) = (out.cols(), x.cols());
    assert!(width > 0 && cols % width == 0, "whole blocks");
    let x = x.rows(rows);
    out.split_rows(executor.pool, rows, |first, out| {
        let x = &x[first * width..];
        executor.level.run(MatchMagnitude { x, width, minimum, cols, out });
    });
}

struct MatchMagnitude<'a> {
    x: &'a [f32],
    width: usize,
    minimum: f32,
    cols: usize,
    out: &'a mut [f32],
}

impl Kernel for MatchMagnitude<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let rows = self.out.chunks_exact_mut(self.cols);
        for (out, x) in rows.zip(self.x.chunks_exact(self.width)) {
            let target = mean_square(lanes, x, |x| x);
            for out in out.chunks_exact_mut(self.width) {
                // `f32::max` would hide a NaN.
                let square = mean_square(lanes, out, |x| x);
                let square = if square < self.minimum { self.minimum } else { square };
                let factor = lanes.splat((target / square).sqrt());
                for out in out.chunks_mut(LANES) {
                    lanes.store_part(lanes.mul(lanes.load_part(out), factor), out);
                }
            }
        }
    }
}

/// Subtracts the mean of each row plus `num_deviations` of its standard deviations, and sets what is then negative to
/// zero.
pub(crate) fn sparsify(
    executor: Executor<'_>,
    rows: usize,
    num_deviations: f32,
    x: &mut CpuBuffer,
) {
    let cols = x.cols();
    x.split_rows(executor.pool, rows, |_, x| {
        executor.level.run(Sparsify { num_deviations, cols, x });
    });
}

struct Sparsify<'a> {
    num_deviations: f32,
    cols: usize,
    x: &'a mut [f32],
}

impl Kernel for Sparsify<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for x in self.x.chunks_exact_mut(self.cols) {
            let mean = mean(lanes, x);
            let difference = |x| lanes.sub(x, lanes.splat(mean));
            let deviation = mean_square(lanes, x, difference).sqrt();
            let cutoff = lanes.splat(self.num_deviations.mul_add(deviation, mean));
            let zero = lanes.splat(0.0);
            for x in x.chunks_mut(LANES) {
                let above = lanes.sub(lanes.load_part(x), cutoff);
                lanes.store_part(lanes.zero_below(above, zero, above), x);
            }
        }
    }
}
