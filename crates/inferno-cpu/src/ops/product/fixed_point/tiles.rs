//! Products by the matrix unit: it multiplies high and low bytes of the integers, whose sums are stored first and scaled
//! while it multiplies the next block.
//!
//! A block of 16 rows is multiplied by two panels at the same time, so that each tile of activations, which come from the
//! second-level cache, is loaded once for both; weights are in the first-level cache. They are unpacked between the products
//! of the first block, tile by tile. (Unpacked before, 16 rows took up to an eighth longer with 4-bit weights.)

use super::chunk::CHUNK_VECTORS;
use super::many_rows::ChunkInputs;
use super::side_work::{BlockSums, PANELS_TOGETHER, SideWork};
use super::unpacked::UnpackedChunk;
use crate::isa::Level;
use crate::lanes::{
    CHUNK_TILES, ColumnTile, ColumnTiles, ExtraTiles, LANES, Lanes, MatrixUnit, TileSums,
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

/// The same chunk of `P` neighbouring panels, packed.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit reads them.
pub(super) struct PackedChunks<'a, C, const P: usize> {
    pub(super) level: Level,
    pub(super) chunks: [&'a [u8]; P],
    pub(super) num_groups: usize,
    pub(super) unpack_tile: fn(Level, &[u8], usize, usize, &mut C),
}

/// Products with `P` neighbouring panels, chunk by chunk.
pub(super) struct TileProducts<'a, 'b, L: Lanes, const P: usize> {
    lanes: L,
    unit: &'b L::Unit,
    buffers: &'b mut TileBuffers,
    /// The buffer that is filled next.
    next: usize,
    /// The scaling of the sums in the other buffer.
    pending: Option<Scaling<'a, L::F32, P>>,
}

impl<'a, 'b, L: Lanes, const P: usize> TileProducts<'a, 'b, L, P> {
    #[inline(always)]
    pub(super) fn new(lanes: L, unit: &'b L::Unit, buffers: &'b mut TileBuffers) -> Self {
        Self { lanes, unit, buffers, next: 0, pending: None }
    }

    /// Adds the shares of chunks, which are unpacked to `chunks`, to the `sums` of all blocks of each panel. The first chunk's
    /// share overwrites the sums. The last block's share is added by the next call, or by [`finish`](Self::finish).
    #[inline(always)]
    pub(super) fn add<const HALVES: bool, const SIGNED: bool>(
        &mut self,
        packed: &PackedChunks<'_, UnpackedChunk<HALVES, SIGNED>, P>,
        chunks: &mut [UnpackedChunk<HALVES, SIGNED>; P],
        inputs: &ChunkInputs<'a>,
        side_work: &mut SideWork<'_, '_, '_, P>,
        sums: &mut [&mut [BlockSums]; P],
    ) {
        let num_tiles = (packed.num_groups * GROUP_COLS).div_ceil(VECTOR_BYTES);
        for block in 0..sums[0].len() {
            let run = inputs.run(block);
            let TileBuffers { sums: [even, odd], gathered } = &mut *self.buffers;
            let (results, pending_sums) = if self.next == 0 { (even, odd) } else { (odd, even) };
            let results: &mut [_; P] = results.first_chunk_mut().expect("P panels");
            let mut columns = BlockColumns {
                lanes: self.lanes,
                packed: (block == 0).then_some(packed),
                num_tiles,
                chunks,
                run,
                gathered: gathered.first_chunk_mut().expect("P panels"),
                side_work,
                pending: self.pending.as_ref(),
                pending_sums: pending_sums.first_chunk().expect("P panels"),
                sums,
            };
            self.unit.multiply_bytes(num_tiles, &run.tiles, &mut columns, results);
            side_work.write_finished(self.lanes);
            if run.has_more_overflows() {
                for (chunk, results) in chunks.iter().zip(results) {
                    add_not_gathered(self.lanes, &chunk.vectors, run, results);
                }
            }
            let units = chunks.each_ref().map(|chunk| self.lanes.load(&chunk.unit));
            let is_first = inputs.is_first();
            self.pending = Some(Scaling { units, scales: &run.scales, block, is_first });
            self.next = 1 - self.next;
        }
    }

    /// Adds the last block's share.
    #[inline(always)]
    pub(super) fn finish(self, sums: &mut [&mut [BlockSums]; P]) {
        let Some(scaling) = self.pending else { return };
        let pending_sums = self.buffers.sums[1 - self.next].first_chunk().expect("P panels");
        for part in 0..CHUNK_TILES {
            scaling.part(self.lanes, part, pending_sums, sums);
        }
    }
}

/// The columns that one block is multiplied by. Between the products of tiles, they are unpacked for the first block, the
/// pending sums are scaled, and weights that follow are prefetched.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit uses it.
struct BlockColumns<'c, 'a, 'p, 't, 's, 'm, L: Lanes, C, const P: usize> {
    lanes: L,
    /// What is unpacked to `chunks`, unless that was done before.
    packed: Option<&'c PackedChunks<'c, C, P>>,
    num_tiles: usize,
    chunks: &'c mut [C; P],
    run: &'a ActivationRun<BLOCK_ROWS>,
    gathered: &'c mut [[ColumnTile; 2]; P],
    side_work: &'c mut SideWork<'p, 't, 's, P>,
    pending: Option<&'c Scaling<'a, L::F32, P>>,
    /// The sums that `pending` scales.
    pending_sums: &'c [ByteSums; P],
    sums: &'c mut [&'m mut [BlockSums]; P],
}

