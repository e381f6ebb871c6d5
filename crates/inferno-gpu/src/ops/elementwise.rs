//! Operations on single values.

use bytemuck::{Pod, Zeroable};
use inferno_backend::Function;

use super::LANES;
use super::function::FunctionArguments;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::buffer::GpuBuffer;
use crate::pass::{GpuPass, fold};

kernel!(APPLY, "apply", [snippets::FLAT_INDEX, snippets::FUNCTION], [ReadWrite]);
kernel!(ADD_SCALED, "add_scaled", [snippets::FLAT_INDEX], [Read, ReadWrite]);
kernel!(GATE, "gate", [snippets::FLAT_INDEX, snippets::FUNCTION], [Read, ReadWrite]);

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    [&APPLY, &ADD_SCALED, &GATE].map(Variant::with_lanes).to_vec()
}

/// Workgroups for one thread per value.
fn workgroups(values: usize) -> [u32; 3] {
    fold(values.div_ceil(LANES as usize))
}

/// See [`Pass::apply`](inferno_backend::Pass::apply).
pub(crate) fn apply(pass: &mut GpuPass<'_>, rows: usize, function: Function, x: &mut GpuBuffer) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        function: FunctionArguments,
    }
    for (tile, x_of_tile) in x.row_tiles(rows) {
        let values = tile.len() * x.cols();
        let params = Params { values: values as u32, function: function.into() };
        pass.dispatch(Variant::with_lanes(&APPLY), [x_of_tile], &params, workgroups(values));
    }
}

/// See [`Pass::add_scaled`](inferno_backend::Pass::add_scaled).
pub(crate) fn add_scaled(
    pass: &mut GpuPass<'_>,
    rows: usize,
    x: &GpuBuffer,
    factor: f32,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        factor: f32,
    }
    assert_eq!(x.cols(), out.cols(), "rows of the same width");
    let values = rows * out.cols();
    let params = Params { values: values as u32, factor };
    pass.dispatch(
        Variant::with_lanes(&ADD_SCALED),
        [x.into(), out.into()],
        &params,
        workgroups(values),
    );
}

/// See [`Pass::gate`](inferno_backend::Pass::gate).
pub(crate) fn gate(
    pass: &mut GpuPass<'_>,
    rows: usize,
    function: Function,
    gate: &GpuBuffer,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        cols: u32,
        gate_row_step: u32,
        gate_col_step: u32,
        function: FunctionArguments,
    }
    let is_single = gate.cols() == 1;
    assert!(is_single || gate.cols() == out.cols(), "a gate per column or per row");
    let values = rows * out.cols();
    let params = Params {
        values: values as u32,
        cols: out.cols() as u32,
        gate_row_step: if gate.rows() == 1 { 0 } else { gate.cols() as u32 },
        gate_col_step: u32::from(!is_single),
        function: function.into(),
    };
    pass.dispatch(
        Variant::with_lanes(&GATE),
        [gate.into(), out.into()],
        &params,
        workgroups(values),
    );
}
