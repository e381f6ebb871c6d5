//! Products of unpacked chunks by the matrix unit: it multiplies high and low bytes of the integers, whose sums are stored first
//! and scaled while it multiplies the next block.
//!
//! A block of 16 rows is multiplied by two panels at the same time, so that each tile of activations, which come from the
//! second-level cache, is loaded once for both; weights are in the first-level cache.

use super::chunk::CHUNK_VECTORS;
use super::many_rows::ChunkInputs;
use super::side_work::{BlockSums, PANELS_TOGETHER, SideWork};
use super::unpacked::UnpackedIntegers;
use crate::lanes::{
    CHUNK_TILES, ColumnTile, ExtraTiles, LANES, Lanes, MatrixUnit, OtherWork, TileSums,
    VECTOR_BYTES,
};
use crate::ops::activations::{ActivationRun, BLOCK_ROWS, rows_from};
use crate::pack::codes::{GROUP_COLS, GROUP_VECTORS};
use crate::scratch::CacheLine;

/// The sums of a block with a panel: with high bytes and with low ones.
type ByteSums = [TileSums; 2];

/// Memory for results and operands of the unit.
#[repr(C, align(64))]
pub(super) struct TileBuffers {
    /// Two buffers of sums with all panels. One is scaled while the unit fills the other.
    sums: [[ByteSums; PANELS_TOGETHER]; 2],
    /// The high and the low bytes of the columns of gathered overflows.
    gathered: [[ColumnTile; 2]; PANELS_TOGETHER],
}

impl TileBuffers {
    pub(super) const EMPTY: Self = Self {
        sums: [[[[[0; LANES]; BLOCK_ROWS]; 2]; PANELS_TOGETHER]; 2],
        gathered: [[[[0; VECTOR_BYTES]; LANES]; 2]; PANELS_TOGETHER],
    };
}

/// Adds the shares of the same columns of `P` neighbouring panels to the `sums` of all blocks of each panel.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
pub(super) fn add_tiles<L: Lanes, const P: usize, const HALVES: bool, const SIGNED: bool>(
    lanes: L,
    tiles: &L::Unit,
    chunks: &[UnpackedIntegers<HALVES, SIGNED>; P],
    buffers: &mut TileBuffers,
    inputs: &ChunkInputs<'_>,
    side_work: &mut SideWork<'_, '_, '_, P>,
    sums: &mut [&mut [BlockSums]; P],
) {
    let num_tiles = (chunks[0].num_groups * GROUP_COLS).div_ceil(VECTOR_BYTES);
    let num_blocks = sums[0].len();
    let columns = chunks.each_ref().map(|chunk| {
        let all: &[[ColumnTile; CHUNK_TILES]] = bytemuck::cast_slice(&chunk.vectors);
        [&all[0], &all[1]]
    });
    let units = chunks.each_ref().map(|chunk| lanes.load(&chunk.unit));
    let TileBuffers { sums: [even, odd], gathered } = buffers;
    let (mut current, mut previous) = (even, odd);
    for block in 0..num_blocks {
        let run = inputs.run(block);
        let overflows = run.gathered().map(|(rows, fours)| {
            for (at, four) in fours.enumerate() {
                for (columns, chunk) in gathered.iter_mut().zip(chunks) {
                    columns[0][at] = chunk.vectors[four];
                    columns[1][at] = chunk.vectors[CHUNK_VECTORS + four];
                }
            }
            ExtraTiles { rows, columns: first(gathered) }
        });
        let waiting = block.checked_sub(1);
        let scaling = Scaling {
            units,
            sums: first(previous),
            scales: waiting.map(|block| &inputs.run(block).scales),
            block: waiting.unwrap_or(0),
        };
        let mut between =
            BetweenTiles { lanes, side_work, first_step: block * CHUNK_TILES, scaling, sums };
        let results: &mut [_; P] = current.first_chunk_mut().expect("P panels");
        tiles.multiply_bytes(num_tiles, &run.tiles, columns, overflows, results, &mut between);
        side_work.write_finished(lanes);
        if run.has_more_overflows() {
            for (chunk, results) in chunks.iter().zip(results) {
                add_not_gathered(lanes, &chunk.vectors, run, results);
            }
        }
        (current, previous) = (previous, current);
    }
    let Some(last) = num_blocks.checked_sub(1) else { return };
    let scales = Some(&inputs.run(last).scales);
    let scaling = Scaling { units, sums: first(previous), scales, block: last };
    for part in 0..CHUNK_TILES {
        scaling.part(lanes, part, sums);
    }
}

