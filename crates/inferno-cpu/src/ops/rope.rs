//! Rotary position embedding, after the norm of heads if a model has one.
//!
//! A pair `(a, b)` becomes `(fma(a, cos, 0 - b * sin), fma(a, sin, b * cos))`.

use inferno_backend::{QkNorm, QkvLayout, RopePairing};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, Lanes, vectors, vectors_mut};
use crate::ops::norm::{RmsNorm, normalize};

/// Normalizes query and key heads if there is a norm, and rotates them by each row's angles: cosines, then sines.
pub(crate) fn rope(
    executor: Executor<'_>,
    rows: usize,
    layout: &QkvLayout,
    norm: Option<QkNorm<'_, CpuBuffer>>,
    pairing: RopePairing,
    angles: &CpuBuffer,
    qkv: &mut CpuBuffer,
) {
    assert_eq!(qkv.cols(), layout.row_len(), "a row holds queries, keys and values");
    let width = angles.cols();
    assert!(width % 2 == 0, "as many cosines as sines");
    assert!(width <= layout.head_dim, "rotary width {width} beyond a head of {}", layout.head_dim);
    let angles = angles.rows(rows);
    let norms = norm.map(|QkNorm { q, k, eps }| {
        [q, k].map(|weight| {
            assert_eq!(weight.cols(), layout.head_dim, "the norm's weight is as wide as a head");
            RmsNorm { weight: weight.rows(1), eps }
        })
    });
    qkv.split_rows(executor.pool, rows, |first, qkv| {
        let angles = &angles[first * width..];
        executor.level.run(Rope { qkv, layout, norms, pairing, angles, width });
    });
}

struct Rope<'a> {
    qkv: &'a mut [f32],
    layout: &'a QkvLayout,
    /// The norms of query heads and of key heads.
    norms: Option<[RmsNorm<'a>; 2]>,
    pairing: RopePairing,
    angles: &'a [f32],
    width: usize,
}

impl Kernel for Rope<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { qkv, layout, norms, pairing, angles, width } = self;
        let QkvLayout { num_heads, num_kv_heads, head_dim } = *layout;
        for (row, values) in qkv.chunks_exact_mut(layout.row_len()).enumerate() {
            let (cos, sin) = angles[row * width..][..width].split_at(width / 2);
            let heads = values.chunks_exact_mut(head_dim).take(num_heads + num_kv_heads);
            for (index, head) in heads.enumerate() {
                if let Some([q, k]) = norms {
                    normalize(lanes, head, if index < num_heads { q } else { k });
                }
                rotate_head(lanes, &mut head[..width], pairing, cos, sin);
            }
        }
    }
}

#[inline(always)]
fn rotate_head<L: Lanes>(
    lanes: L,
    head: &mut [f32],
    pairing: RopePairing,
    cos: &[f32],
    sin: &[f32],
) {
    match pairing {
        // The compiler vectorizes this loop.
        RopePairing::Interleaved => {
            for ((pair, &cos), &sin) in head.chunks_exact_mut(2).zip(cos).zip(sin) {
                (pair[0], pair[1]) = rotate([pair[0], pair[1]], cos, sin);
            }
        }
        RopePairing::Halves => {
            let (low, high) = head.split_at_mut(cos.len());
            let ((low, rest_of_low), (high, rest_of_high)) = (vectors_mut(low), vectors_mut(high));
            let ((coss, rest_of_cos), (sins, rest_of_sin)) = (vectors(cos), vectors(sin));
            for ((low, high), (cos, sin)) in low.iter_mut().zip(high).zip(coss.iter().zip(sins)) {
                let [a, b, cos, sin] = [&*low, &*high, cos, sin].map(|x| lanes.load(x));
                let rotated = lanes.sub(lanes.splat(0.0), lanes.mul(b, sin));
                lanes.store(lanes.fma(a, cos, rotated), low);
                lanes.store(lanes.fma(a, sin, lanes.mul(b, cos)), high);
            }
            let rest = rest_of_low.iter_mut().zip(rest_of_high);
            for ((low, high), (&cos, &sin)) in rest.zip(rest_of_cos.iter().zip(rest_of_sin)) {
                (*low, *high) = rotate([*low, *high], cos, sin);
            }
        }
    }
}

#[inline(always)]
fn rotate([a, b]: [f32; 2], cos: f32, sin: f32) -> (f32, f32) {
    (a.mul_add(cos, 0.0 - b * sin), a.mul_add(sin, b * cos))
}
