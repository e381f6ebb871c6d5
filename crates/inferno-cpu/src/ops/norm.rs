//! Root mean square normalization.
//!
//! **Order of the sums.** Lane `i` takes the squares of values `i`, `i + 16`, ... by fused
//! multiply-add; then the lanes are added as the tree of [`Lanes::sum`]. Each value is multiplied
//! by `1 / sqrt(sum / n + eps)`, then by its weight.

use inferno_backend::HeadSpan;

use crate::backend::{CpuBackend, CpuBuffer};
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};

/// `out = x / sqrt(mean(x^2) + eps) * weight`, row by row.
pub(crate) fn rms_norm(
    backend: &CpuBackend,
    rows: usize,
    x: &CpuBuffer,
    weight: &[f32],
    eps: f32,
    out: &mut CpuBuffer,
) {
    assert_eq!(x.cols(), out.cols(), "normalization keeps the width");
    let cols = out.cols();
    let x = x.rows(rows);
    out.split_rows(backend.pool(), rows, |first, out| {
        out.copy_from_slice(&x[first * cols..][..out.len()]);
        backend.level().run(Normalize { x: out, stride: cols, columns: 0..cols, weight, eps });
    });
}

/// The same of each head of `span`, in place.
pub(crate) fn head_rms_norm(
    backend: &CpuBackend,
    rows: usize,
    span: &HeadSpan,
    weight: &[f32],
    eps: f32,
    x: &mut CpuBuffer,
) {
    let stride = x.cols();
    let columns = span.heads.start * span.head_dim..span.heads.end * span.head_dim;
    let weight = &weight[..span.head_dim];
    x.split_rows(backend.pool(), rows, |_, x| {
        backend.level().run(Normalize { x, stride, columns: columns.clone(), weight, eps });
    });
}

/// Normalizes runs of as many columns as `weight` has, within `columns` of each row.
struct Normalize<'a> {
    x: &'a mut [f32],
    stride: usize,
    columns: std::ops::Range<usize>,
    weight: &'a [f32],
    eps: f32,
}

impl Kernel for Normalize<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for row in self.x.chunks_exact_mut(self.stride) {
            for x in row[self.columns.clone()].chunks_exact_mut(self.weight.len()) {
                normalize(lanes, x, self.weight, self.eps);
            }
        }
    }
}

#[inline(always)]
fn normalize<L: Lanes>(lanes: L, x: &mut [f32], weight: &[f32], eps: f32) {
    let mut squares = lanes.splat(0.0);
    for x in x.chunks(LANES) {
        let x = lanes.load_part(x);
        squares = lanes.fma(x, x, squares);
    }
    let mean = lanes.sum(squares) / x.len() as f32;
    let factor = lanes.splat(1.0 / (mean + eps).sqrt());
    for (x, weight) in x.chunks_mut(LANES).zip(weight.chunks(LANES)) {
        let scaled = lanes.mul(lanes.load_part(x), factor);
        lanes.store_part(lanes.mul(scaled, lanes.load_part(weight)), x);
    }
}