/// The first `P` of the panels.
#[inline(always)]
fn first<X, const P: usize>(panels: &[X]) -> &[X; P] {
    panels.first_chunk().expect("P panels")
}

/// What is done between the products of tiles: prefetches, and the scaling of the previous block's sums.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit uses it.
struct BetweenTiles<'a, 'w, 'p, 't, 's, 'm, L: Lanes, const P: usize> {
    lanes: L,
    side_work: &'a mut SideWork<'p, 't, 's, P>,
    /// The number of the first of these tiles among those of all blocks.
    first_step: usize,
    scaling: Scaling<'w, L::F32, P>,
    sums: &'a mut [&'m mut [BlockSums]; P],
}

impl<L: Lanes, const P: usize> OtherWork for BetweenTiles<'_, '_, '_, '_, '_, '_, L, P> {
    #[inline(always)]
    fn before_tile<const TILE: usize>(&mut self) {
        self.side_work.ahead.step(self.lanes, self.first_step + TILE);
        self.scaling.part(self.lanes, TILE, self.sums);
    }
}

/// The scaling of the sums of one block.
struct Scaling<'a, F, const P: usize> {
    units: [F; P],
    sums: &'a [ByteSums; P],
    /// The scales of the block's activations; none if there is no block.
    scales: Option<&'a [f32; BLOCK_ROWS]>,
    block: usize,
}

impl<F: Copy, const P: usize> Scaling<'_, F, P> {
    /// Scales a part of the rows, one of [`CHUNK_TILES`].
    #[inline(always)]
    fn part<L: Lanes<F32 = F>>(&self, lanes: L, part: usize, sums: &mut [&mut [BlockSums]; P]) {
        const ROWS: usize = PANELS_TOGETHER * BLOCK_ROWS / CHUNK_TILES;
        const PARTS_PER_PANEL: usize = BLOCK_ROWS / ROWS;
        let panel = part / PARTS_PER_PANEL;
        let Some(scales) = self.scales else { return };
        if panel >= P {
            return;
        }
        let first = part % PARTS_PER_PANEL * ROWS;
        let [high, low] = &self.sums[panel];
        let (high, low): (&[_; ROWS], &[_; ROWS]) = (rows_from(high, first), rows_from(low, first));
        let scales: &[_; ROWS] = rows_from(scales, first);
        let sums: &mut [_; ROWS] =
            sums[panel][self.block][first..].first_chunk_mut().expect("a part of a block");
        for (((CacheLine(sum), high), low), scale) in sums.iter_mut().zip(high).zip(low).zip(scales)
        {
            let high = lanes.shl8(lanes.load_i32(high));
            let total = lanes.to_f32(lanes.add_i32(high, lanes.load_i32(low)));
            let factor = lanes.mul(self.units[panel], lanes.splat(*scale));
            lanes.store(lanes.fma(total, factor, lanes.load(sum)), sum);
        }
    }
}

/// Adds the overflows of a block that are not gathered to the sums of the low bytes.
#[inline(always)]
fn add_not_gathered<L: Lanes>(
    lanes: L,
    vectors: &[[u8; VECTOR_BYTES]],
    input: &ActivationRun<BLOCK_ROWS>,
    [_, low_sums]: &mut [TileSums; 2],
) {
    for (row, dots) in low_sums.iter_mut().enumerate() {
        let mut total = lanes.load_i32(dots);
        for (group, v, four) in input.not_gathered(row) {
            let at = group * GROUP_VECTORS + v;
            let sum: i32 = four.iter().map(|&quant| i32::from(quant)).sum();
            let operand = lanes.operand_i8(lanes.load_bytes(&vectors[at]));
            let high = lanes.dot_i8(lanes.splat_i32(-L::BYTE_OFFSET * sum), operand, four);
            // The low bytes are unsigned, as the operand is.
            let operand = lanes.load_bytes(&vectors[CHUNK_VECTORS + at]);
            let low = lanes.dot_i8(lanes.splat_i32(0), operand, four);
            total = lanes.add_i32(total, lanes.add_i32(lanes.shl8(high), low));
        }
        lanes.store_i32(total, dots);
    }
}