impl<L: Lanes, const P: usize, const HALVES: bool, const SIGNED: bool> ColumnTiles<P>
    for BlockColumns<'_, '_, '_, '_, '_, '_, L, UnpackedChunk<HALVES, SIGNED>, P>
{
    #[inline(always)]
    fn tile<const TILE: usize>(&mut self) -> [[&ColumnTile; 2]; P] {
        self.side_work.ahead.step(self.lanes);
        match self.packed {
            Some(packed) if TILE < self.num_tiles => {
                for (chunk, out) in packed.chunks.iter().zip(&mut *self.chunks) {
                    (packed.unpack_tile)(packed.level, chunk, packed.num_groups, TILE, out);
                }
            }
            _ => {}
        }
        if let Some(scaling) = self.pending {
            scaling.part(self.lanes, TILE, self.pending_sums, self.sums);
        }
        self.chunks.each_ref().map(|chunk| chunk.columns(TILE))
    }

    #[inline(always)]
    fn extra(&mut self) -> Option<ExtraTiles<'_, P>> {
        let (rows, fours) = self.run.gathered()?;
        for (at, four) in fours.enumerate() {
            for (columns, chunk) in self.gathered.iter_mut().zip(&*self.chunks) {
                columns[0][at] = chunk.vectors[four];
                columns[1][at] = chunk.vectors[CHUNK_VECTORS + four];
            }
        }
        Some(ExtraTiles { rows, columns: &*self.gathered })
    }
}

/// The scaling of the sums of one block.
struct Scaling<'a, F, const P: usize> {
    units: [F; P],
    scales: &'a [f32; BLOCK_ROWS],
    block: usize,
    /// Whether the share overwrites the sums.
    is_first: bool,
}

impl<F: Copy, const P: usize> Scaling<'_, F, P> {
    /// Scales a part of the rows, one of [`CHUNK_TILES`].
    #[inline(always)]
    fn part<L: Lanes<F32 = F>>(
        &self,
        lanes: L,
        part: usize,
        pending_sums: &[ByteSums; P],
        sums: &mut [&mut [BlockSums]; P],
    ) {
        const ROWS: usize = PANELS_TOGETHER * BLOCK_ROWS / CHUNK_TILES;
        const PARTS_PER_PANEL: usize = BLOCK_ROWS / ROWS;
        let panel = part / PARTS_PER_PANEL;
        if panel >= P {
            return;
        }
        let first = part % PARTS_PER_PANEL * ROWS;
        let [high, low] = &pending_sums[panel];
        let (high, low): (&[_; ROWS], &[_; ROWS]) = (rows_from(high, first), rows_from(low, first));
        let scales: &[_; ROWS] = rows_from(self.scales, first);
        let sums: &mut [_; ROWS] =
            sums[panel][self.block][first..].first_chunk_mut().expect("a part of a block");
        for (((CacheLine(sum), high), low), scale) in sums.iter_mut().zip(high).zip(low).zip(scales)
        {
            let high = lanes.shl8(lanes.load_i32(high));
            let total = lanes.to_f32(lanes.add_i32(high, lanes.load_i32(low)));
            let factor = lanes.mul(self.units[panel], lanes.splat(*scale));
            let before = if self.is_first { lanes.splat(0.0) } else { lanes.load(sum) };
            lanes.store(lanes.fma(total, factor, before), sum);
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
