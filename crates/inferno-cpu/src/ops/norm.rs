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
    let scaling = RowScaling::of(lanes, x, norm);
    scaling.apply(lanes, x, norm.weight, norm.bias);
}

/// What the values of a row are normalized by: the mean is subtracted, and the rest multiplied by the factor.
pub(crate) struct RowScaling {
    /// `None` if nothing is subtracted.
    mean: Option<f32>,
    factor: f32,
}

impl RowScaling {
    /// The scaling of row `x`.
    #[inline(always)]
    pub(crate) fn of<L: Lanes>(lanes: L, x: &[f32], norm: RowNorm<'_>) -> Self {
        let mean = (norm.kind == NormKind::Layer).then(|| mean(lanes, x));
        let square = match mean {
            Some(mean) => mean_square(lanes, x, |x| lanes.sub(x, lanes.splat(mean))),
            None => mean_square(lanes, x, |x| x),
        };
        Self { mean, factor: 1.0 / (square + norm.eps).sqrt() }
    }

    /// Normalizes values of the row, whose weights and biases are given.
    #[inline(always)]
    pub(crate) fn apply<L: Lanes>(
        &self,
        lanes: L,
        x: &mut [f32],
        weight: &[f32],
        bias: Option<&[f32]>,
    ) {
        if let Some(mean) = self.mean {
            for x in x.chunks_mut(LANES) {
                lanes.store_part(lanes.sub(lanes.load_part(x), lanes.splat(mean)), x);
            }
        }
        let factor = lanes.splat(self.factor);
        let (vectors_of_x, rest) = vectors_mut(x);
        let (weights, rest_of_weights) = vectors(weight);
        for (x, weight) in vectors_of_x.iter_mut().zip(weights) {
            lanes.store(lanes.mul(lanes.mul(lanes.load(x), factor), lanes.load(weight)), x);
        }
        let scaled = lanes.mul(lanes.load_part(rest), factor);
        lanes.store_part(lanes.mul(scaled, lanes.load_part(rest_of_weights)), rest);
        if let Some(bias) = bias {
            for (x, bias) in x.chunks_mut(LANES).zip(bias.chunks(LANES)) {
                lanes.store_part(lanes.add(lanes.load_part(x), lanes.load_part(bias)), x);
            }
        }
    }
}

/// The mean of the values of a row.
#[inline(always)]
pub(crate) fn mean<L: Lanes>(lanes: L, x: &[f32]) -> f32 {
    let mut sum = lanes.splat(0.0);
    for x in x.chunks(LANES) {
        sum = lanes.add(sum, lanes.load_part(x));
    }
    lanes.sum(sum) / x.len() as f32
}

/// The mean of the squares of `of(x)` for the values of a row.
#[inline(always)]
pub(crate) fn mean_square<L: Lanes>(lanes: L, x: &[f32], of: impl Fn(L::F32) -> L::F32) -> f32 {
    let (vectors_of_x, rest) = vectors(x);
    let mut squares = lanes.splat(0.0);
    for x in vectors_of_x {
        let x = of(lanes.load(x));
        squares = lanes.fma(x, x, squares);
    }
    if !rest.is_empty() {
        // Lanes without a value stay zero.
        let mut last = [0.0; LANES];
        lanes.store_part(of(lanes.load_part(rest)), &mut last[..rest.len()]);
        let last = lanes.load(&last);
        squares = lanes.fma(last, last, squares);
    }
    lanes.sum(squares) / x.len() as f32
}
