//! Products of many rows with quantized weights, if unpacking them takes long or the machine has a matrix unit.
//!
//! A chunk of a panel (256 columns) is unpacked once for several hundred rows, whose sums are kept in memory. The
//! unpacked form is the same for all formats of a kind. Then each block of 16 rows is multiplied: in registers, some
//! rows at a time, or by the matrix unit, whose integer sums are stored first and scaled afterwards.
//!
//! With the matrix unit, unpacked weights must stay in the first-level cache: with 256 columns they do, with 1024 they
//! do not (a tenth slower). Prefetches must not come in bursts: those of following weights and of the output are spread
//! over blocks and chunks. Bursts of both took an eighth of the time. Pages of 4 KiB for activations and outputs cost
//! some percent. The remaining costs of a product of short codes with 512 rows by 1024 by 3072 columns: without the
//! work of the unit it takes 57% less time, without writing 32%, scaling 12%, unpacking 7%; with 128 rows by 1024 by
//! 6144 columns, without writing 17%, without unpacking 30%.
//!
//! (Tried without gain, with the matrix unit: 2 or 4 panels that share their activations; prefetching the next block's
//! activations while the last products are scaled; 16 or 32 products at a time; AVX-512 for formats with a scale for
//! each 16 columns; scaling one block while the unit multiplies the next, for the reason in `isa/amx.rs`, also with one
//! sum for 256 columns (4% slower); outputs whose rows are a cache line longer than a multiple of 4 KiB, so that they
//! do not share a set of the first-level cache (1%, within noise); passes of 512 tokens instead of 256, which unpack
//! half as often, but whose outputs do not stay in the caches. Passes of 256 instead of 128 are 2 to 5% faster.)
//!
//! AVX-512 computes 16 rows at a time; other levels have registers for 4. 8 rows have dependency chains of 4 cycles of
//! work for a latency of 5: with 16, products of 128 rows are a tenth faster with Q8_0, and a sixth with Q4_0. That
//! requires that the compiler keeps the order of rows and knows their number: otherwise it computes one row after the
//! other (a fifth slower), or keeps sums in memory (as slow).

use std::ops::Range;

use super::task::Product;
use crate::isa::Level;
use crate::lanes::{Kernel, LANES, Lanes, VECTOR_BYTES};
use crate::ops::activations::{
    ActivationGroup, ActivationRun, Activations, BLOCK_ROWS, TILE_BYTES,
};
use crate::pack::codes::{CHUNK_GROUPS, GROUP_COLS};
use crate::scratch::CacheLine;

/// The fewest and the most blocks that share one unpacking of a chunk, if there are as many.
const MIN_BLOCKS: usize = 8;
const MAX_BLOCKS: usize = 32;

/// Panels whose results are written together: rows of an output are far apart, so that each cache line of it must be
/// fetched, and two neighbours are fetched at once. (In C, four or eight are no faster, and with rows a multiple of 4
/// KiB apart, writing still takes an eighth of a product of 512 rows.)
const PANELS_TOGETHER: usize = 2;

/// The largest number of blocks that the matrix unit multiplies at a time.
const BLOCKS_TOGETHER: usize = 2;

/// Prefetch distance of packed weights: some chunks.
const PREFETCH_BYTES: usize = 16 * 1024;

/// The sums of one block with one panel, row by row.
pub(super) type BlockSums = [CacheLine; BLOCK_ROWS];

/// Cache lines of scratch memory that a task needs: the sums of [`PANELS_TOGETHER`] panels.
pub(crate) const PRODUCT_LINES: usize = PANELS_TOGETHER * MAX_BLOCKS * BLOCK_ROWS;

/// An unpacked chunk of weights, with the buffers of a product.
pub(super) trait Chunk: 'static {
    const EMPTY: Self;
    /// The largest number of blocks that share one unpacking.
    const MAX_BLOCKS: usize;
    /// Columns that the matrix unit is configured for.
    const TILE_COLS: usize;

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

    /// Adds the chunk's share to the sums of one or two blocks by the matrix unit, and prefetches `ahead`.
    #[allow(clippy::too_many_arguments)]
    fn add_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: &L::Unit,
        packed: &[u8],
        inputs: &ChunkInputs<'_>,
        first_row: usize,
        ahead: &PrefetchAhead<'_>,
        sums: &mut [BlockSums],
    );
}

/// The activations for the columns of a chunk, of all rows.
pub(super) struct ChunkInputs<'a> {
    activations: Activations<'a>,
    groups: Range<usize>,
}

impl<'a> ChunkInputs<'a> {
    /// Number of groups of the chunk.
    #[inline(always)]
    pub(super) fn num_groups(&self) -> usize {
        self.groups.len()
    }

    /// The groups of the block that begins at row `first`.
    #[inline(always)]
    pub(super) fn groups(&self, first: usize) -> &'a [ActivationGroup<BLOCK_ROWS>] {
        &self.activations.block(first, BLOCK_ROWS)[self.groups.clone()]
    }

    /// The run of the block that begins at row `first`.
    #[inline(always)]
    pub(super) fn run(&self, first: usize) -> &'a ActivationRun<BLOCK_ROWS> {
        &self.activations.block(first, BLOCK_ROWS)[self.groups.start / CHUNK_GROUPS]
    }
}

