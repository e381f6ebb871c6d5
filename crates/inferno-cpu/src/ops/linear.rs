//! Products of whole buffers with packed weights, split over threads by panels.
//!
//! Each thread streams neighbouring panels: half of a weight if there are two threads. The ranges become smaller
//! towards the end (`threads.rs`), so that all threads finish together. (Tried: eight pieces per thread, handed
//! out in turns. When decoding one token, the last piece then cost up to 20 microseconds per product, and what a
//! thread prefetched beyond its piece went to the wrong core's cache.)
//!
//! Ranges for many rows are whole pairs of panels, which are computed together, except for the last ones of a weight or of a
//! part of it: with single panels at the end of each thread's share, prompts took 3 to 5% longer with AMX.

// Creates targets of a shared output.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::{BackendError, LinearInput};

use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::lanes::LANES;
use crate::ops::activations::MAX_NARROW;
use crate::ops::product::{self, Epilogue, OutputTarget, PANELS_TOGETHER, PRODUCT_LINES, Product};
use crate::ops::product_rows::ProductRows;
use crate::ops::workspace::ProductWorkspace;
use crate::pack::CpuWeight;

/// Multiplications that are worth handing to another thread: a few microseconds of work.
const ITEM_PRODUCTS: usize = 32 * 1024;

/// Panels are distributed in pairs if there are as many for each thread; with fewer, threads would be idle.
const MIN_PAIRS_PER_THREAD: usize = 4;

/// Multiplies rows of `x` by the experts of `weight` that they belong to. The bias of `epilogue` is that of all
/// experts, one after the other; its scales are those of the weight.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(crate) fn linear(
    executor: Executor<'_>,
    workspace: &mut ProductWorkspace,
    rows: ProductRows<'_>,
    x: LinearInput<'_, CpuBuffer>,
    weight: &CpuWeight,
    epilogue: Epilogue<'_>,
    out: &mut CpuBuffer,
) -> Result<(), BackendError> {
    assert_eq!(out.cols(), weight.rows, "the output has one column per row of the weight");
    workspace.prepare(executor, rows, x, weight, PRODUCT_LINES)?;
    let workspace = &*workspace;
    let epilogue = Epilogue { scales: weight.scales.as_deref(), ..epilogue };
    let stride = out.cols();
    let out = Disjoint::new(out.values_mut());
    for_panels(executor, rows, weight.num_panels(), weight.cols, |index, panels, thread| {
        let (expert, rows) = rows.expert(index);
        let epilogue = epilogue.of_expert(expert, weight.rows);
        let mut scratch = workspace.scratch().lock(thread);
        for part in &weight.parts {
            // The panels may belong to several parts.
            let begin = panels.start.max(part.first_panel);
            let end = panels.end.min(part.first_panel + part.num_panels());
            if begin >= end {
                continue;
            }
            let panels = begin - part.first_panel..end - part.first_panel;
            let cols = part.cols_of(&panels);
            let out_cols = part.first_row + cols.start..part.first_row + cols.end;
            // SAFETY: two tasks differ in the panels, and thereby in the columns, or in the expert, and
            // thereby in the rows: `CpuRouting::sort_slots` assigns each slot to one expert. This target is
            // dropped before the next part's is made.
            let target = unsafe { OutputTarget::new(&out, stride, out_cols, rows, epilogue) };
            let inputs = workspace.input(executor.level, part, index);
            let scratch = scratch.get_mut();
            product::multiply(
                executor.level,
                part,
                Product::new(part, expert, panels, inputs, target, scratch),
            );
        }
    });
    Ok(())
}

/// Calls `compute(index, panels, thread)` in parallel for ranges that make up the `num_panels` panels of each
/// expert that has rows. Each panel is passed once. `index` counts the experts that have rows;
/// `products_per_output` is the number of multiplications for each output.
pub(crate) fn for_panels(
    executor: Executor<'_>,
    rows: ProductRows<'_>,
    num_panels: usize,
    products_per_output: usize,
    compute: impl Fn(usize, Range<usize>, usize) + Sync,
) {
    let num_experts = rows.num_experts();
    let rows_per_expert = rows.num_inputs().div_ceil(num_experts.max(1)).max(1);
    let has_pairs = rows_per_expert > MAX_NARROW
        && num_experts * num_panels
            >= MIN_PAIRS_PER_THREAD * PANELS_TOGETHER * executor.pool.num_threads();
    let panels_per_item = (ITEM_PRODUCTS / (rows_per_expert * products_per_output * LANES).max(1))
        .max(1)
        .next_multiple_of(if has_pairs { PANELS_TOGETHER } else { 1 });
    let items_per_expert = num_panels.div_ceil(panels_per_item);
    executor.pool.run_ranges(num_experts * items_per_expert, &|mut items, thread| {
        // The items may belong to several experts.
        while !items.is_empty() {
            let index = items.start / items_per_expert;
            let begin = index * items_per_expert;
            let end = items.end.min(begin + items_per_expert);
            let [first, last] =
                [items.start, end].map(|item| num_panels.min((item - begin) * panels_per_item));
            compute(index, first..last, thread);
            items.start = end;
        }
    });
}
