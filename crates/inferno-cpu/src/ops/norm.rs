//! Normalization of rows.
//!
//! **Order of the sums.** Lane `i` adds the squares of values `i`, `i + 16`, ... by fused multiply-add; then the
//! lanes are added as a tree ([`FloatLanes::sum`](crate::lanes::FloatLanes::sum)). Each value is multiplied by
//! `1 / sqrt(sum / n + eps)`, then by its weight; then its bias is added. A layer norm subtracts the mean first, whose
//! sum is that of the lanes in the same order.

use inferno_backend::{Norm, NormKind};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes, vectors, vectors_mut};

/// The parameters of a norm.
#[derive(Clone, Copy)]
pub(crate) struct RowNorm<'a> {
    pub(crate) kind: NormKind,
    pub(crate) weight: &'a [f32],
    /// Added at the end.
    pub(crate) bias: Option<&'a [f32]>,
    /// Added to the mean of the squares.
    pub(crate) eps: f32,
}

impl<'a> From<Norm<'a, CpuBuffer>> for RowNorm<'a> {
    fn from(norm: Norm<'a, CpuBuffer>) -> Self {
        let Norm { kind, weight, bias, eps } = norm;
        let (weight, bias) = (weight.rows(1), bias.map(|bias| bias.rows(1)));
        assert!(bias.is_none_or(|bias| bias.len() == weight.len()), "a bias per weight");
        Self { kind, weight, bias, eps }
    }
}

/// `out = norm(x)`, row by row.
pub(crate) fn norm(
    executor: Executor<'_>,
    rows: usize,
    x: &CpuBuffer,
    norm: RowNorm<'_>,
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
    norm: RowNorm<'a>,
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
pub(crate) fn normalize<L: Lanes>(lanes: L, x: &mut [f32], norm: RowNorm<'_>) {
    if norm.kind == NormKind::Layer {
        subtract_mean(lanes, x);
    }
    scale_to_unit(lanes, x, norm);
    if let Some(bias) = norm.bias {
        for (x, bias) in x.chunks_mut(LANES).zip(bias.chunks(LANES)) {
            lanes.store_part(lanes.add(lanes.load_part(x), lanes.load_part(bias)), x);
        }
    }
}

#[inline(always)]
fn subtract_mean<L: Lanes>(lanes: L, x: &mut [f32]) {
    let mut sum = lanes.splat(0.0);
    for x in x.chunks(LANES) {
        sum = lanes.add(sum, lanes.load_part(x));
    }
    let mean = lanes.splat(lanes.sum(sum) / x.len() as f32);
    for x in x.chunks_mut(LANES) {
        lanes.store_part(lanes.sub(lanes.load_part(x), mean), x);
    }
}

/// Divides by the root of the mean of the squares, and multiplies by the weight.
#[inline(always)]
fn scale_to_unit<L: Lanes>(lanes: L, x: &mut [f32], norm: RowNorm<'_>) {
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
