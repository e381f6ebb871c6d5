//! Products of many rows with quantized weights, if unpacking them takes long or the machine has a matrix unit.
//!
//! A chunk of a panel (256 columns) is unpacked once for several hundred rows, whose sums are kept in memory. The
//! unpacked form is the same for all formats of a kind. Then each block of 16 rows is multiplied: in registers, some
//! rows at a time, or by the matrix unit, whose integer sums are stored first and scaled afterwards.
//!
//! With the matrix unit, unpacked weights must stay in the first-level cache: with 256 columns they do, with 1024 they
//! do not (a tenth slower). What else is due is done between products of tiles or of blocks: scaling previous sums, writing
//! finished panels, and prefetches of following weights and of the output, which must not come in bursts: bursts of both took
//! an eighth of the time. Pages of 4 KiB for activations and outputs cost some percent. 256 rows by 1024 by 3072 columns take
//! 55 cycles per 16 by 16 by 32 (a product of as many columns 16 to 20) on a Xeon, with the conversion of the input; before
//! scaling and writing were spread, 70.
//!
//! (Tried without gain, with the matrix unit: 2 or 4 panels that share their activations; prefetching the next block's
//! activations while the last products are scaled; AVX-512 for formats with a scale for each 16 columns; outputs whose rows
//! are a cache line longer than a multiple of 4 KiB, so that they do not share a set of the first-level cache (1%, within
//! noise); passes of 512 tokens instead of 256, which unpack half as often, but whose outputs do not stay in the caches. Passes of 256 instead of 128 are 2 to 5% faster. With 16 rows:
//! prefetching weights while a chunk is unpacked (a tenth slower), and other distances from 4 to 64 KiB (the same).)
//!
//! AVX-512 computes 16 rows at a time; other levels have registers for 4. 8 rows have dependency chains of 4 cycles of
//! work for a latency of 5: with 16, products of 128 rows are a sixth faster with Q4_0. That requires that the compiler keeps the order of rows and knows their number: otherwise it computes one row after the
//! other (a fifth slower), or keeps sums in memory (as slow).

use std::ops::Range;

use super::target::OutputTarget;
use super::task::Product;
use crate::isa::Level;
use crate::lanes::{Kernel, LANES, Lanes, VECTOR_BYTES};
use crate::ops::activations::{ActivationRun, Activations, BLOCK_ROWS, TILE_BYTES};
use crate::pack::codes::{CHUNK_COLS, CHUNK_GROUPS, GROUP_COLS};
use crate::scratch::CacheLine;

/// The fewest and the most blocks that share one unpacking of a chunk, if there are as many. (Products of 512 rows by 1024
/// columns are a sixth faster than with at most 8.)
const MIN_BLOCKS: usize = 8;
const MAX_BLOCKS: usize = 32;

/// Panels whose results are written together: rows of an output are far apart, so that each cache line of it must be
/// fetched, and two neighbours are fetched at once. (In C, four or eight are no faster, and with rows a multiple of 4
/// KiB apart, writing still takes an eighth of a product of 512 rows.)
const PANELS_TOGETHER: usize = 2;

/// Prefetch distance of packed weights: some chunks.
const PREFETCH_BYTES: usize = 16 * 1024;

/// The sums of one block with one panel, row by row.
pub(super) type BlockSums = [CacheLine; BLOCK_ROWS];

/// Cache lines of scratch memory that a task needs: the sums of [`PANELS_TOGETHER`] panels, and those of the previous ones.
pub(crate) const PRODUCT_LINES: usize = 2 * PANELS_TOGETHER * MAX_BLOCKS * BLOCK_ROWS;

