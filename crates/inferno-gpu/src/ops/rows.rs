//! Statistics of rows, and sums of their parts.

use bytemuck::{Pod, Zeroable};

use super::LANES;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::buffer::GpuBuffer;
use crate::pass::{GpuPass, fold};

kernel!(ADD_COMBINATIONS, "add_combinations", [snippets::FLAT_INDEX], [Read, Read, ReadWrite]);
kernel!(
    MATCH_MAGNITUDE,
    "match_magnitude",
    [snippets::FLAT_INDEX, snippets::WORKGROUP_SUM],
    [Read, ReadWrite]
);
kernel!(SPARSIFY, "sparsify", [snippets::FLAT_INDEX, snippets::WORKGROUP_SUM], [ReadWrite]);

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    [&ADD_COMBINATIONS, &MATCH_MAGNITUDE, &SPARSIFY].map(Variant::with_lanes).to_vec()
}

/// See [`Pass::add_combinations`](inferno_backend::Pass::add_combinations).
pub(crate) fn add_combinations(
    pass: &mut GpuPass<'_>,
    rows: usize,
    width: usize,
    factors: &GpuBuffer,
    x: &GpuBuffer,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        width: u32,
        in_blocks: u32,
        out_blocks: u32,
        factor_row_step: u32,
    }
    let values = rows * out.cols();
    let params = Params {
        values: values as u32,
        width: width as u32,
        in_blocks: (x.cols() / width) as u32,
        out_blocks: (out.cols() / width) as u32,
        factor_row_step: if factors.rows() == 1 { 0 } else { factors.cols() as u32 },
    };
    let workgroups = fold(values.div_ceil(LANES as usize));
    let bindings = [factors.into(), x.into(), out.into()];
    pass.dispatch(Variant::with_lanes(&ADD_COMBINATIONS), bindings, &params, workgroups);
}

/// See [`Pass::match_magnitude`](inferno_backend::Pass::match_magnitude).
pub(crate) fn match_magnitude(
    pass: &mut GpuPass<'_>,
    rows: usize,
    x: &GpuBuffer,
    minimum: f32,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        blocks: u32,
        blocks_per_row: u32,
        width: u32,
        minimum: f32,
    }
    let blocks_per_row = out.cols() / x.cols();
    let params = Params {
        blocks: (rows * blocks_per_row) as u32,
        blocks_per_row: blocks_per_row as u32,
        width: x.cols() as u32,
        minimum,
    };
    let workgroups = fold(rows * blocks_per_row);
    pass.dispatch(
        Variant::with_lanes(&MATCH_MAGNITUDE),
        [x.into(), out.into()],
        &params,
        workgroups,
    );
}

/// See [`Pass::sparsify`](inferno_backend::Pass::sparsify).
pub(crate) fn sparsify(
    pass: &mut GpuPass<'_>,
    rows: usize,
    num_deviations: f32,
    x: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        rows: u32,
        cols: u32,
        num_deviations: f32,
    }
    let params = Params { rows: rows as u32, cols: x.cols() as u32, num_deviations };
    pass.dispatch(Variant::with_lanes(&SPARSIFY), [x.into()], &params, fold(rows));
}
