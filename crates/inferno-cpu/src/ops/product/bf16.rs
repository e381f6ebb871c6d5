//! Products with F16 and BF16 weights by the matrix unit, which multiplies bfloat16 numbers.
//!
//! **Numbers.** An activation is rounded to the sum of two bfloat16 numbers (`bf16_pairs.rs`), with an error of at most 2^-17. An
//! F16 weight is such a sum exactly: the nearest number, ties away from zero, and the rest. A BF16 weight is one number. Products
//! of two low numbers, at most 2^-16 of a product, are not computed. Infinite weights give results that are not numbers.
//!
//! **Order of the sums.** An output starts from zero. For each 32 columns, `k` rising, the unit adds the sums of the low
//! activations' products with the weights' high numbers, of the high activations' with these, and for F16 of the high
//! activations' with the weights' low numbers. Each of these sums is that of two others, for even and for odd `k`, which
//! start from zero and add products by fused multiply-add, `k` rising. All sums are in single precision, rounded to nearest
//! even; subnormal numbers are zeros. What follows the sums is the same as for other products.
//!
//! So on levels with a matrix unit, results differ from those of `float.rs`, by about 2e-6 (BF16) and 3e-6 (F16) of their norm.
//! Vectors would need two to three multiply-adds for each product instead of one to compute the same; the unit multiplies 16
//! times as many numbers per cycle as they do.

use std::marker::PhantomData;
use std::ops::Range;

use super::panel_passes::{self, PanelKernel, PanelPair, SUM_LINES};
use super::side_work::{BlockSums, FinishedPanels, PANELS_TOGETHER, PanelChunks, SideWork};
use super::task::Product;
use crate::lanes::{
    BF16_TILE_COLS, Bf16Columns, Bf16Rows, Bf16Unit, Kernel, LANES, Lanes, VECTOR_BYTES,
};
use crate::ops::activations::{BLOCK_ROWS, block_width};
use crate::pack::FloatFormat;
use crate::pack::codes::CHUNK_COLS;
use crate::scratch::CacheLine;

/// Tiles of a chunk of bfloat16 numbers.
const CHUNK_BF16_TILES: usize = CHUNK_COLS / BF16_TILE_COLS;

/// High and low numbers of 32 columns of a panel. The low ones are not used for BF16.
type WeightTile = [Bf16Columns; 2];

/// A chunk of each of [`PANELS_TOGETHER`] panels.
type WeightTiles = [[WeightTile; CHUNK_BF16_TILES]; PANELS_TOGETHER];

/// Cache lines of the memory that weights are unpacked to.
pub(super) const UNPACKED_LINES: usize = size_of::<WeightTiles>() / VECTOR_BYTES;

/// A product with weights of format `F`.
pub(super) struct Bf16Product<'a, F> {
    product: Product<'a>,
    format: PhantomData<F>,
}

impl<'a, F: FloatFormat> Bf16Product<'a, F> {
    pub(super) fn new(product: Product<'a>) -> Self {
        debug_assert!(F::BF16_PARTS <= 2, "weights are sums of two numbers");
        Self { product, format: PhantomData }
    }
}

impl<F: FloatFormat> Kernel for Bf16Product<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let num_rows = self.product.target.rows().len();
        let width = block_width(num_rows);
        let unit = lanes.bf16_unit(width).expect("a level with a matrix unit");
        let scratch = std::mem::take(&mut self.product.scratch);
        let (sums, unpacked) = scratch.split_at_mut(SUM_LINES);
        self.product.scratch = sums;
        let unpacked = bytemuck::cast_slice_mut(&mut unpacked[..UNPACKED_LINES]);
        let tiles: &mut WeightTiles = unpacked.first_chunk_mut().expect("memory for the tiles");
        let panels = Bf16Panels { unit: &unit, width, tiles, format: self.format };
        panel_passes::run(lanes, self.product, panels);
    }
}

/// The products with one or two panels.
struct Bf16Panels<'u, U, F> {
    unit: &'u U,
    /// Rows of a block.
    width: usize,
    tiles: &'u mut WeightTiles,
    format: PhantomData<F>,
}

/// A chunk of `P` panels.
struct Chunk<'a, const P: usize> {
    packed: [&'a [u8]; P],
    /// Number of the chunk.
    number: usize,
    cols: usize,
}

