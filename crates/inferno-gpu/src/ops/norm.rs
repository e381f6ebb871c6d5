//! Norms of rows.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{GatedNorm, Norm, NormKind};

use super::function::FunctionArguments;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::allocation::Binding;
use crate::memory::buffer::GpuBuffer;
use crate::ops::product::is_aligned;
use crate::pass::{GpuPass, fold};

kernel!(
    NORM,
    "norm",
    [snippets::FLAT_INDEX, snippets::PRODUCT_ROWS, snippets::WORKGROUP_SUM],
    [Read, Read, Read, ReadWrite]
);

kernel!(
    GATED_NORM,
    "gated_norm",
    [snippets::FLAT_INDEX, snippets::FUNCTION, snippets::WORKGROUP_SUM],
    [Read, Read, ReadWrite]
);

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    vec![variant(false), variant(true), Variant::with_lanes(&GATED_NORM)]
}

fn variant(is_aligned: bool) -> Variant {
    Variant::with_lanes(&NORM).with("IS_NORMED", 1).with("IS_ALIGNED", is_aligned.into())
}

/// See [`Pass::norm`](inferno_backend::Pass::norm).
pub(crate) fn norm(
    pass: &mut GpuPass<'_>,
    rows: usize,
    x: &GpuBuffer,
    norm: Norm<'_, GpuBuffer>,
    out: &mut GpuBuffer,
) {
    dispatch(pass, (rows, x.cols()), x.into(), norm, out.into());
}

/// Normalizes `rows` rows of `cols` columns of `x` to `out`.
pub(crate) fn dispatch(
    pass: &mut GpuPass<'_>,
    (rows, cols): (usize, usize),
    x: Binding<'_>,
    norm: Norm<'_, GpuBuffer>,
    out: Binding<'_>,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        rows: u32,
        cols: u32,
        is_layer_norm: u32,
        has_norm_bias: u32,
        eps: f32,
        inverse_cols: f32,
    }
    let Norm { kind, weight, bias, eps } = norm;
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        is_layer_norm: u32::from(kind == NormKind::Layer),
        has_norm_bias: u32::from(bias.is_some()),
        eps,
        inverse_cols: 1.0 / cols as f32,
    };
    assert_eq!(weight.cols(), cols, "a weight per column");
    let bindings = [x, weight.into(), pass.optional(bias), out];
    pass.dispatch(variant(is_aligned(cols)), bindings, &params, fold(rows));
}

/// See [`Pass::gated_norm`](inferno_backend::Pass::gated_norm).
pub(crate) fn gated_norm(
    pass: &mut GpuPass<'_>,
    rows: usize,
    norm: GatedNorm<'_, GpuBuffer>,
    x: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        parts: u32,
        parts_per_row: u32,
        extent: u32,
        gate_row_len: u32,
        gate_column: u32,
        /// 0 without a weight.
        weight_len: u32,
        is_gate_first: u32,
        eps: f32,
        function: FunctionArguments,
    }
    let GatedNorm { gates, gate_column, function, weight, extent, eps, is_gate_first } = norm;
    assert_eq!(x.cols() % extent, 0, "rows of whole parts");
    let parts_per_row = x.cols() / extent;
    let params = Params {
        parts: (rows * parts_per_row) as u32,
        parts_per_row: parts_per_row as u32,
        extent: extent as u32,
        gate_row_len: gates.cols() as u32,
        gate_column: gate_column as u32,
        weight_len: weight.map_or(0, |weight| weight.cols() as u32),
        is_gate_first: u32::from(is_gate_first),
        eps,
        function: function.into(),
    };
    let bindings = [gates.into(), pass.optional(weight), x.into()];
    pass.dispatch(Variant::with_lanes(&GATED_NORM), bindings, &params, fold(rows * parts_per_row));
}
