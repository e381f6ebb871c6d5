//! Norms of rows.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{Norm, NormKind};

use super::LANES;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::buffer::GpuBuffer;
use crate::pass::{GpuPass, fold};

kernel!(
    NORM,
    "norm",
    [snippets::FLAT_INDEX, snippets::WORKGROUP_SUM],
    [Read, Read, Read, ReadWrite]
);

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    vec![variant()]
}

fn variant() -> Variant {
    Variant::from(&NORM).with("LANES", LANES)
}

/// See [`Pass::norm`](inferno_backend::Pass::norm).
pub(crate) fn norm(
    pass: &mut GpuPass<'_>,
    rows: usize,
    x: &GpuBuffer,
    norm: Norm<'_, GpuBuffer>,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        rows: u32,
        cols: u32,
        is_layer: u32,
        has_bias: u32,
        eps: f32,
    }
    let Norm { kind, weight, bias, eps } = norm;
    let params = Params {
        rows: rows as u32,
        cols: x.cols() as u32,
        is_layer: u32::from(kind == NormKind::Layer),
        has_bias: u32::from(bias.is_some()),
        eps,
    };
    assert_eq!(weight.cols(), x.cols(), "a weight per column");
    let bindings = [x.into(), weight.into(), pass.optional(bias), out.into()];
    pass.dispatch(variant(), bindings, &params, fold(rows));
}
