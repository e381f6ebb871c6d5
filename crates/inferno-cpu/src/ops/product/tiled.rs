//! Products of many rows with quantized weights.
//!
//! A chunk of a panel, 256 columns, is unpacked once for some hundred rows, whose sums wait in memory
//! meanwhile. Unpacked, all formats of a kind look alike. Then each block of 16 rows is
//! multiplied: in registers, some rows at a time, or by the matrix unit, whose integer sums are stored
//! first and scaled afterwards.
//!
//! With the matrix unit weights must stay in the first-level cache: of 256 columns they do beside what
//! passes through, of 1024 they do not (a tenth slower). And nothing may be asked for in bursts: the
//! lines of weights that follow, and of the output, are spread over blocks and chunks. Both bursts
//! together took an eighth of the time. Pages of 4 KiB for activations and outputs cost some percent.
//! What is left: of a product of short codes, 512 rows by 1024 by 3072 columns, leaving out the unit's work
//! saves 57% of the time, leaving out writing 32%, scaling 12%, unpacking 7%; with 128 rows by 1024 by
//! 6144 columns writing 17%, and unpacking 30%.
//!
//! (Tried without gain, with the matrix unit: 2 or 4 panels that share their activations; asking for
//! the next block's activations while the last products are scaled; 16 or 32 products at a time; leaving
//! formats with a scale for each 16 columns to AVX-512; scaling one block while the unit multiplies the
//! next, as `isa/amx.rs` says why, with one sum for 256 columns too (4% slower); outputs whose rows are a line
//! longer than a multiple of 4 KiB, so that they do not share a set of the first-level cache (1%, in noise);
//! passes of 512 tokens instead of 256, which unpack half as often, but whose outputs leave the caches. Passes of
//! 256 instead of 128 are 2 to 5% faster.)
//!
//! With AVX-512 16 rows stand beside each other, where other levels have room for 4. 8 rows make chains
//! that wait for one another, 4 cycles of work for a latency of 5: with 16, products of 128 rows with Q8_0
//! are a tenth faster, and with Q4_0 a sixth. But only as long as the compiler computes rows in turn and knows
//! their number: it may put one row's products after the other's, a fifth slower, or keep sums in memory, as
//! much.

use std::ops::Range;

use super::Product;
use crate::isa::{Kernel, Level};
use crate::lanes::{LANES, Lanes, VECTOR_BYTES};
use crate::ops::activations::{
    ActivationGroup, ActivationRun, Activations, BLOCK_ROWS, TILE_BYTES,
};
use crate::pack::codes::{CHUNK_GROUPS, GROUP_COLS};

/// Blocks that share one unpacking of a chunk at least.
const MIN_BLOCKS: usize = 8;

/// Panels whose results are written together: rows of an output lie far apart, so that each line of it
/// must be fetched, and two neighbours come at once. (In C, four or eight together are no faster, and with
/// rows a multiple of 4 KiB apart, writing still takes an eighth of a product of 512 rows.)
const PANELS_TOGETHER: usize = 2;

/// Blocks that the matrix unit may take together.
const BLOCKS_TOGETHER: usize = 2;

/// How far ahead of their use packed weights are asked for: some chunks.
const PREFETCH_BYTES: usize = 16 * 1024;

/// The sums of one block with one panel, row by row.
pub(super) type BlockSums = [[f32; LANES]; BLOCK_ROWS];

/// A chunk of weights, unpacked, with what else a product keeps from one step to the next.
pub(super) trait Chunk: 'static {
    const EMPTY: Self;
    /// The most blocks that share one unpacking.
    const MAX_BLOCKS: usize;
    /// Columns whose sums the matrix unit is set up for.
    const TILE_COLS: usize;

    /// Adds the chunk's share to the sums of `T` rows, from row `first` on, of the block that begins at
    /// row `first_row`.
    fn add_rows<L: Lanes, const T: usize>(
        &self,
        lanes: L,
        inputs: &Inputs<'_>,
        first_row: usize,
        first: usize,
        sums: [L::F32; T],
    ) -> [L::F32; T];

    /// Adds it to the sums of one or two blocks, by the matrix unit, and asks for what comes `ahead`.
    #[allow(clippy::too_many_arguments)]
    fn add_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: &L::Tiles,
        packed: &[u8],
        inputs: &Inputs<'_>,
        first_row: usize,
        ahead: &Ahead<'_>,
        sums: &mut [Aligned<BlockSums>],
    );
}

/// The columns of a chunk, of all rows.
pub(super) struct Inputs<'a> {
    activations: Activations<'a>,
    groups: Range<usize>,
}

impl<'a> Inputs<'a> {
    /// Groups of the chunk.
    #[inline(always)]
    pub(super) fn num_groups(&self) -> usize {
        self.groups.len()
    }

    /// Those of the block that begins at row `first`, group by group.
    #[inline(always)]
    pub(super) fn groups(&self, first: usize) -> &'a [ActivationGroup<BLOCK_ROWS>] {
        &self.activations.block(first, BLOCK_ROWS)[self.groups.clone()]
    }

    /// The same as a run.
    #[inline(always)]
    pub(super) fn run(&self, first: usize) -> &'a ActivationRun<BLOCK_ROWS> {
        &self.activations.block(first, BLOCK_ROWS)[self.groups.start / CHUNK_GROUPS]
    }
}

