//! Products of whole buffers with packed weights, split over threads by panels.

use crate::backend::{CpuBackend, CpuBuffer};
use crate::disjoint::Disjoint;
use crate::lanes::LANES;
use crate::ops::product::{Epilogue, Product, RowMap};
use crate::ops::quantize::{ActivationBlock, quantize};
use crate::pack::CpuWeight;
use crate::pack::codes::GROUP_COLS;

/// Tasks a thread: enough that one that is held up does not hold up all.
const TASKS_A_THREAD: usize = 8;

/// Multiplications that are worth handing to another thread: a few microseconds of work.
const TASK_PRODUCTS: usize = 64 * 1024;

/// The rows that one expert computes.
pub(crate) struct ExpertRows<'a> {
    pub(crate) expert: usize,
    pub(crate) rows: RowMap<'a>,
}

/// Multiplies the first `x_rows` rows of `x` by some experts of `weight`: `count` of them, which
/// `expert` tells by their number below it and which share no output row.
pub(crate) fn linear<'a>(
    backend: &CpuBackend,
    x_rows: usize,
    x: &CpuBuffer,
    weight: &CpuWeight,
    (count, expert): (usize, &(dyn Fn(usize) -> ExpertRows<'a> + Sync)),
    epilogue: Epilogue<'_>,
    out: &mut CpuBuffer,
) {
    let cols = weight.cols;
    assert_eq!(x.cols(), cols, "the input is as wide as the weight");
    assert_eq!(
        out.cols(),
        weight.rows,
        "the output has a column a row of the weight"
    );
    let x = x.rows(x_rows);

    let mut workspace = backend.workspace();
    let quantized = &mut workspace.activations;
    if weight.takes_quantized() {
        quantized.resize(x_rows * cols.div_ceil(GROUP_COLS), ActivationBlock::ZERO);
        quantize(backend, x, cols, quantized);
    }

    let num_panels = weight.num_panels();
    let tasks = (TASKS_A_THREAD * backend.pool().num_threads()).div_ceil(count.max(1));
    let rows_an_expert = x_rows.div_ceil(count.max(1)).max(1);
    let least = TASK_PRODUCTS / (rows_an_expert * cols * LANES).max(1);
    let panels_a_task = num_panels.div_ceil(tasks).max(least).max(1);
    let tasks_an_expert = num_panels.div_ceil(panels_a_task);
    let out_stride = out.cols();
    let out = Disjoint::new(out.values_mut());
    backend.pool().run(count * tasks_an_expert, &|task, _| {
        let ExpertRows { expert, rows } = expert(task / tasks_an_expert);
        let first = task % tasks_an_expert * panels_a_task;
        let last = num_panels.min(first + panels_a_task);
        for part in &weight.parts {
            // The task's panels may lie in several parts.
            let begin = first.max(part.first_panel);
            let end = last.min(part.first_panel + part.num_panels());
            if begin >= end {
                continue;
            }
            let panels = begin - part.first_panel..end - part.first_panel;
            let rows_end = part.rows.min(panels.end * LANES);
            let product = Product {
                out_cols: part.first_row + panels.start * LANES..part.first_row + rows_end,
                panels: part.panels(expert, panels),
                panel_bytes: part.panel_bytes,
                cols,
                rows,
                x,
                quantized,
                out: &out,
                out_stride,
                epilogue,
            };
            (part.format.product)(backend.level(), product);
        }
    });
}
