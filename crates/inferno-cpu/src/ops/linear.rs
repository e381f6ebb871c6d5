//! Products of whole buffers with packed weights, split over threads by panels.
//!
//! Each thread streams neighbouring panels: half of a weight where there are two. What is taken at
//! once shrinks towards the end (`threads.rs`), so that all finish together. (Tried: eight pieces a
//! thread, handed out by turns. While one token is decoded, the last piece then costs up to 20
//! microseconds a product, and what a thread asked for ahead of its piece went to the other's cache.)

use inferno_backend::ExpertInput;

use crate::backend::{CpuBackend, CpuBuffer, Workspace};
use crate::disjoint::Disjoint;
use crate::lanes::LANES;
use crate::ops::activations::interleave;
use crate::ops::experts::CpuRouting;
use crate::ops::product::{Epilogue, Product, RowMap, Target};
use crate::ops::quantize::{quantize_groups, quantize_runs};
use crate::pack::{CpuWeight, Input};

/// Multiplications that are worth handing to another thread: a few microseconds of work.
const ITEM_PRODUCTS: usize = 32 * 1024;

/// Who computes which rows.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// The only expert computes rows `0..n` from rows `0..n`.
    Same(usize),
    /// The experts of a routing compute their slots.
    Routed(&'a CpuRouting, ExpertInput),
}

impl<'a> Rows<'a> {
    /// Rows of the input.
    fn num_inputs(self) -> usize {
        match self {
            Self::Same(rows) => rows,
            Self::Routed(routing, input) => routing.num_inputs(input),
        }
    }

    /// Experts that have rows.
    pub(crate) fn num_experts(self) -> usize {
        match self {
            Self::Same(_) => 1,
            Self::Routed(routing, _) => routing.num_active(),
        }
    }

    /// One of the experts that have rows, by its number among them, and the rows. No two of them
    /// share a row of the output.
    pub(crate) fn expert(self, index: usize) -> (usize, RowMap<'a>) {
        match self {
            Self::Same(rows) => (0, RowMap::Same(rows)),
            Self::Routed(routing, input) => {
                let (expert, slots) = routing.active(index, input);
                (expert, RowMap::Slots(slots))
            }
        }
    }
}

/// Multiplies rows of `x` by the experts of `weight` that compute them.
pub(crate) fn linear(
    backend: &CpuBackend,
    rows: Rows<'_>,
    x: &CpuBuffer,
    weight: &CpuWeight,
    epilogue: Epilogue<'_>,
    out: &mut CpuBuffer,
) {
    let cols = weight.cols;
    assert_eq!(x.cols(), cols, "the input is as wide as the weight");
    assert_eq!(out.cols(), weight.rows, "the output has a column a row of the weight");
    let (x_rows, num_experts) = (rows.num_inputs(), rows.num_experts());
    let x = x.rows(x_rows);

    let mut workspace = backend.workspace();
    let Workspace { floats, groups, runs, .. } = &mut *workspace;
    let takes = |input| weight.parts.iter().any(|part| part.format.input == input);
    if takes(Input::Floats) {
        interleave(backend.pool(), rows, x, cols, floats);
    }
    if takes(Input::Groups) {
        quantize_groups(backend, rows, x, cols, groups);
    }
    if takes(Input::Runs) {
        quantize_runs(backend, rows, x, cols, runs);
    }

    let num_panels = weight.num_panels();
    let rows_an_expert = x_rows.div_ceil(num_experts.max(1)).max(1);
    let panels_an_item = (ITEM_PRODUCTS / (rows_an_expert * cols * LANES).max(1)).max(1);
    let items_an_expert = num_panels.div_ceil(panels_an_item);
    let out_stride = out.cols();
    let out = Disjoint::new(out.values_mut());
    let compute = |index: usize, first: usize, last: usize| {
        let (expert, rows) = rows.expert(index);
        for part in &weight.parts {
            // The panels may lie in several parts.
            let begin = first.max(part.first_panel);
            let end = last.min(part.first_panel + part.num_panels());
            if begin >= end {
                continue;
            }
            let panels = begin - part.first_panel..end - part.first_panel;
            let rows_end = part.rows.min(panels.end * LANES);
            let out_cols = part.first_row + panels.start * LANES..part.first_row + rows_end;
            // SAFETY: the pool gives out each item once. Two items differ in the panels, and thereby
            // in the columns, or in the expert, and thereby in the rows: `CpuRouting::group` gives
            // each slot to one expert. This target is dropped before the next part's is made.
            let target = unsafe { Target::new(&out, out_stride, out_cols, rows, epilogue) };
            let inputs = match part.format.input {
                Input::Floats => &*floats,
                Input::Groups => &*groups,
                Input::Runs => &*runs,
            };
            let product = Product {
                panels: part.panels(expert, panels),
                panel_bytes: part.panel_bytes,
                cols,
                inputs: inputs.of(index),
                target,
            };
            (part.format.product)(backend.level(), product);
        }
    };
    backend.pool().run_ranges(num_experts * items_an_expert, &|mut items, _thread| {
        // The items may belong to several experts.
        while !items.is_empty() {
            let index = items.start / items_an_expert;
            let begin = index * items_an_expert;
            let end = items.end.min(begin + items_an_expert);
            let panels =
                [items.start, end].map(|item| num_panels.min((item - begin) * panels_an_item));
            compute(index, panels[0], panels[1]);
            items.start = end;
        }
    });
}