/// An unpacked chunk of weights, with the buffers of a product.
pub(super) trait Chunk: 'static {
    const EMPTY: Self;

    /// Adds the chunk's share to the sums of `T` rows, from row `first` on, of the block that begins at
    /// row `first_row`.
    fn add_rows<L: Lanes, const T: usize>(
        &self,
        lanes: L,
        inputs: &ChunkInputs<'_>,
        first_row: usize,
        first: usize,
        sums: [L::F32; T],
    ) -> [L::F32; T];

    /// Adds the chunk's share to the sums of the blocks from row `first_row` on by the matrix unit, one or two blocks at a
    /// time, prefetches `ahead`, and does what is due with `outputs`.
    #[allow(clippy::too_many_arguments)]
    fn add_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: &L::Unit,
        inputs: &ChunkInputs<'_>,
        first_row: usize,
        ahead: PrefetchAhead<'_>,
        outputs: &mut Outputs<'_, '_, '_>,
        sums: &mut [BlockSums],
    );
}

/// The activations for the columns of a chunk, of all rows.
pub(super) struct ChunkInputs<'a> {
    activations: Activations<'a>,
    groups: Range<usize>,
}

impl<'a> ChunkInputs<'a> {
    /// The run of the block that begins at row `first`.
    #[inline(always)]
    pub(super) fn run(&self, first: usize) -> &'a ActivationRun<BLOCK_ROWS> {
        &self.activations.block(first, BLOCK_ROWS)[self.groups.start / CHUNK_GROUPS]
    }
}

/// Weights to prefetch: those that follow a chunk.
#[derive(Clone, Copy)]
pub(super) struct PrefetchAhead<'a> {
    packed: &'a [u8],
}

impl PrefetchAhead<'_> {
    /// Prefetches the lines of step `step` of `steps`.
    #[inline(always)]
    pub(super) fn step<L: Lanes>(&self, lanes: L, step: usize, steps: usize) {
        let num_lines = self.packed.len() / VECTOR_BYTES;
        let lines_per_step = num_lines.div_ceil(steps);
        let first = step * lines_per_step;
        for line in first..num_lines.min(first + lines_per_step) {
            lanes.prefetch_far(self.packed, PREFETCH_BYTES + line * VECTOR_BYTES);
        }
    }
}

/// What is done with outputs while one chunk is multiplied: a part of the rows of its panel is prefetched, and some rows of
/// the previous panels are written.
pub(super) struct Outputs<'p, 'a, 's> {
    target: &'p mut OutputTarget<'a>,
    panel: usize,
    rows: Range<usize>,
    /// The rows of each block that are prefetched.
    prefetched: Range<usize>,
    finished: &'p mut FinishedPanels<'s>,
}

impl Outputs<'_, '_, '_> {
    /// Prefetches those of some blocks.
    #[inline(always)]
    pub(super) fn prefetch<L: Lanes>(&mut self, lanes: L, blocks: Range<usize>) {
        // The output of few rows is in the caches anyway.
        if self.rows.len() <= BLOCK_ROWS {
            return;
        }
        for block in blocks {
            let first = self.rows.start + block * BLOCK_ROWS;
            let rows = first + self.prefetched.start..first + self.prefetched.end;
            for row in rows.start..self.rows.end.min(rows.end) {
                self.target.prefetch(lanes, row, self.panel);
            }
        }
    }

    /// Writes some rows of the previous panels.
    #[inline(always)]
    pub(super) fn write<L: Lanes>(&mut self, lanes: L) {
        self.finished.write(lanes, self.target, self.finished.rows_per_step);
    }
}

/// The sums of panels whose rows are not all written yet. Rows of an output are far apart, so that each waits for a cache
/// line; they are written while the next panels are multiplied. (Written at once, they took a sixth of a product of 256 rows
/// by 1024 by 3072 columns with the matrix unit.)
struct FinishedPanels<'a> {
    sums: &'a [BlockSums],
    /// Blocks of each panel.
    max_blocks: usize,
    panels: Range<usize>,
    /// The rows that are left, and the first row of all.
    rows: Range<usize>,
    first_row: usize,
    rows_per_step: usize,
}

