//! Products of many rows with quantized weights, if unpacking them takes long or the machine has a matrix unit.
//!
//! The same chunk (256 columns) of two panels is unpacked once for several hundred rows, whose sums are kept in memory. The
//! unpacked form is the same for all formats of a kind. Then each block of 16 rows is multiplied: in registers, some
//! rows at a time, or by the matrix unit (`tiles.rs`).
//!
//! With the matrix unit, unpacked weights must stay in the first-level cache: with 256 columns they do, with 1024 they
//! do not (a tenth slower). What else is due is done between products of tiles or of blocks (`side_work.rs`), since bursts of
//! prefetches took an eighth of the time. 256 rows by 1024 by 3072 columns take about three times the 16 cycles per 16 by 16
//! by 32 that the unit needs on a Xeon; `benchmarks/2026-11-29-xeon-amx-3.md` has a table of the rest. 16 rows by 64 columns
//! with one panel take 64 cycles if the rows come from the second-level cache and 47 if they come from the first-level one,
//! where the unit needs 32. Between products, mispredicted branches cost more than instructions, since they discard the
//! products after them. (Divisions between products of tiles took 5 to 7% of products with 16 rows.)
//!
//! (Tried without gain, with the matrix unit: prefetching the next block's activations; AVX-512 for formats with a scale for
//! each 16 columns; prefetching the output; outputs whose rows are a cache line longer than a multiple of 4 KiB, so that they
//! do not share a set of the first-level cache (1%, within noise); passes of 512 tokens instead of 256, which unpack half as
//! often, but whose outputs do not stay in the caches. Passes of 256 instead of 128 are 2 to 5% faster.)
//!
//! AVX-512 computes 16 rows at a time; other levels have registers for 4. 8 rows have dependency chains of 4 cycles of
//! work for a latency of 5: with 16, products of 128 rows are a sixth faster with Q4_0. That requires that the compiler
//! keeps the order of rows and knows their number: otherwise it computes one row after the other (a fifth slower), or keeps
//! sums in memory (as slow).

use std::array;
use std::ops::Range;

use super::chunk::add_chunk;
use super::side_work::{BlockSums, FinishedPanels, PANELS_TOGETHER, PrefetchAhead, SideWork};
use super::tiles::{PackedChunks, TileBuffers, TileProducts};
use super::unpacked::{UnpackedChunk, Unpacking};
use crate::isa::Level;
use crate::lanes::{CHUNK_TILES, Kernel, LANES, Lanes};
use crate::ops::activations::{ActivationRun, Activations, BLOCK_ROWS, TILE_BYTES};
use crate::ops::product::task::Product;
use crate::pack::codes::{CHUNK_COLS, CHUNK_GROUPS, GROUP_COLS};
use crate::scratch::CacheLine;

/// The fewest and the most blocks that share one unpacking of a chunk, if there are as many. (Products of 512 rows by 1024
/// columns are a sixth faster than with at most 8.)
const MIN_BLOCKS: usize = 8;
const MAX_BLOCKS: usize = 32;

/// Prefetch distance of packed weights: a pair of chunks, or some with few bits. (With 16 rows, no slower than twice and four
/// times as far, and 2 to 15% faster than prefetches of 1 to 17 KiB ahead while lines are unpacked.)
const PREFETCH_BYTES: usize = 8 * 1024;

/// Cache lines of scratch memory that a task needs: the sums of [`PANELS_TOGETHER`] panels, and those of the previous ones.
pub(crate) const PRODUCT_LINES: usize = 2 * PANELS_TOGETHER * MAX_BLOCKS * BLOCK_ROWS;

/// The activations for the columns of a chunk, of all rows of a pass.
pub(super) struct ChunkInputs<'a> {
    activations: Activations<'a>,
    first_row: usize,
    /// Number of the chunk.
    chunk: usize,
}

impl<'a> ChunkInputs<'a> {
    /// Whether the chunk is the first of its panel.
    #[inline(always)]
    pub(super) fn is_first(&self) -> bool {
        self.chunk == 0
    }

    /// The run of a block.
    #[inline(always)]
    pub(super) fn run(&self, block: usize) -> &'a ActivationRun<BLOCK_ROWS> {
        &self.activations.block(self.first_row + block * BLOCK_ROWS, BLOCK_ROWS)[self.chunk]
    }
}

/// Multiplies by weights that are unpacked as `UnpackedChunk<HALVES, SIGNED>`.
pub(super) fn run<const HALVES: bool, const SIGNED: bool>(
    level: Level,
    product: Product<'_>,
    unpacking: Unpacking<UnpackedChunk<HALVES, SIGNED>>,
) {
    level.run(ManyRows { level, product, unpacking });
}

struct ManyRows<'a, const HALVES: bool, const SIGNED: bool> {
    level: Level,
    product: Product<'a>,
    unpacking: Unpacking<UnpackedChunk<HALVES, SIGNED>>,
}

