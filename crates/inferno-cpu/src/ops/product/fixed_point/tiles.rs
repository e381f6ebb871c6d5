//! Products by the matrix unit: it multiplies high and low bytes of the integers. While it multiplies the next panel or block,
//! their sums are stored; during the product after that, they are scaled. So nothing waits for the end of a product.
//!
//! A block of 16 rows is multiplied by two panels, one after the other: tiles of activations, which come from the
//! second-level cache, are in the first-level cache for the second one, and weights are there for all blocks. They are
//! unpacked between the products of the first block, tile by tile. (Unpacked before, 16 rows took up to an eighth longer with
//! 4-bit weights.)
//!
//! (Tried: both panels at once, so that each tile of activations is loaded once, and their four sums are stored at the end of
//! each block: 16 rows took a tenth longer with Q8_0 and 4% with Q4_0, 256 rows as long. Prefetching the activations of the
//! next block during the second panel: no faster.)

use super::chunk::CHUNK_VECTORS;
use super::many_rows::ChunkInputs;
use super::unpacked::UnpackedChunk;
use crate::isa::Level;
use crate::lanes::{
    CHUNK_TILES, ColumnTile, ColumnTiles, ExtraTiles, LANES, Lanes, MatrixUnit, TileSums,
    VECTOR_BYTES,
};
use crate::ops::activations::{ActivationRun, BLOCK_ROWS, rows_from};
use crate::ops::product::side_work::{BlockSums, SideWork};
use crate::pack::codes::{GROUP_COLS, GROUP_VECTORS};
use crate::scratch::CacheLine;

/// The sums of a block with a panel: with high bytes and with low ones.
type ByteSums = [TileSums; 2];

/// Memory for results and operands of the unit.
#[repr(C, align(64))]
pub(super) struct TileBuffers {
    /// Sums of each of the unit's sets. Those of one set are scaled while those of the other are stored.
    sums: [ByteSums; 2],
    /// The high and the low bytes of the columns of gathered overflows.
    gathered: [ColumnTile; 2],
}

impl TileBuffers {
    pub(super) const EMPTY: Self = Self {
        sums: [[[[0; LANES]; BLOCK_ROWS]; 2]; 2],
        gathered: [[[0; VECTOR_BYTES]; LANES]; 2],
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

/// Products with neighbouring panels, chunk by chunk.
pub(super) struct TileProducts<'a, 'b, L: Lanes> {
    lanes: L,
    unit: &'b L::Unit,
    buffers: &'b mut TileBuffers,
    /// The set of the next product.
    set: usize,
    /// Whether the sums of the last product are not stored yet.
    is_in_unit: bool,
    /// The scaling of the last product of each set.
    pending: [Option<Scaling<'a, L::F32>>; 2],
}

impl<'a, 'b, L: Lanes> TileProducts<'a, 'b, L> {
    #[inline(always)]
    pub(super) fn new(lanes: L, unit: &'b L::Unit, buffers: &'b mut TileBuffers) -> Self {
        Self { lanes, unit, buffers, set: 0, is_in_unit: false, pending: [None, None] }
    }

    /// Adds the shares of chunks, which are unpacked to `chunks`, to the `sums` of all blocks of each panel. The first chunk's
    /// share overwrites the sums. The shares of the last two products are added by the next call, or by
    /// [`finish`](Self::finish).
    #[inline(always)]
    pub(super) fn add<const HALVES: bool, const SIGNED: bool, const P: usize>(
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
            for (panel, chunk) in chunks.iter_mut().enumerate() {
                let TileBuffers { sums: [even, odd], gathered } = &mut *self.buffers;
                let (own, other) = if self.set == 0 { (even, odd) } else { (odd, even) };
                let before = self.is_in_unit.then_some(other);
                let scaling = self.pending[self.set].as_ref();
                let mut columns = BlockColumns {
                    lanes: self.lanes,
                    packed: (block == 0).then_some((packed, panel)),
                    num_tiles,
                    chunk: &mut *chunk,
                    run,
                    gathered,
                    side_work,
                    scaling: scaling.map(|scaling| scaling.pending(own, sums)),
                };
                if self.set == 0 {
                    self.unit.multiply_bytes::<0>(num_tiles, &run.tiles, &mut columns, before);
                } else {
                    self.unit.multiply_bytes::<1>(num_tiles, &run.tiles, &mut columns, before);
                }
                self.is_in_unit = true;
                if run.has_more_overflows() {
                    self.store(self.set);
                    let sums = &mut self.buffers.sums[self.set];
                    add_not_gathered(self.lanes, &chunk.vectors, run, sums);
                }
                let (unit, is_first) = (self.lanes.load(&chunk.unit), inputs.is_first());
                let scaling = Scaling { unit, scales: &run.scales, panel, block, is_first };
                self.pending[self.set] = Some(scaling);
                self.set = 1 - self.set;
            }
            side_work.write_finished(self.lanes);
        }
    }

    /// Stores the sums of set `set`, if they are not stored yet.
    #[inline(always)]
    fn store(&mut self, set: usize) {
        if !self.is_in_unit {
            return;
        }
        let sums = &mut self.buffers.sums[set];
        if set == 0 {
            self.unit.store_bytes::<0>(sums);
        } else {
            self.unit.store_bytes::<1>(sums);
        }
        self.is_in_unit = false;
    }

    /// Adds the shares of the last two products.
    #[inline(always)]
    pub(super) fn finish<const P: usize>(mut self, sums: &mut [&mut [BlockSums]; P]) {
        self.store(1 - self.set);
        for set in [self.set, 1 - self.set] {
            if let Some(scaling) = &self.pending[set] {
                let mut scaling = scaling.pending(&self.buffers.sums[set], sums);
                for part in 0..CHUNK_TILES {
                    scaling.add_part(self.lanes, part);
                }
            }
        }
    }
}

/// The columns of a panel that one block is multiplied by. Between the products of tiles, they are unpacked for the first
/// block, pending sums are scaled, and weights that follow are prefetched.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit uses it.
struct BlockColumns<'c, 'a, 'p, 't, 's, L: Lanes, C, const P: usize> {
    lanes: L,
    /// What is unpacked to `chunk`, and the number of the panel, unless that was done before.
    packed: Option<(&'c PackedChunks<'c, C, P>, usize)>,
    num_tiles: usize,
    chunk: &'c mut C,
    run: &'a ActivationRun<BLOCK_ROWS>,
    gathered: &'c mut [ColumnTile; 2],
    side_work: &'c mut SideWork<'p, 't, 's, P>,
    scaling: Option<PendingSums<'c, L::F32>>,
}

impl<L: Lanes, const P: usize, const HALVES: bool, const SIGNED: bool> ColumnTiles
    for BlockColumns<'_, '_, '_, '_, '_, L, UnpackedChunk<HALVES, SIGNED>, P>
{
    #[inline(always)]
    fn tile<const TILE: usize>(&mut self) -> [&ColumnTile; 2] {
        self.side_work.ahead.step(self.lanes);
        match self.packed {
            Some((packed, panel)) if TILE < self.num_tiles => {
                let chunk = packed.chunks[panel];
                (packed.unpack_tile)(packed.level, chunk, packed.num_groups, TILE, self.chunk);
            }
            _ => {}
        }
        if let Some(scaling) = &mut self.scaling {
            scaling.add_part(self.lanes, TILE);
        }
        self.chunk.columns(TILE)
    }

    #[inline(always)]
    fn extra(&mut self) -> Option<ExtraTiles<'_>> {
        let (rows, fours) = self.run.gathered()?;
        let [high, low] = &mut *self.gathered;
        for (four, (high, low)) in fours.zip(high.iter_mut().zip(low)) {
            *high = self.chunk.vectors[four];
            *low = self.chunk.vectors[CHUNK_VECTORS + four];
        }
        Some(ExtraTiles { rows, columns: self.gathered })
    }
}

