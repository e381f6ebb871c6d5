//! Rotary position embedding.
//!
//! A pair `(a, b)` becomes `(fma(a, cos, -(b * sin)), fma(a, sin, b * cos))`.

use inferno_backend::{HeadSpan, RopePairing};

use crate::backend::{CpuBackend, CpuBuffer};
use crate::isa::Kernel;
use crate::lanes::Lanes;

/// Turns the heads of `span` by each row's angles: cosines, then sines.
pub(crate) fn rope(
    backend: &CpuBackend,
    rows: usize,
    span: &HeadSpan,
    pairing: RopePairing,
    angles: &CpuBuffer,
    x: &mut CpuBuffer,
) {
    let (stride, width) = (x.cols(), angles.cols());
    assert!(width <= span.head_dim, "rotary width {width} beyond a head of {}", span.head_dim);
    let angles = angles.rows(rows);
    x.split_rows(backend.pool(), rows, |first, x| {
        let angles = &angles[first * width..];
        backend.level().run(Rope { x, stride, span, pairing, angles, width });
    });
}

struct Rope<'a> {
    x: &'a mut [f32],
    stride: usize,
    span: &'a HeadSpan,
    pairing: RopePairing,
    angles: &'a [f32],
    width: usize,
}

impl Kernel for Rope<'_> {
    /// No operation of `_lanes` is needed: each value is computed by itself, and the compiler
    /// finds the vectors.
    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) {
        let Self { x, stride, span, pairing, angles, width } = self;
        if width == 0 {
            return;
        }
        let columns = span.heads.start * span.head_dim..span.heads.end * span.head_dim;
        for (row, angles) in x.chunks_exact_mut(stride).zip(angles.chunks_exact(width)) {
            let (cos, sin) = angles.split_at(width / 2);
            for head in row[columns.clone()].chunks_exact_mut(span.head_dim) {
                let head = &mut head[..width];
                match pairing {
                    RopePairing::Interleaved => {
                        for ((pair, &cos), &sin) in head.chunks_exact_mut(2).zip(cos).zip(sin) {
                            (pair[0], pair[1]) = turn(pair[0], pair[1], cos, sin);
                        }
                    }
                    RopePairing::Halves => {
                        let (low, high) = head.split_at_mut(width / 2);
                        let pairs = low.iter_mut().zip(high).zip(cos).zip(sin);
                        for (((a, b), &cos), &sin) in pairs {
                            (*a, *b) = turn(*a, *b, cos, sin);
                        }
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn turn(a: f32, b: f32, cos: f32, sin: f32) -> (f32, f32) {
    (a.mul_add(cos, -(b * sin)), a.mul_add(sin, b * cos))
}
