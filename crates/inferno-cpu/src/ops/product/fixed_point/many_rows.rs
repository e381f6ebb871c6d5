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

use std::ops::Range;

use super::chunk::add_chunk;
use super::tiles::{PackedChunks, TileBuffers, TileProducts};
use super::unpacked::{UnpackedChunk, Unpacking};
use crate::isa::Level;
use crate::lanes::{CHUNK_TILES, Kernel, LANES, Lanes};
use crate::ops::activations::{ActivationRun, Activations, BLOCK_ROWS};
use crate::ops::product::panel_passes::{self, PanelKernel, PanelPair};
use crate::ops::product::side_work::{
    BlockSums, FinishedPanels, PANELS_TOGETHER, PanelChunks, SideWork,
};
use crate::ops::product::task::Product;
use crate::pack::codes::{CHUNK_GROUPS, GROUP_COLS};
use crate::scratch::CacheLine;

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

impl<const HALVES: bool, const SIGNED: bool> Kernel for ManyRows<'_, HALVES, SIGNED> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { level, product, unpacking } = self;
        let unit = lanes.matrix_unit();
        let chunks = [UnpackedChunk::EMPTY; PANELS_TOGETHER];
        let tiles = TileBuffers::EMPTY;
        let kernel = UnpackedPanels { level, unit: unit.as_ref(), unpacking, chunks, tiles };
        panel_passes::run(lanes, product, kernel);
    }
}

/// The products with one or two panels: the unit, and the memory that chunks are unpacked to.
struct UnpackedPanels<'u, U, const HALVES: bool, const SIGNED: bool> {
    level: Level,
    unit: Option<&'u U>,
    unpacking: Unpacking<UnpackedChunk<HALVES, SIGNED>>,
    chunks: [UnpackedChunk<HALVES, SIGNED>; PANELS_TOGETHER],
    tiles: TileBuffers,
}

impl<L: Lanes, const HALVES: bool, const SIGNED: bool> PanelKernel<L>
    for UnpackedPanels<'_, L::Unit, HALVES, SIGNED>
{
    #[inline(always)]
    fn panels<const P: usize>(
        &mut self,
        lanes: L,
        product: &mut Product<'_>,
        panels: PanelPair<'_>,
        rows: &Range<usize>,
        finished: &mut FinishedPanels<'_>,
        sums: &mut [&mut [BlockSums]; P],
    ) {
        let num_blocks = sums[0].len();
        let num_groups = product.cols.div_ceil(GROUP_COLS);
        // The matrix unit's first chunk overwrites the sums.
        if self.unit.is_none() {
            for sums in &mut *sums {
                sums.as_flattened_mut().fill(CacheLine([0.0; LANES]));
            }
        }
        let steps_per_block = if self.unit.is_some() { P * CHUNK_TILES } else { P };
        let all = PanelChunks::new(product, self.unpacking.chunk_bytes);
        let lines_per_step = all.lines_per_step(steps_per_block * num_blocks);
        let mut products =
            self.unit.map(|unit| TileProducts::<L>::new(lanes, unit, &mut self.tiles));
        for number in 0..all.num_chunks {
            let first_group = number * CHUNK_GROUPS;
            let num_groups = CHUNK_GROUPS.min(num_groups - first_group);
            let packed: [&[u8]; P] = all.chunks(panels.bytes, number);
            let chunks: &mut [_; P] = self.chunks.first_chunk_mut().expect("P chunks");
            let ahead = all.ahead(panels.number, number, lines_per_step);
            let target = &mut product.target;
            let mut side_work = SideWork { ahead, target, finished: &mut *finished };
            let activations = product.inputs;
            let inputs = ChunkInputs { activations, first_row: rows.start, chunk: number };
            if let Some(products) = &mut products {
                let unpack_tile = self.unpacking.unpack_tile;
                let packed =
                    PackedChunks { level: self.level, chunks: packed, num_groups, unpack_tile };
                products.add(&packed, chunks, &inputs, &mut side_work, sums);
                continue;
            }
            for (packed, chunk) in packed.iter().zip(&mut *chunks) {
                (self.unpacking.unpack)(self.level, packed, num_groups, chunk);
            }
            for (panel, (chunk, sums)) in chunks.iter().zip(&mut *sums).enumerate() {
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
            products.finish(sums);
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