/// The unpacked chunks and tile buffers of one task.
struct Workspace<const HALVES: bool, const SIGNED: bool> {
    chunks: [UnpackedChunk<HALVES, SIGNED>; PANELS_TOGETHER],
    tiles: TileBuffers,
}

impl<const HALVES: bool, const SIGNED: bool> Kernel for ManyRows<'_, HALVES, SIGNED> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let Product { panels, panel_bytes, .. } = self.product;
        let all_rows = self.product.target.rows().len();
        let unit = lanes.matrix_unit();
        let unit = unit.as_ref();
        let mut workspace = Workspace {
            chunks: [UnpackedChunk::EMPTY; PANELS_TOGETHER],
            tiles: TileBuffers::EMPTY,
        };
        let block_bytes = (BLOCK_ROWS * self.product.inputs.row_bytes()).max(1);
        let max_blocks = (TILE_BYTES / block_bytes).clamp(MIN_BLOCKS, MAX_BLOCKS);
        let max_blocks = max_blocks.min(all_rows.div_ceil(BLOCK_ROWS));
        let max_rows = max_blocks * BLOCK_ROWS;
        let scratch = std::mem::take(&mut self.product.scratch);
        let sums: &mut [BlockSums] = bytemuck::cast_slice_mut(&mut scratch[..PRODUCT_LINES]);
        let (mut current, mut previous) = sums.split_at_mut(PANELS_TOGETHER * max_blocks);
        // The panels and the rows of `previous`.
        let (mut finished_panels, mut finished_rows) = (0..0, 0..0);
        for first_row in (0..all_rows).step_by(max_rows) {
            let rows = first_row..all_rows.min(first_row + max_rows);
            let num_blocks = rows.len().div_ceil(BLOCK_ROWS);
            let num_steps = self.num_chunks() * num_blocks;
            for (pair, panels) in panels.chunks(PANELS_TOGETHER * panel_bytes).enumerate() {
                let mut finished = FinishedPanels::new(
                    previous,
                    max_blocks,
                    finished_panels,
                    finished_rows,
                    num_steps,
                );
                let num_panels = panels.len() / panel_bytes;
                let (panels, rows) = ((pair, panels), &rows);
                let (memory, sums) = (&mut workspace, &mut current[..PANELS_TOGETHER * max_blocks]);
                if num_panels == PANELS_TOGETHER {
                    self.panels::<L, 2>(lanes, unit, panels, rows, memory, &mut finished, sums);
                } else {
                    const { assert!(PANELS_TOGETHER == 2, "one panel is left") };
                    self.panels::<L, 1>(lanes, unit, panels, rows, memory, &mut finished, sums);
                }
                finished.write(lanes, &mut self.product.target, usize::MAX);
                let first_panel = pair * PANELS_TOGETHER;
                finished_panels = first_panel..first_panel + num_panels;
                finished_rows = rows.clone();
                std::mem::swap(&mut current, &mut previous);
            }
        }
        let mut finished =
            FinishedPanels::new(previous, max_blocks, finished_panels, finished_rows, 1);
        finished.write(lanes, &mut self.product.target, usize::MAX);
    }
}

