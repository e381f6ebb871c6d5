//! Norms and rotary embedding of heads.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{NormKind, QkNorm, QkvLayout, RopePairing, Rotation};

use super::LANES;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::buffer::GpuBuffer;
use crate::pass::{GpuPass, fold};

kernel!(
    ROPE,
    "rope",
    [snippets::FLAT_INDEX, snippets::WORKGROUP_SUM],
    [Read, Read, Read, Read, Read, ReadWrite]
);

/// Threads of a workgroup that processes one head.
const HEAD_LANES: u32 = 64;

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    [true, false].map(variant).to_vec()
}

fn variant(is_whole: bool) -> Variant {
    Variant::from(&ROPE).with("LANES", if is_whole { LANES } else { HEAD_LANES })
}

/// The parameters of a dispatch. A part is the query heads, the key heads or the value heads of a row; a unit of a part is
/// what one workgroup processes: one head, or all of them.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Params {
    rows: u32,
    row_len: u32,
    /// Of each part: number of units.
    units: [u32; 3],
    /// Of each part: heads per unit.
    heads: [u32; 3],
    /// Of each part: values per head.
    head_len: [u32; 3],
    /// Of each part: number of values of the norm's weight; 0 without a norm.
    weight_len: [u32; 3],
    /// Of each part: number of pairs that are rotated in each head.
    pairs: [u32; 3],
    is_interleaved: u32,
    has_factors: u32,
    is_layer: u32,
    after_rotation: u32,
    eps: f32,
}

/// See [`Pass::rope`](inferno_backend::Pass::rope).
pub(crate) fn rope(
    pass: &mut GpuPass<'_>,
    rows: usize,
    layout: &QkvLayout,
    norm: Option<QkNorm<'_, GpuBuffer>>,
    rotation: Option<Rotation<'_, GpuBuffer>>,
    qkv: &mut GpuBuffer,
) {
    let norm = norm.as_ref();
    let is_whole = norm.is_some_and(|norm| norm.whole);
    let angles = rotation.as_ref().and_then(|rotation| rotation.angles);
    let factors = rotation.as_ref().and_then(|rotation| rotation.query_factors);
    let weights =
        [norm.map(|norm| norm.q), norm.and_then(|norm| norm.k), norm.and_then(|norm| norm.v)];
    let params = Params {
        rows: rows as u32,
        row_len: layout.row_len() as u32,
        weight_len: weights.map(|weight| weight.map_or(0, |weight| weight.cols() as u32)),
        is_interleaved: u32::from(
            rotation.as_ref().is_some_and(|it| it.pairing == RopePairing::Interleaved),
        ),
        has_factors: u32::from(factors.is_some()),
        is_layer: u32::from(norm.is_some_and(|norm| norm.kind == NormKind::Layer)),
        after_rotation: u32::from(norm.is_some_and(|norm| norm.after_rotation)),
        eps: norm.map_or(0.0, |norm| norm.eps),
        ..parts(layout, is_whole, angles.map_or(0, |angles| angles.cols() / 2))
    };
    let [q, k, v] = weights.map(|weight| pass.optional(weight));
    let bindings = [q, k, v, pass.optional(angles), pass.optional(factors), qkv.into()];
    let units = params.units.iter().sum::<u32>() as usize;
    pass.dispatch(variant(is_whole), bindings, &params, fold(rows * units));
}

/// The heads of each part. Value heads are always normalized one by one.
fn parts(layout: &QkvLayout, is_whole: bool, pairs: usize) -> Params {
    let [q_len, k_len, v_len] = layout.part_lens();
    let units = |len: usize, head_len: usize, is_whole| {
        let heads = (len / head_len.max(1)) as u32;
        if is_whole { [u32::from(heads > 0), heads] } else { [heads, 1] }
    };
    let [q, k, v] = [
        units(q_len, layout.head_dim, is_whole),
        units(k_len, layout.head_dim, is_whole),
        units(v_len, layout.value_dim(), false),
    ];
    let (head_dim, value_dim) = (layout.head_dim as u32, layout.value_dim() as u32);
    Params {
        units: [q[0], k[0], v[0]],
        heads: [q[1], k[1], v[1]],
        head_len: [head_dim, head_dim, value_dim],
        pairs: [pairs as u32, pairs as u32, 0],
        ..Params::default()
    }
}
