//! Copies of rows and of blocks of columns.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{ColumnBlocks, CopySize, EmbeddingIndex, StateSlot};

use super::LANES;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::allocation::{Allocation, Binding};
use crate::memory::batch::GpuBatch;
use crate::memory::buffer::GpuBuffer;
use crate::memory::table::GpuTable;
use crate::pass::{GpuPass, fold};

kernel!(COPY_COLUMNS, "copy_columns", [snippets::FLAT_INDEX], [Read, ReadWrite]);
kernel!(COPY_SLOT, "copy_slot", [snippets::FLAT_INDEX], [ReadWrite]);
kernel!(GATHER_ROWS, "gather_rows", [snippets::FLAT_INDEX], [Read, Read, ReadWrite]);

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    [&COPY_COLUMNS, &COPY_SLOT, &GATHER_ROWS].map(Variant::with_lanes).to_vec()
}

/// See [`Pass::copy_columns`](inferno_backend::Pass::copy_columns).
pub(crate) fn copy_columns(
    pass: &mut GpuPass<'_>,
    CopySize { rows, blocks, width }: CopySize,
    (x, from): (Binding<'_>, ColumnBlocks),
    (out, to): (&mut GpuBuffer, ColumnBlocks),
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        blocks: u32,
        width: u32,
        /// Of the source, then of the target: length of rows, first column, distance of blocks.
        places: [[u32; 3]; 2],
    }
    let values = rows * blocks * width;
    let place =
        |place: ColumnBlocks| [place.row_len, place.start, place.step].map(|values| values as u32);
    let params = Params {
        values: values as u32,
        blocks: blocks as u32,
        width: width as u32,
        places: [place(from), place(to)],
    };
    let workgroups = fold(values.div_ceil(LANES as usize));
    pass.dispatch(Variant::with_lanes(&COPY_COLUMNS), [x, out.into()], &params, workgroups);
}

/// See [`Pass::repeat_rows`](inferno_backend::Pass::repeat_rows).
pub(crate) fn repeat_rows(
    pass: &mut GpuPass<'_>,
    rows: usize,
    times: usize,
    x: &GpuBuffer,
    out: &mut GpuBuffer,
) {
    let width = x.cols();
    assert_eq!(out.cols(), width, "rows of the same width");
    let from = ColumnBlocks { row_len: width, start: 0, step: 0 };
    let to = ColumnBlocks { row_len: times * width, start: 0, step: width };
    copy_columns(pass, CopySize { rows, blocks: times, width }, (x.into(), from), (out, to));
}

/// Copies `values` values of a recurrent state from one slot of `memory` to another.
pub(crate) fn copy_slot(
    pass: &mut GpuPass<'_>,
    memory: &Allocation,
    values: usize,
    [from, to]: [StateSlot; 2],
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        first_from: u32,
        first_to: u32,
    }
    let first = |slot: StateSlot| slot.0 * values as u32;
    let params = Params { values: values as u32, first_from: first(from), first_to: first(to) };
    let workgroups = fold(values.div_ceil(LANES as usize));
    pass.dispatch(Variant::with_lanes(&COPY_SLOT), [memory.into()], &params, workgroups);
}

/// See [`Pass::gather_logit_rows`](inferno_backend::Pass::gather_logit_rows).
pub(crate) fn gather_logit_rows(
    pass: &mut GpuPass<'_>,
    batch: &GpuBatch,
    x: &GpuBuffer,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        cols: u32,
        rows_at: u32,
    }
    assert_eq!(out.cols(), x.cols(), "rows of the same width");
    let values = batch.batch.logit_rows().len() * x.cols();
    let params =
        Params { values: values as u32, cols: x.cols() as u32, rows_at: batch.arrays.logit_rows };
    let workgroups = fold(values.div_ceil(LANES as usize));
    let bindings = [batch.binding(pass), x.into(), out.into()];
    pass.dispatch(Variant::with_lanes(&GATHER_ROWS), bindings, &params, workgroups);
}

/// See [`Pass::embed`](inferno_backend::Pass::embed).
pub(crate) fn embed(
    pass: &mut GpuPass<'_>,
    batch: &GpuBatch,
    index: EmbeddingIndex,
    table: &GpuTable,
    out: &mut GpuBuffer,
) {
    let selected = batch.batch.table_rows(index);
    let width = out.cols();
    let values = match table.rows(selected, width) {
        Ok(values) => values,
        Err(error) => return pass.fail(error),
    };
    let bytes: &[u8] = bytemuck::cast_slice(&values);
    if !pass.uses(&out.memory) {
        // The rows may be there before the pass starts.
        return pass.backend.write(&out.memory, 0, bytes).unwrap_or_else(|error| pass.fail(error));
    }
    match pass.upload(bytes) {
        Ok(memory) => {
            let rows = ColumnBlocks { row_len: width, start: 0, step: 0 };
            let size = CopySize { rows: selected.len(), blocks: 1, width };
            copy_columns(pass, size, ((&*memory).into(), rows), (out, rows));
        }
        Err(error) => pass.fail(error),
    }
}
