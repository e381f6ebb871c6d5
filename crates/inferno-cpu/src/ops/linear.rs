//! Products of whole buffers with packed weights, split over threads by panels.
//!
//! Each thread streams neighbouring panels: half of a weight where there are two. What is taken at
//! once shrinks towards the end (`threads.rs`), so that all finish together. (Tried: eight pieces a
//! thread, handed out by turns. While one token is decoded, the last piece then costs up to 20
//! microseconds a product, and what a thread asked for ahead of its piece went to the other's cache.)

use std::ops::Range;
use std::sync::Mutex;

use inferno_backend::{ExpertInput, LinearInput};

use crate::backend::{CpuBackend, CpuBuffer};
use crate::disjoint::Disjoint;
use crate::lanes::LANES;
use crate::ops::activations::{ActivationRows, Activations, interleave};
use crate::ops::experts::CpuRouting;
use crate::ops::input::{InputRows, NormedRows};
use crate::ops::product::{Epilogue, RowMap, Target};
use crate::ops::quantize::{quantize_groups, quantize_runs};
use crate::pack::{CpuWeight, Input, Part};

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
            Self::Same(len) => (0, RowMap::Same { first: 0, len }),
            Self::Routed(routing, input) => {
                let (expert, slots) = routing.active(index, input);
                (expert, RowMap::Slots(slots))
            }
        }
    }
}

/// The input of a product, as its weights take it. The memory is kept for the next one.
#[derive(Debug, Default)]
pub(crate) struct ProductInputs {
    floats: ActivationRows,
    groups: ActivationRows,
    runs: ActivationRows,
    normed: NormedRows,
}

impl ProductInputs {
    /// Brings rows of `x` into every form that `weight` takes.
    pub(crate) fn fill(
        &mut self,
        backend: &CpuBackend,
        rows: Rows<'_>,
        x: LinearInput<'_, CpuBuffer>,
        weight: &CpuWeight,
    ) {
        self.normed.resize_with(backend.pool().num_threads(), Mutex::default);
        let x = InputRows::new(x, rows.num_inputs(), &self.normed);
        assert_eq!(x.cols(), weight.cols, "the input is as wide as the weight");
        let takes = |input| weight.parts.iter().any(|part| part.format.input == input);
        if takes(Input::Floats) {
            interleave(backend, rows, x, &mut self.floats);
        }
        if takes(Input::Groups) {
            quantize_groups(backend, rows, x, &mut self.groups);
        }
        if takes(Input::Runs) {
            quantize_runs(backend, rows, x, &mut self.runs);
        }
    }

    /// The rows of one of the experts, by its number among those that have rows, as `part` takes them.
    pub(crate) fn of(&self, part: &Part, index: usize) -> Activations<'_> {
        match part.format.input {
            Input::Floats => &self.floats,
            Input::Groups => &self.groups,
            Input::Runs => &self.runs,
        }
        .of(index)
    }
}

/// Multiplies rows of `x` by the experts of `weight` that compute them.
pub(crate) fn linear(
    backend: &CpuBackend,
    rows: Rows<'_>,
    x: LinearInput<'_, CpuBuffer>,
    weight: &CpuWeight,
    epilogue: Epilogue<'_>,
    out: &mut CpuBuffer,
) {
    assert_eq!(out.cols(), weight.rows, "the output has a column a row of the weight");
    let mut workspace = backend.workspace();
    let inputs = &mut workspace.inputs;
    inputs.fill(backend, rows, x, weight);
    let inputs = &*inputs;
    let out_stride = out.cols();
    let out = Disjoint::new(out.values_mut());
    for_panels(backend, rows, weight.num_panels(), weight.cols, |index, panels, _thread| {
        let (expert, rows) = rows.expert(index);
        for part in &weight.parts {
            // The panels may lie in several parts.
            let begin = panels.start.max(part.first_panel);
            let end = panels.end.min(part.first_panel + part.num_panels());
            if begin >= end {
                continue;
            }
            let panels = begin - part.first_panel..end - part.first_panel;
            let cols = part.cols_of(&panels);
            let out_cols = part.first_row + cols.start..part.first_row + cols.end;
            // SAFETY: two tasks differ in the panels, and thereby in the columns, or in the expert, and
            // thereby in the rows: `CpuRouting::group` gives each slot to one expert. This target is
            // dropped before the next part's is made.
            let target = unsafe { Target::new(&out, out_stride, out_cols, rows, epilogue) };
            part.multiply(backend.level(), expert, panels, inputs.of(part, index), target);
        }
    });
}

/// Calls `compute(index, panels, thread)` in parallel for ranges that make up the panels of each expert
/// that has rows, by its number among them, of panels that take so many multiplications for each output.
/// Each panel is given out once.
pub(crate) fn for_panels(
    backend: &CpuBackend,
    rows: Rows<'_>,
    num_panels: usize,
    products_an_output: usize,
    compute: impl Fn(usize, Range<usize>, usize) + Sync,
) {
    let num_experts = rows.num_experts();
    let rows_an_expert = rows.num_inputs().div_ceil(num_experts.max(1)).max(1);
    let panels_an_item =
        (ITEM_PRODUCTS / (rows_an_expert * products_an_output * LANES).max(1)).max(1);
    let items_an_expert = num_panels.div_ceil(panels_an_item);
    backend.pool().run_ranges(num_experts * items_an_expert, &|mut items, thread| {
        // The items may belong to several experts.
        while !items.is_empty() {
            let index = items.start / items_an_expert;
            let begin = index * items_an_expert;
            let end = items.end.min(begin + items_an_expert);
            let [first, last] =
                [items.start, end].map(|item| num_panels.min((item - begin) * panels_an_item));
            compute(index, first..last, thread);
            items.start = end;
        }
    });
}