impl<'a> FinishedPanels<'a> {
    /// Panels whose `rows` are to be written in `num_steps` steps.
    #[inline(always)]
    fn new(
        sums: &'a [BlockSums],
        max_blocks: usize,
        panels: Range<usize>,
        rows: Range<usize>,
        num_steps: usize,
    ) -> Self {
        let rows_per_step = rows.len().div_ceil(num_steps.max(1));
        Self { sums, max_blocks, panels, first_row: rows.start, rows, rows_per_step }
    }

    /// Writes at most `count` rows.
    #[inline(always)]
    fn write<L: Lanes>(&mut self, lanes: L, target: &mut OutputTarget<'_>, count: usize) {
        let end = self.rows.start + count.min(self.rows.len());
        for row in self.rows.start..end {
            let place = row - self.first_row;
            for (panel, sums) in self.panels.clone().zip(self.sums.chunks_exact(self.max_blocks)) {
                let CacheLine(sums) = &sums[place / BLOCK_ROWS][place % BLOCK_ROWS];
                target.write(lanes, row, panel, lanes.load(sums));
            }
        }
        self.rows.start = end;
    }
}

/// How chunks of a format are unpacked.
pub(super) struct Unpacking<C> {
    pub(super) chunk_bytes: usize,
    /// Unpacks a chunk with the given number of groups.
    pub(super) unpack: fn(Level, &[u8], usize, &mut C),
}

/// Multiplies by weights that are unpacked as `C`.
pub(super) fn run<C: Chunk>(level: Level, product: Product<'_>, unpacking: Unpacking<C>) {
    level.run(ManyRows { level, product, unpacking });
}

struct ManyRows<'a, C> {
    level: Level,
    product: Product<'a>,
    unpacking: Unpacking<C>,
}

impl<C: Chunk> Kernel for ManyRows<'_, C> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let Product { panels, panel_bytes, .. } = self.product;
        let all_rows = self.product.target.rows().len();
        let tiles = lanes.matrix_unit();
        let mut chunk = C::EMPTY;
        let block_bytes = (BLOCK_ROWS * self.product.inputs.row_bytes()).max(1);
        let max_blocks = (TILE_BYTES / block_bytes).clamp(MIN_BLOCKS, MAX_BLOCKS);
        let max_blocks = max_blocks.min(all_rows.div_ceil(BLOCK_ROWS));
        let max_rows = max_blocks * BLOCK_ROWS;
        let scratch = std::mem::take(&mut self.product.scratch);
        let sums: &mut [BlockSums] = bytemuck::cast_slice_mut(&mut scratch[..PRODUCT_LINES]);
        let (mut current, mut previous) = sums.split_at_mut(PANELS_TOGETHER * max_blocks);
        // The panels and the rows of `previous`.
        let (mut finished_panels, mut finished_rows) = (0..0, 0..0);
        let num_chunks = self.product.cols.div_ceil(CHUNK_COLS);
        for first_row in (0..all_rows).step_by(max_rows) {
            let rows = first_row..all_rows.min(first_row + max_rows);
            let num_blocks = rows.len().div_ceil(BLOCK_ROWS);
            let num_steps = PANELS_TOGETHER * num_chunks * num_blocks.div_ceil(2);
            for (pair, panels) in panels.chunks(PANELS_TOGETHER * panel_bytes).enumerate() {
                let first_panel = pair * PANELS_TOGETHER;
                let mut finished = FinishedPanels::new(
                    previous,
                    max_blocks,
                    finished_panels,
                    finished_rows,
                    num_steps,
                );
                finished_panels = first_panel..first_panel + panels.len() / panel_bytes;
                let panels = finished_panels.clone().zip(panels.chunks_exact(panel_bytes));
                for (panel, sums) in panels.zip(current.chunks_exact_mut(max_blocks)) {
                    let sums = &mut sums[..num_blocks];
                    let rows = rows.clone();
                    self.panel(lanes, tiles.as_ref(), panel, rows, &mut chunk, &mut finished, sums);
                }
                finished.write(lanes, &mut self.product.target, usize::MAX);
                finished_rows = rows.clone();
                std::mem::swap(&mut current, &mut previous);
            }
        }
        let mut finished =
            FinishedPanels::new(previous, max_blocks, finished_panels, finished_rows, 1);
        finished.write(lanes, &mut self.product.target, usize::MAX);
    }
}

