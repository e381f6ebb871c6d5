//! Passes over the panels of a task: several hundred rows are multiplied by a pair of panels, then by the next pair. Their
//! sums are kept in memory, and written while the next pair is multiplied.

use std::array;
use std::ops::Range;

use super::side_work::{BlockSums, FinishedPanels, PANELS_TOGETHER};
use super::task::Product;
use crate::lanes::{LANES, Lanes};
use crate::ops::activations::{BLOCK_ROWS, TILE_BYTES};
use crate::pack::codes::CHUNK_COLS;
use crate::scratch::CacheLine;

/// The fewest and the most blocks that share one unpacking of a chunk, if there are as many. (Products of 512 rows by 1024
/// columns are a sixth faster than with at most 8.)
const MIN_BLOCKS: usize = 8;
const MAX_BLOCKS: usize = 32;

/// Cache lines for the sums of [`PANELS_TOGETHER`] panels, and those of the previous ones.
pub(super) const SUM_LINES: usize = 2 * PANELS_TOGETHER * MAX_BLOCKS * BLOCK_ROWS;

/// One or two neighbouring panels.
#[derive(Clone, Copy)]
pub(super) struct PanelPair<'a> {
    /// Counts the panels before them in pairs.
    pub(super) number: usize,
    pub(super) bytes: &'a [u8],
}

/// The products with one or two panels.
pub(super) trait PanelKernel<L: Lanes> {
    /// Computes the sums of some rows, which begin with the first one of a block, with `P` neighbouring panels. `sums` has the
    /// blocks of each panel, and is zero if there are no columns. Meanwhile, `finished` is to be written, in a step for each block
    /// and chunk.
    fn panels<const P: usize>(
        &mut self,
        lanes: L,
        product: &mut Product<'_>,
        panels: PanelPair<'_>,
        rows: &Range<usize>,
        finished: &mut FinishedPanels<'_>,
        sums: &mut [&mut [BlockSums]; P],
    );
}

/// Multiplies all rows of `product` by all of its panels. Its scratch memory has [`SUM_LINES`] lines.
#[inline(always)]
pub(super) fn run<L: Lanes>(lanes: L, mut product: Product<'_>, mut kernel: impl PanelKernel<L>) {
    let Product { panels, panel_bytes, .. } = product;
    let all_rows = product.target.rows().len();
    if all_rows == 0 {
        return;
    }
    let block_bytes = (BLOCK_ROWS * product.inputs.row_bytes()).max(1);
    let max_blocks = (TILE_BYTES / block_bytes).clamp(MIN_BLOCKS, MAX_BLOCKS);
    let max_blocks = max_blocks.min(all_rows.div_ceil(BLOCK_ROWS));
    let max_rows = max_blocks * BLOCK_ROWS;
    let scratch = std::mem::take(&mut product.scratch);
    let sums: &mut [BlockSums] = bytemuck::cast_slice_mut(&mut scratch[..SUM_LINES]);
    if product.cols == 0 {
        sums.as_flattened_mut().fill(CacheLine([0.0; LANES]));
    }
    let (mut current, mut previous) = sums.split_at_mut(PANELS_TOGETHER * max_blocks);
    // The panels and the rows of `previous`.
    let (mut finished_panels, mut finished_rows) = (0..0, 0..0);
    for first_row in (0..all_rows).step_by(max_rows) {
        let rows = first_row..all_rows.min(first_row + max_rows);
        let num_blocks = rows.len().div_ceil(BLOCK_ROWS);
        let num_steps = product.cols.div_ceil(CHUNK_COLS) * num_blocks;
        for (number, bytes) in panels.chunks(PANELS_TOGETHER * panel_bytes).enumerate() {
            let mut finished = FinishedPanels::new(
                previous,
                max_blocks,
                finished_panels,
                finished_rows,
                num_steps,
            );
            let num_panels = bytes.len() / panel_bytes;
            let pair = PanelPair { number, bytes };
            if num_panels == PANELS_TOGETHER {
                let mut sums: [_; PANELS_TOGETHER] = sums_of(current, max_blocks, num_blocks);
                kernel.panels(lanes, &mut product, pair, &rows, &mut finished, &mut sums);
            } else {
                const { assert!(PANELS_TOGETHER == 2, "one panel is left") };
                let mut sums: [_; 1] = sums_of(current, max_blocks, num_blocks);
                kernel.panels(lanes, &mut product, pair, &rows, &mut finished, &mut sums);
            }
            finished.write(lanes, &mut product.target, usize::MAX);
            let first_panel = number * PANELS_TOGETHER;
            finished_panels = first_panel..first_panel + num_panels;
            finished_rows = rows.clone();
            std::mem::swap(&mut current, &mut previous);
        }
    }
    let mut finished = FinishedPanels::new(previous, max_blocks, finished_panels, finished_rows, 1);
    finished.write(lanes, &mut product.target, usize::MAX);
}

/// The sums of `P` panels, `num_blocks` blocks of each. `sums` has room for `max_blocks`.
#[inline(always)]
fn sums_of<const P: usize>(
    sums: &mut [BlockSums],
    max_blocks: usize,
    num_blocks: usize,
) -> [&mut [BlockSums]; P] {
    let mut panels = sums.chunks_exact_mut(max_blocks);
    array::from_fn(|_| &mut panels.next().expect("memory for all panels")[..num_blocks])
}
