//! Conversion of rows to f16, for products of many rows by cooperative matrices.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use inferno_backend::{BackendError, Norm, NormKind};

use super::is_aligned;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::allocation::{Allocation, Binding};
use crate::memory::buffer::GpuBuffer;
use crate::ops::LANES;
use crate::pack::{UNIT_COLS, num_units};
use crate::pass::{GpuPass, fold};

kernel!(
    HALF_ROWS,
    "half_rows",
    [snippets::FLAT_INDEX, snippets::PRODUCT_ROWS, snippets::WORKGROUP_SUM, snippets::HALF_SCALE],
    [Read, Read, Read, ReadWrite, ReadWrite],
    ["f16"]
);

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    flags.map(|(is_normed, is_aligned)| variant(is_normed, is_aligned)).to_vec()
}

fn variant(is_normed: bool, is_aligned: bool) -> Variant {
    Variant::from(&HALF_ROWS)
        .with("LANES", LANES)
        .with("IS_NORMED", is_normed.into())
        .with("IS_ALIGNED", is_aligned.into())
}

/// Bytes of `rows` rows of `cols` columns as halves, and of the factors of their sums.
pub(crate) fn bytes(rows: usize, cols: usize) -> [usize; 2] {
    let row = num_units(cols) * UNIT_COLS * size_of::<half::f16>();
    [rows.saturating_mul(row), rows.saturating_mul(size_of::<f32>())]
}

/// Records the conversion of `rows` rows of `x`, after `norm`. Returns the halves and the factors of their sums.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(super) fn convert(
    pass: &mut GpuPass<'_>,
    rows: usize,
    cols: usize,
    x: Binding<'_>,
    norm: Option<Norm<'_, GpuBuffer>>,
) -> Result<[Arc<Allocation>; 2], BackendError> {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        rows: u32,
        cols: u32,
        units: u32,
        is_layer_norm: u32,
        has_norm_bias: u32,
        eps: f32,
        inverse_cols: f32,
    }
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        units: num_units(cols) as u32,
        is_layer_norm: norm.is_some_and(|norm| norm.kind == NormKind::Layer).into(),
        has_norm_bias: norm.is_some_and(|norm| norm.bias.is_some()).into(),
        eps: norm.map_or(0.0, |norm| norm.eps),
        inverse_cols: 1.0 / cols as f32,
    };
    let [half_bytes, factor_bytes] = bytes(rows, cols);
    let halves = pass.scratch("rows as halves", 0, half_bytes)?;
    let factors = pass.scratch("factors of halves", 0, factor_bytes)?;
    let bindings = [
        x,
        pass.optional(norm.map(|norm| norm.weight)),
        pass.optional(norm.and_then(|norm| norm.bias)),
        (&*halves).into(),
        (&*factors).into(),
    ];
    let variant = variant(norm.is_some(), is_aligned(cols));
    pass.dispatch(variant, bindings, &params, fold(rows));
    Ok([halves, factors])
}