/// Lines of a weight to ask for.
pub(super) struct Ahead<'a> {
    packed: &'a [u8],
    lines: Range<usize>,
}

impl Ahead<'_> {
    /// What asks for that which falls to one of `steps` steps, by its number.
    #[inline(always)]
    pub(super) fn in_steps<L: Lanes>(&self, lanes: L, steps: usize) -> impl Fn(usize) {
        let lines_a_step = self.lines.len().div_ceil(steps);
        move |step| {
            let first = self.lines.start + step * lines_a_step;
            for line in first..self.lines.end.min(first + lines_a_step) {
                lanes.prefetch_far(self.packed, PREFETCH_BYTES + line * VECTOR_BYTES);
            }
        }
    }
}

/// What the product must know of a format.
pub(super) struct Unpacking<C> {
    pub(super) chunk_bytes: usize,
    /// Unpacks a chunk of so many groups.
    pub(super) unpack: fn(Level, &[u8], usize, &mut C),
}

/// Multiplies by weights that are unpacked to `C`.
pub(super) fn run<C: Chunk>(level: Level, product: Product<'_>, unpacking: Unpacking<C>) {
    level.run(Tiled { level, product, unpacking });
}

struct Tiled<'a, C> {
    level: Level,
    product: Product<'a>,
    unpacking: Unpacking<C>,
}

/// Whole cache lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Aligned<T>(pub(super) T);

impl<C: Chunk> Kernel for Tiled<'_, C> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let Product { panels, panel_bytes, .. } = self.product;
        let all_rows = self.product.target.rows().len();
        let tiles = lanes.tiles(C::TILE_COLS);
        let mut chunk = C::EMPTY;
        let block_bytes = (BLOCK_ROWS * self.product.inputs.row_bytes()).max(1);
        let max_blocks = (TILE_BYTES / block_bytes).clamp(MIN_BLOCKS, C::MAX_BLOCKS);
        let max_blocks = max_blocks.min(all_rows.div_ceil(BLOCK_ROWS));
        let max_rows = max_blocks * BLOCK_ROWS;
        let mut sums = vec![Aligned([[0.0; LANES]; BLOCK_ROWS]); PANELS_TOGETHER * max_blocks];
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
                        let sums = &sums[row / BLOCK_ROWS].0[row % BLOCK_ROWS];
                        self.product.target.write(lanes, first_row + row, panel, lanes.load(sums));
                    }
                }
            }
        }
    }
}

impl<C: Chunk> Tiled<'_, C> {
    /// The sums of some rows with a panel, block by block.
    #[inline(always)]
    fn panel<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: Option<&L::Tiles>,
        (number, panel): (usize, &[u8]),
        rows: Range<usize>,
        chunk: &mut C,
        sums: &mut [Aligned<BlockSums>],
    ) {
        sums.fill(Aligned([[0.0; LANES]; BLOCK_ROWS]));
        let num_groups = self.product.cols.div_ceil(GROUP_COLS);
        let first_groups = (0..num_groups).step_by(CHUNK_GROUPS);
        for (first_group, packed) in first_groups.zip(panel.chunks(self.unpacking.chunk_bytes)) {
            let groups = first_group..num_groups.min(first_group + CHUNK_GROUPS);
            (self.unpacking.unpack)(self.level, packed, groups.len(), chunk);
            // The lines that this chunk asks for: its share of each block's output, and of weights.
            let outputs =
                BLOCK_ROWS * groups.start / num_groups..BLOCK_ROWS * groups.end / num_groups;
            let inputs = Inputs { activations: self.product.inputs, groups };
            let num_lines = packed.len() / VECTOR_BYTES;
            let lines_a_step = num_lines.div_ceil(sums.len().div_ceil(BLOCKS_TOGETHER));
            for (step, sums) in sums.chunks_mut(BLOCKS_TOGETHER).enumerate() {
                let first_line = num_lines.min(step * lines_a_step);
                let lines = first_line..num_lines.min(first_line + lines_a_step);
                let ahead = Ahead { packed, lines };
                let first = rows.start + step * BLOCKS_TOGETHER * BLOCK_ROWS;
                // What few rows write is near anyhow.
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
                    add_block(lanes, chunk, &inputs, first, num_rows, &mut sums.0);
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
    inputs: &Inputs<'_>,
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

/// The same for `T` rows of the block, from row `first` on.
#[inline(always)]
fn add_some_rows<L: Lanes, C: Chunk, const T: usize>(
    lanes: L,
    chunk: &C,
    inputs: &Inputs<'_>,
    first_row: usize,
    first: usize,
    sums: &mut BlockSums,
) {
    let sums: &mut [_; T] = sums[first..].first_chunk_mut().expect("T divides a block");
    let mut rows = [lanes.splat(0.0); T];
    for (row, sums) in rows.iter_mut().zip(&*sums) {
        *row = lanes.load(sums);
    }
    rows = chunk.add_rows(lanes, inputs, first_row, first, rows);
    for (row, sums) in rows.into_iter().zip(sums) {
        lanes.store(row, sums);
    }
}
