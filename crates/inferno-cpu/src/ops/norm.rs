//! Root mean square normalization.
//!
//! **Order of the sums.** Lane `i` adds the squares of values `i`, `i + 16`, ... by fused multiply-add; then the
//! lanes are added as a tree ([`FloatLanes::sum`](crate::lanes::FloatLanes::sum)). Each value is multiplied by
//! `1 / sqrt(sum / n + eps)`, then by its weight.

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, Lanes, vectors, vectors_mut};

/// The parameters of a norm.
#[derive(Clone, Copy)]
pub(crate) struct RmsNorm<'a> {
    pub(crate) weight: &'a [f32],
    /// Added to the mean of the squares.
    pub(crate) eps: f32,
}

/// `out = x / sqrt(mean(x^2) + eps) * weight`, row by row.
pub(crate) fn rms_norm(
    executor: Executor<'_>,
    rows: usize,
    x: &CpuBuffer,
    norm: RmsNorm<'_>,
    out: &mut CpuBuffer,
) {
    assert_eq!(x.cols(), out.cols(), "input and output have the same width");
    let cols = out.cols();
    assert_eq!(norm.weight.len(), cols, "a weight per column");
    let x = x.rows(rows);
    out.split_rows(executor.pool, rows, |first, out| {
        out.copy_from_slice(&x[first * cols..][..out.len()]);
        executor.level.run(Normalize { x: out, norm });
    });
}

/// Normalizes consecutive rows in place.
struct Normalize<'a> {
    x: &'a mut [f32],
    norm: RmsNorm<'a>,
}

impl Kernel for Normalize<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for row in self.x.chunks_exact_mut(self.norm.weight.len()) {
            normalize(lanes, row, self.norm);
        }
    }
}

/// Normalizes one row in place.
#[inline(always)]
pub(crate) fn normalize<L: Lanes>(lanes: L, x: &mut [f32], norm: RmsNorm<'_>) {
    let num_values = x.len() as f32;
    let (x, rest) = vectors_mut(x);
    let (weights, rest_of_weights) = vectors(norm.weight);
    let mut squares = lanes.splat(0.0);
    for x in x.iter() {
        let x = lanes.load(x);
        squares = lanes.fma(x, x, squares);
    }
    let last = lanes.load_part(rest);
    squares = lanes.fma(last, last, squares);
    let factor = lanes.splat(1.0 / (lanes.sum(squares) / num_values + norm.eps).sqrt());
    for (x, weight) in x.iter_mut().zip(weights) {
        lanes.store(lanes.mul(lanes.mul(lanes.load(x), factor), lanes.load(weight)), x);
    }
    let scaled = lanes.mul(last, factor);
    lanes.store_part(lanes.mul(scaled, lanes.load_part(rest_of_weights)), rest);
}