impl<C: Chunk> ManyRows<'_, C> {
    /// The sums of some rows with a panel, block by block.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn panel<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: Option<&L::Unit>,
        (number, panel): (usize, &[u8]),
        rows: Range<usize>,
        chunk: &mut C,
        finished: &mut FinishedPanels<'_>,
        sums: &mut [BlockSums],
    ) {
        sums.fill([CacheLine([0.0; LANES]); BLOCK_ROWS]);
        let num_groups = self.product.cols.div_ceil(GROUP_COLS);
        let first_groups = (0..num_groups).step_by(CHUNK_GROUPS);
        for (first_group, packed) in first_groups.zip(panel.chunks(self.unpacking.chunk_bytes)) {
            let groups = first_group..num_groups.min(first_group + CHUNK_GROUPS);
            (self.unpacking.unpack)(self.level, packed, groups.len(), chunk);
            let share = |group| BLOCK_ROWS * group / num_groups;
            let prefetched = share(groups.start)..share(groups.end);
            let inputs = ChunkInputs { activations: self.product.inputs, groups };
            let ahead = PrefetchAhead { packed };
            let target = &mut self.product.target;
            let mut outputs =
                Outputs { target, panel: number, rows: rows.clone(), prefetched, finished };
            if let Some(tiles) = tiles {
                chunk.add_tiles(lanes, tiles, &inputs, rows.start, ahead, &mut outputs, sums);
                continue;
            }
            outputs.prefetch(lanes, 0..sums.len());
            let num_blocks = sums.len();
            for (block, sums) in sums.iter_mut().enumerate() {
                ahead.step(lanes, block, num_blocks);
                if block % 2 == 0 {
                    outputs.write(lanes);
                }
                let first = rows.start + block * BLOCK_ROWS;
                let num_rows = BLOCK_ROWS.min(rows.end - first);
                add_block(lanes, chunk, &inputs, first, num_rows, sums);
            }
        }
    }
}

/// Adds a chunk's share to the sums of the first `num_rows` rows of the block that begins at row
/// `first_row`, without a matrix unit.
#[inline(always)]
fn add_block<L: Lanes, C: Chunk>(
    lanes: L,
    chunk: &C,
    inputs: &ChunkInputs<'_>,
    first_row: usize,
    num_rows: usize,
    sums: &mut BlockSums,
) {
    let mut first = 0;
    while first < num_rows {
        if L::REGISTERS >= 32 && num_rows - first > 8 {
            add_some_rows::<L, C, 16>(lanes, chunk, inputs, first_row, first, sums);
            first += 16;
        } else if L::REGISTERS >= 32 && num_rows - first > 4 {
            add_some_rows::<L, C, 8>(lanes, chunk, inputs, first_row, first, sums);
            first += 8;
        } else {
            add_some_rows::<L, C, 4>(lanes, chunk, inputs, first_row, first, sums);
            first += 4;
        }
    }
}

/// The same for `T` rows of the block from row `first` on.
#[inline(always)]
fn add_some_rows<L: Lanes, C: Chunk, const T: usize>(
    lanes: L,
    chunk: &C,
    inputs: &ChunkInputs<'_>,
    first_row: usize,
    first: usize,
    sums: &mut BlockSums,
) {
    let sums: &mut [_; T] = sums[first..].first_chunk_mut().expect("T divides a block");
    let mut rows = [lanes.splat(0.0); T];
    for (row, CacheLine(sums)) in rows.iter_mut().zip(&*sums) {
        *row = lanes.load(sums);
    }
    rows = chunk.add_rows(lanes, inputs, first_row, first, rows);
    for (row, CacheLine(sums)) in rows.into_iter().zip(sums) {
        lanes.store(row, sums);
    }
}
