//! Norms of query, key and value heads, and rotary position embedding of query and key heads.
//!
//! A pair `(a, b)` becomes `(fma(a, cos, 0 - b * sin), fma(a, sin, b * cos))`.
//!
//! Vectors are loaded one by one: with `array::map`, which is not inlined, rotating and storing heads took up to 40% longer.

use inferno_backend::{QkNorm, QkvLayout, Rope, RopePairing, Rotation};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes, vectors, vectors_mut};
use crate::ops::norm::{RowNorm, normalize};

/// Normalizes heads if there is a norm, and rotates query and key heads if there is a rotation.
pub(crate) fn rope(
    executor: Executor<'_>,
    rows: usize,
    layout: &QkvLayout,
    rope: Rope<'_, CpuBuffer>,
    qkv: &mut CpuBuffer,
) {
    assert_eq!(qkv.cols(), layout.row_len(), "a row holds queries, keys and values");
    let rope = HeadRope::new(rows, layout, rope);
    qkv.split_rows(executor.pool, rows, |first, qkv| {
        executor.level.run(RopeRows { qkv, first, layout, rope });
    });
}

/// The heads of a row, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowPart {
    Queries,
    Keys,
    Values,
}

/// The norms of heads and their rotation.
#[derive(Clone, Copy)]
pub(crate) struct HeadRope<'a> {
    head_dim: usize,
    norms: Option<HeadNorms<'a>>,
    rotation: Option<RowRotations<'a>>,
}

impl<'a> HeadRope<'a> {
    pub(crate) fn new(rows: usize, layout: &QkvLayout, rope: Rope<'a, CpuBuffer>) -> Self {
        let (norm, rotation) = rope;
        Self {
            head_dim: layout.head_dim,
            norms: norm.map(|norm| HeadNorms::new(layout, norm)),
            rotation: rotation.map(|rotation| RowRotations::new(layout, rows, rotation)),
        }
    }

    /// Normalizes and rotates heads of row `row`: those from head `first` on. If heads of the part are normalized together,
    /// these must be all of them.
    #[inline(always)]
    pub(crate) fn apply<L: Lanes>(
        &self,
        lanes: L,
        row: usize,
        part: RowPart,
        first: usize,
        heads: &mut [f32],
    ) {
        let (norms, is_rotated) = (&self.norms, part != RowPart::Values);
        if let Some(norms) = norms {
            if !(norms.after_rotation && is_rotated) {
                norms.normalize(lanes, part, first, heads);
            }
        }
        if !is_rotated {
            return;
        }
        if let Some(rotation) = &self.rotation {
            rotate_heads(lanes, rotation, row, self.head_dim, heads);
            if let (RowPart::Queries, Some(factors)) = (part, rotation.query_factors) {
                let factor = lanes.splat(factors[row]);
                for x in heads.chunks_mut(LANES) {
                    lanes.store_part(lanes.mul(lanes.load_part(x), factor), x);
                }
            }
        }
        if let Some(norms) = norms {
            if norms.after_rotation {
                norms.normalize(lanes, part, first, heads);
            }
        }
    }
}

/// The norms of query heads, key heads and value heads.
#[derive(Clone, Copy)]
struct HeadNorms<'a> {
    norms: [Option<RowNorm<'a>>; 3],
    /// Values of a row that are normalized together.
    extents: [usize; 3],
    after_rotation: bool,
}

impl<'a> HeadNorms<'a> {
    fn new(layout: &QkvLayout, norm: QkNorm<'a, CpuBuffer>) -> Self {
        let QkNorm { q, k, v, kind, eps, whole, after_rotation } = norm;
        let (lens, dim) = (layout.part_lens(), layout.head_dim);
        let extents = match whole {
            true => [lens[0], lens[1], layout.value_dim()],
            false => [dim, dim, layout.value_dim()],
        };
        let weights = [Some(q), k, v];
        for (weight, (len, extent)) in weights.into_iter().zip(lens.into_iter().zip(extents)) {
            let is_valid = weight.is_none_or(|weight| [len, extent].contains(&weight.cols()));
            assert!(is_valid, "a weight for one head or for all");
        }
        let row_norm =
            |weight: &'a CpuBuffer| RowNorm { kind, weight: weight.rows(1), bias: None, eps };
        let norms = weights.map(|weight| weight.map(row_norm));
        Self { norms, extents, after_rotation }
    }

    /// Normalizes heads of a row: those of `part` from head `first` on.
    #[inline(always)]
    fn normalize<L: Lanes>(&self, lanes: L, part: RowPart, first: usize, heads: &mut [f32]) {
        let (norm, extent) = (&self.norms[part as usize], self.extents[part as usize]);
        let Some(norm) = norm else { return };
        for (index, head) in heads.chunks_exact_mut(extent).enumerate() {
            // One head's weight for all of them, or a part for each.
            let at = (first + index) * extent % norm.weight.len();
            normalize(lanes, head, RowNorm { weight: &norm.weight[at..at + extent], ..*norm });
        }
    }
}

/// The rotations of all rows.
#[derive(Clone, Copy)]
struct RowRotations<'a> {
    pairing: RopePairing,
    /// Cosines, then sines, of each row; empty if heads are not rotated.
    angles: &'a [f32],
    width: usize,
    query_factors: Option<&'a [f32]>,
}

impl<'a> RowRotations<'a> {
    fn new(layout: &QkvLayout, rows: usize, rotation: Rotation<'a, CpuBuffer>) -> Self {
        let Rotation { pairing, angles, query_factors } = rotation;
        let (width, head_dim) = (angles.map_or(0, CpuBuffer::cols), layout.head_dim);
        assert!(width % 2 == 0, "as many cosines as sines");
        assert!(width <= head_dim, "rotary width {width} beyond a head of {head_dim}");
        let query_factors = query_factors.map(|factors| factors.rows(rows));
        Self {
            pairing,
            angles: angles.map_or(&[], |angles| angles.rows(rows)),
            width,
            query_factors,
        }
    }
}

/// Normalizes and rotates the heads of some rows.
struct RopeRows<'a> {
    qkv: &'a mut [f32],
    /// The row of the batch that `qkv` begins with.
    first: usize,
    layout: &'a QkvLayout,
    rope: HeadRope<'a>,
}

impl Kernel for RopeRows<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { qkv, first, layout, rope } = self;
        let [q_len, k_len, _] = layout.part_lens();
        for (row, values) in qkv.chunks_exact_mut(layout.row_len()).enumerate() {
            let (queries, others) = values.split_at_mut(q_len);
            let (keys, values) = others.split_at_mut(k_len);
            rope.apply(lanes, first + row, RowPart::Queries, 0, queries);
            rope.apply(lanes, first + row, RowPart::Keys, 0, keys);
            rope.apply(lanes, first + row, RowPart::Values, 0, values);
        }
    }
}

/// Rotates heads by the angles of row `row`.
#[inline(always)]
fn rotate_heads<L: Lanes>(
    lanes: L,
    rotation: &RowRotations<'_>,
    row: usize,
    head_dim: usize,
    heads: &mut [f32],
) {
    let width = rotation.width;
    let (cos, sin) = rotation.angles[row * width..][..width].split_at(width / 2);
    for head in heads.chunks_exact_mut(head_dim) {
        rotate_head(lanes, &mut head[..width], rotation.pairing, cos, sin);
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
                let (a, b) = (lanes.load(low), lanes.load(high));
                let (cos, sin) = (lanes.load(cos), lanes.load(sin));
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