/// The scaling of the sums of one block with one panel.
struct Scaling<'a, F> {
    unit: F,
    scales: &'a [f32; BLOCK_ROWS],
    panel: usize,
    block: usize,
    /// Whether the share overwrites the sums.
    is_first: bool,
}

impl<F> Scaling<'_, F> {
    /// The scaling of `bytes`, with the sums of its block, which are some of the `sums` of all panels and blocks.
    #[inline(always)]
    fn pending<'s, const P: usize>(
        &'s self,
        bytes: &'s ByteSums,
        sums: &'s mut [&mut [BlockSums]; P],
    ) -> PendingSums<'s, F> {
        PendingSums { scaling: self, bytes, sums: &mut sums[self.panel][self.block] }
    }
}

/// Sums of one block with one panel that are to be scaled.
struct PendingSums<'s, F> {
    scaling: &'s Scaling<'s, F>,
    bytes: &'s ByteSums,
    sums: &'s mut BlockSums,
}

impl<F: Copy> PendingSums<'_, F> {
    /// Scales a part of the rows, one of [`CHUNK_TILES`], and adds it to the sums, or overwrites them with the first chunk's.
    #[inline(always)]
    fn add_part<L: Lanes<F32 = F>>(&mut self, lanes: L, part: usize) {
        const ROWS: usize = BLOCK_ROWS / CHUNK_TILES;
        const ZEROS: &[CacheLine; ROWS] = &[CacheLine([0.0; LANES]); ROWS];
        let first = part * ROWS;
        let [high, low] = self.bytes;
        let (high, low): (&[_; ROWS], &[_; ROWS]) = (rows_from(high, first), rows_from(low, first));
        let Scaling { unit, scales, is_first, .. } = *self.scaling;
        let scales: &[_; ROWS] = rows_from(scales, first);
        let sums: &mut [_; ROWS] = self.sums[first..].first_chunk_mut().expect("a part of a block");
        // A choice of addresses: a branch would be mispredicted in each panel.
        let before = if is_first { ZEROS } else { &*sums };
        // All loads precede the stores, since the compiler does not know that the sums are not among the operands.
        let mut totals = [lanes.splat(0.0); ROWS];
        for (row, CacheLine(before)) in before.iter().enumerate() {
            let high = lanes.shl8(lanes.load_i32(&high[row]));
            let share = lanes.to_f32(lanes.add_i32(high, lanes.load_i32(&low[row])));
            let factor = lanes.mul(unit, lanes.splat(scales[row]));
            totals[row] = lanes.fma(share, factor, lanes.load(before));
        }
        for (total, CacheLine(sum)) in totals.iter().zip(sums) {
            lanes.store(*total, sum);
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