impl<L: Lanes, F: FloatFormat> PanelKernel<L> for Bf16Panels<'_, L::Bf16Unit, F> {
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
        let Product { cols, inputs, .. } = *product;
        let num_blocks = sums[0].len();
        let all = PanelChunks::new(product, CHUNK_COLS * LANES * F::BYTES);
        let lines_per_step = all.lines_per_step(CHUNK_BF16_TILES * num_blocks.div_ceil(2));
        for number in 0..all.num_chunks {
            let packed = all.chunks(panels.bytes, number);
            let cols = CHUNK_COLS.min(cols - number * CHUNK_COLS);
            let chunk = Chunk { packed, number, cols };
            let ahead = all.ahead(panels.number, number, lines_per_step);
            let target = &mut product.target;
            let mut side_work = SideWork { ahead, target, finished: &mut *finished };
            let width = self.width;
            let block = |block| inputs.block(rows.start + block * BLOCK_ROWS, width);
            for first in (0..num_blocks).step_by(2) {
                if first + 1 < num_blocks {
                    let blocks = [block(first), block(first + 1)];
                    self.blocks(lanes, &chunk, blocks, first, &mut side_work, sums);
                } else {
                    self.blocks(lanes, &chunk, [block(first)], first, &mut side_work, sums);
                }
            }
        }
    }
}

impl<U: Bf16Unit, F: FloatFormat> Bf16Panels<'_, U, F> {
    /// Adds the shares of a chunk to the sums of the `B` blocks of each panel from block `first` on. The first blocks unpack
    /// the chunk.
    #[inline(always)]
    fn blocks<L: Lanes, const B: usize, const P: usize>(
        &mut self,
        lanes: L,
        chunk: &Chunk<'_, P>,
        blocks: [&[CacheLine]; B],
        first: usize,
        side_work: &mut SideWork<'_, '_, '_, P>,
        sums: &mut [&mut [BlockSums]; P],
    ) {
        if chunk.number == 0 {
            self.unit.clear();
        } else {
            self.unit.load::<B, P>(sums, first);
        }
        for tile in 0..chunk.cols.div_ceil(BF16_TILE_COLS) {
            side_work.ahead.step(lanes);
            if first == 0 {
                for (packed, tiles) in chunk.packed.iter().zip(&mut *self.tiles) {
                    unpack::<L, F>(lanes, packed, chunk.cols, tile, &mut tiles[tile]);
                }
            }
            let group = chunk.number * CHUNK_BF16_TILES + tile;
            let mut rows = [Bf16Rows { high: &[], low: &[] }; B];
            for (rows, block) in rows.iter_mut().zip(blocks) {
                let (high, low) =
                    block[group * 2 * self.width..][..2 * self.width].split_at(self.width);
                *rows = Bf16Rows { high, low };
            }
            let mut columns = [&self.tiles[0][tile]; P];
            for (columns, tiles) in columns.iter_mut().zip(&*self.tiles) {
                *columns = &tiles[tile];
            }
            if F::BF16_PARTS > 1 {
                self.unit.add::<B, P, true>(rows, columns);
            } else {
                self.unit.add::<B, P, false>(rows, columns);
            }
        }
        self.unit.store::<B, P>(sums, first);
        for _ in 0..B {
            side_work.write_finished(lanes);
        }
    }
}

/// Unpacks tile `tile` of a chunk of a panel, which has `cols` columns. Missing columns are zeros.
#[inline(always)]
fn unpack<L: Lanes, F: FloatFormat>(
    lanes: L,
    packed: &[u8],
    cols: usize,
    tile: usize,
    out: &mut WeightTile,
) {
    let column_bytes = LANES * F::BYTES;
    let first = tile * BF16_TILE_COLS;
    let [high, low] = out;
    let lines = high.iter_mut().zip(low);
    if first + BF16_TILE_COLS <= cols {
        let columns = &packed[first * column_bytes..][..BF16_TILE_COLS * column_bytes];
        for (pair, (high, low)) in columns.chunks_exact(2 * column_bytes).zip(lines) {
            let (even, odd) = pair.split_at(column_bytes);
            unpack_pair::<L, F>(lanes, F::load(lanes, even), F::load(lanes, odd), high, low);
        }
        return;
    }
    for (k, (high, low)) in (first..).step_by(2).zip(lines) {
        let mut pair = [lanes.splat(0.0); 2];
        for (k, column) in (k..cols).zip(&mut pair) {
            *column = F::load(lanes, &packed[k * column_bytes..][..column_bytes]);
        }
        unpack_pair::<L, F>(lanes, pair[0], pair[1], high, low);
    }
}

/// Unpacks two neighbouring columns.
#[inline(always)]
fn unpack_pair<L: Lanes, F: FloatFormat>(
    lanes: L,
    even: L::F32,
    odd: L::F32,
    high: &mut [u8; VECTOR_BYTES],
    low: &mut [u8; VECTOR_BYTES],
) {
    if F::BF16_PARTS == 1 {
        return lanes.store_upper_halves(even, odd, high);
    }
    let (even_high, odd_high) = (lanes.round_bf16(even), lanes.round_bf16(odd));
    lanes.store_upper_halves(even_high, odd_high, high);
    lanes.store_upper_halves(lanes.sub(even, even_high), lanes.sub(odd, odd_high), low);
}