/// Cache lines of a weight to prefetch.
pub(super) struct PrefetchAhead<'a> {
    packed: &'a [u8],
    lines: Range<usize>,
}

impl PrefetchAhead<'_> {
    /// Divides the prefetches into `steps` steps; the result prefetches the lines of a step.
    #[inline(always)]
    pub(super) fn in_steps<L: Lanes>(&self, lanes: L, steps: usize) -> impl Fn(usize) {
        let lines_per_step = self.lines.len().div_ceil(steps);
        move |step| {
            let first = self.lines.start + step * lines_per_step;
            for line in first..self.lines.end.min(first + lines_per_step) {
                lanes.prefetch_far(self.packed, PREFETCH_BYTES + line * VECTOR_BYTES);
            }
        }
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
        let tiles = lanes.matrix_unit(C::TILE_COLS);
        let mut chunk = C::EMPTY;
        let block_bytes = (BLOCK_ROWS * self.product.inputs.row_bytes()).max(1);
        let max_blocks = (TILE_BYTES / block_bytes).clamp(MIN_BLOCKS, C::MAX_BLOCKS);
        const { assert!(C::MAX_BLOCKS <= MAX_BLOCKS, "scratch memory holds the sums of all blocks") };
        let max_blocks = max_blocks.min(all_rows.div_ceil(BLOCK_ROWS));
        let max_rows = max_blocks * BLOCK_ROWS;
        let scratch = std::mem::take(&mut self.product.scratch);
        let sums: &mut [BlockSums] = bytemuck::cast_slice_mut(&mut scratch[..PRODUCT_LINES]);
        let sums = &mut sums[..PANELS_TOGETHER * max_blocks];
        for first_row in (0..all_rows).step_by(max_rows) {
            let num_rows = max_rows.min(all_rows - first_row);
            let rows = first_row..first_row + num_rows;
            for (pair, panels) in panels.chunks(PANELS_TOGETHER * panel_bytes).enumerate() {
                let first_panel = pair * PANELS_TOGETHER;
                let panels = (first_panel..).zip(panels.chunks_exact(panel_bytes));
                for (panel, sums) in panels.clone().zip(sums.chunks_exact_mut(max_blocks)) {
                    let sums = &mut sums[..num_rows.div_ceil(BLOCK_ROWS)];
                    self.panel(lanes, tiles.as_ref(), panel, rows.clone(), &mut chunk, sums);
                }
                for row in 0..num_rows {
                    for ((panel, _), sums) in panels.clone().zip(sums.chunks_exact(max_blocks)) {
                        let CacheLine(sums) = &sums[row / BLOCK_ROWS][row % BLOCK_ROWS];
                        self.product.target.write(lanes, first_row + row, panel, lanes.load(sums));
                    }
                }
            }
        }
    }
}

impl<C: Chunk> ManyRows<'_, C> {
    /// The sums of some rows with a panel, block by block.
    #[inline(always)]
    fn panel<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: Option<&L::Unit>,
        (number, panel): (usize, &[u8]),
        rows: Range<usize>,
        chunk: &mut C,
        sums: &mut [BlockSums],
    ) {
        sums.fill([CacheLine([0.0; LANES]); BLOCK_ROWS]);
        let num_groups = self.product.cols.div_ceil(GROUP_COLS);
        let first_groups = (0..num_groups).step_by(CHUNK_GROUPS);
        for (first_group, packed) in first_groups.zip(panel.chunks(self.unpacking.chunk_bytes)) {
            let groups = first_group..num_groups.min(first_group + CHUNK_GROUPS);
            (self.unpacking.unpack)(self.level, packed, groups.len(), chunk);
            // The prefetches of this chunk: its share of each block's output, and of weights.
            let outputs =
                BLOCK_ROWS * groups.start / num_groups..BLOCK_ROWS * groups.end / num_groups;
            let inputs = ChunkInputs { activations: self.product.inputs, groups };
            let num_lines = packed.len() / VECTOR_BYTES;
            let lines_per_step = num_lines.div_ceil(sums.len().div_ceil(BLOCKS_TOGETHER));
            for (step, sums) in sums.chunks_mut(BLOCKS_TOGETHER).enumerate() {
                let first_line = num_lines.min(step * lines_per_step);
                let lines = first_line..num_lines.min(first_line + lines_per_step);
                let ahead = PrefetchAhead { packed, lines };
                let first = rows.start + step * BLOCKS_TOGETHER * BLOCK_ROWS;
                // The output of few rows is in the caches anyway.
                let blocks = if rows.len() > BLOCK_ROWS { sums.len() } else { 0 };
                for block in 0..blocks {
                    let first = first + block * BLOCK_ROWS;
                    for row in first + outputs.start..rows.end.min(first + outputs.end) {
                        self.product.target.prefetch(lanes, row, number);
                    }
                }
                if let Some(tiles) = tiles {
                    chunk.add_tiles(lanes, tiles, packed, &inputs, first, &ahead, sums);
                    continue;
                }
                ahead.in_steps(lanes, 1)(0);
                for (block, sums) in sums.iter_mut().enumerate() {
                    let first = first + block * BLOCK_ROWS;
                    let num_rows = BLOCK_ROWS.min(rows.end - first);
                    add_block(lanes, chunk, &inputs, first, num_rows, sums);
                }
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