impl<const HALVES: bool, const SIGNED: bool> ManyRows<'_, HALVES, SIGNED> {
    /// Chunks of a panel.
    fn num_chunks(&self) -> usize {
        self.product.cols.div_ceil(CHUNK_COLS)
    }

    /// The sums of some rows with `P` neighbouring panels, block by block. `pair` counts the panels before them in pairs;
    /// `sums` has equal parts for [`PANELS_TOGETHER`] panels.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn panels<L: Lanes, const P: usize>(
        &mut self,
        lanes: L,
        unit: Option<&L::Unit>,
        (pair, panels): (usize, &[u8]),
        rows: &Range<usize>,
        workspace: &mut Workspace<HALVES, SIGNED>,
        finished: &mut FinishedPanels<'_>,
        sums: &mut [BlockSums],
    ) {
        let max_blocks = sums.len() / PANELS_TOGETHER;
        let num_blocks = rows.len().div_ceil(BLOCK_ROWS);
        let mut sums_of_panels = sums.chunks_exact_mut(max_blocks);
        let mut sums: [&mut [BlockSums]; P] = array::from_fn(|_| {
            &mut sums_of_panels.next().expect("memory for all panels")[..num_blocks]
        });
        let Product { panel_bytes, cols, .. } = self.product;
        let chunk_bytes = self.unpacking.chunk_bytes;
        let (num_groups, num_chunks) = (cols.div_ceil(GROUP_COLS), self.num_chunks());
        // The matrix unit's first chunk, if there is one, overwrites the sums.
        if unit.is_none() || num_chunks == 0 {
            for sums in &mut sums {
                sums.as_flattened_mut().fill(CacheLine([0.0; LANES]));
            }
        }
        let distance = PREFETCH_BYTES.div_ceil(PANELS_TOGETHER * chunk_bytes);
        let steps_per_block = if unit.is_some() { P * CHUNK_TILES } else { P };
        let lines_per_step =
            PrefetchAhead::<P>::lines_per_step(chunk_bytes, steps_per_block * num_blocks);
        let mut products =
            unit.map(|unit| TileProducts::<L>::new(lanes, unit, &mut workspace.tiles));
        for number in 0..num_chunks {
            let first_group = number * CHUNK_GROUPS;
            let groups = first_group..num_groups.min(first_group + CHUNK_GROUPS);
            let bytes = number * chunk_bytes..panel_bytes.min((number + 1) * chunk_bytes);
            let chunks: &mut [_; P] = workspace.chunks.first_chunk_mut().expect("P chunks");
            let mut all_panels = panels.chunks_exact(panel_bytes);
            let packed: [&[u8]; P] =
                array::from_fn(|_| &all_panels.next().expect("P panels")[bytes.clone()]);
            let (pairs, chunk) =
                ((number + distance) / num_chunks, (number + distance) % num_chunks);
            let starts = array::from_fn(|panel| {
                (PANELS_TOGETHER * (pair + pairs) + panel) * panel_bytes + chunk * chunk_bytes
            });
            let bytes_ahead = chunk_bytes.min(panel_bytes - chunk * chunk_bytes);
            let ahead =
                PrefetchAhead::new(self.product.panels, starts, bytes_ahead, lines_per_step);
            let target = &mut self.product.target;
            let mut side_work = SideWork { ahead, target, finished: &mut *finished };
            let activations = self.product.inputs;
            let inputs = ChunkInputs { activations, first_row: rows.start, chunk: number };
            if let Some(products) = &mut products {
                let unpack_tile = self.unpacking.unpack_tile;
                let packed = PackedChunks {
                    level: self.level,
                    chunks: packed,
                    num_groups: groups.len(),
                    unpack_tile,
                };
                products.add(&packed, chunks, &inputs, &mut side_work, &mut sums);
                continue;
            }
            for (packed, chunk) in packed.iter().zip(&mut *chunks) {
                (self.unpacking.unpack)(self.level, packed, groups.len(), chunk);
            }
            for (panel, (chunk, sums)) in chunks.iter().zip(&mut sums).enumerate() {
                for (block, sums) in sums.iter_mut().enumerate() {
                    let step = panel * num_blocks + block;
                    side_work.ahead.step(lanes);
                    if step % P == 0 {
                        side_work.write_finished(lanes);
                    }
                    let first = rows.start + block * BLOCK_ROWS;
                    let num_rows = BLOCK_ROWS.min(rows.end - first);
                    add_block(lanes, chunk, inputs.run(block), num_rows, sums);
                }
            }
        }
        if let Some(products) = products {
            products.finish(&mut sums);
        }
    }
}

/// Adds a chunk's share to the sums of the first `num_rows` rows of a block, without a matrix unit.
#[inline(always)]
fn add_block<L: Lanes, const HALVES: bool, const SIGNED: bool>(
    lanes: L,
    chunk: &UnpackedChunk<HALVES, SIGNED>,
    input: &ActivationRun<BLOCK_ROWS>,
    num_rows: usize,
    sums: &mut BlockSums,
) {
    let mut first = 0;
    while first < num_rows {
        if L::REGISTERS >= 32 && num_rows - first > 8 {
            add_some_rows::<L, HALVES, SIGNED, 16>(lanes, chunk, input, first, sums);
            first += 16;
        } else if L::REGISTERS >= 32 && num_rows - first > 4 {
            add_some_rows::<L, HALVES, SIGNED, 8>(lanes, chunk, input, first, sums);
            first += 8;
        } else {
            add_some_rows::<L, HALVES, SIGNED, 4>(lanes, chunk, input, first, sums);
            first += 4;
        }
    }
}

/// The same for `T` rows of the block from row `first` on.
#[inline(always)]
fn add_some_rows<L: Lanes, const HALVES: bool, const SIGNED: bool, const T: usize>(
    lanes: L,
    chunk: &UnpackedChunk<HALVES, SIGNED>,
    input: &ActivationRun<BLOCK_ROWS>,
    first: usize,
    sums: &mut BlockSums,
) {
    let sums: &mut [_; T] = sums[first..].first_chunk_mut().expect("T divides a block");
    let mut rows = [lanes.splat(0.0); T];
    for (row, CacheLine(sums)) in rows.iter_mut().zip(&*sums) {
        *row = lanes.load(sums);
    }
    rows = add_chunk(lanes, chunk, input, first, rows);
    for (row, CacheLine(sums)) in rows.into_iter().zip(sums) {
        lanes.store(row, sums);
    }
}
