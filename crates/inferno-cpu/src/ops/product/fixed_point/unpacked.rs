//! Chunks that are unpacked for many rows.

use std::marker::PhantomData;
use std::ops::Range;

use super::chunk::{CHUNK_VECTORS, ChunkWeights, MAX_PARTS, PackedChunk, add_chunk};
use crate::lanes::{
    ColumnTile, ExtraTiles, Kernel, LANES, Lanes, MatrixUnit, OtherWork, TileSums, VECTOR_BYTES,
};
use crate::ops::activations::{ActivationRun, BLOCK_ROWS, rows_from};
use crate::ops::product::many_rows::{BlockSums, Chunk, ChunkInputs, Outputs, PrefetchAhead};
use crate::pack::QuantFormat;
use crate::pack::codes::{CHUNK_COLS, CodeLayout, GROUP_COLS, GROUP_VECTORS};
use crate::scratch::CacheLine;

/// A chunk for many rows. Vectors are aligned to cache lines: a small field before them would spread each over two.
#[repr(C, align(64))]
pub(super) struct UnpackedIntegers<const HALVES: bool, const SIGNED: bool> {
    /// The codes, vector by vector; or, for the matrix unit, the high bytes of the integers, then the low bytes.
    vectors: [[u8; VECTOR_BYTES]; 2 * CHUNK_VECTORS],
    factors: [[i32; LANES]; MAX_PARTS],
    /// The offsets of each pair of parts, unless codes are signed.
    offsets: [[u8; VECTOR_BYTES]; MAX_PARTS / 2],
    unit: [f32; LANES],
    /// Two buffers of sums of up to two blocks, with high and with low bytes. One is scaled while the unit fills the other.
    dots: [[[TileSums; 2]; 2]; 2],
    /// The columns of the gathered overflows, for each of two blocks.
    gathered: [[ColumnTile; 2]; 2],
    num_groups: usize,
}

/// Unpacks a chunk of format `F`.
pub(super) struct UnpackIntegers<'a, F, const HALVES: bool, const SIGNED: bool> {
    pub(super) packed: &'a [u8],
    pub(super) num_groups: usize,
    pub(super) for_tiles: bool,
    pub(super) out: &'a mut UnpackedIntegers<HALVES, SIGNED>,
    pub(super) format: PhantomData<F>,
}

impl<F: QuantFormat, const HALVES: bool, const SIGNED: bool> Kernel
    for UnpackIntegers<'_, F, HALVES, SIGNED>
{
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { packed, num_groups, for_tiles, out, .. } = self;
        let weights = PackedChunk::<L, F>::new(lanes, packed, num_groups);
        out.num_groups = num_groups;
        lanes.store(weights.unit, &mut out.unit);
        if for_tiles {
            const {
                assert!(F::Codes::SIGNED || !F::BYTE_FACTORS, "they are multiplied as signed bytes")
            };
            debug_assert_eq!(
                L::BYTE_OFFSET,
                128,
                "a matrix unit comes with products of unsigned bytes"
            );
            let part_vectors = GROUP_VECTORS / PackedChunk::<L, F>::PARTS;
            let (high, low) = out.vectors.split_at_mut(CHUNK_VECTORS);
            let parts = high.chunks_exact_mut(part_vectors).zip(low.chunks_exact_mut(part_vectors));
            for (part, (high, low)) in parts.take(weights.num_parts()).enumerate() {
                let factor = weights.factor(lanes, part);
                let factors = lanes.pair_i16(factor, factor);
                let offset = weights.offset(lanes, part);
                let offsets = lanes.pair_i16(offset, offset);
                let first = part * part_vectors;
                for (v, (high, low)) in high.iter_mut().zip(low).enumerate() {
                    let (group, v) = ((first + v) / GROUP_VECTORS, (first + v) % GROUP_VECTORS);
                    let bytes = if F::BYTE_FACTORS {
                        lanes.scaled_signed_bytes(weights.raw_codes(lanes, group, v), factors)
                    } else {
                        lanes.scaled_bytes(weights.codes(lanes, group, v), factors, offsets)
                    };
                    lanes.store_bytes(bytes[0], high);
                    lanes.store_bytes(bytes[1], low);
                }
            }
            return;
        }
        for (part, out) in out.factors[..weights.num_parts()].iter_mut().enumerate() {
            lanes.store_i32(weights.factor(lanes, part), out);
        }
        let num_pairs = if SIGNED { 0 } else { weights.num_parts().div_ceil(2) };
        for (pair, out) in out.offsets[..num_pairs].iter_mut().enumerate() {
            lanes.store_bytes(weights.offsets(lanes, pair), out);
        }
        for (group, out) in out.vectors.chunks_exact_mut(GROUP_VECTORS).take(num_groups).enumerate()
        {
            for (v, out) in out.iter_mut().enumerate() {
                lanes.store_bytes(weights.codes(lanes, group, v), out);
            }
        }
    }
}

impl<L: Lanes, const HALVES: bool, const SIGNED: bool> ChunkWeights<L>
    for UnpackedIntegers<HALVES, SIGNED>
{
    const HALVES: bool = HALVES;
    const SIGNED: bool = SIGNED;

    #[inline(always)]
    fn num_groups(&self) -> usize {
        self.num_groups
    }

    #[inline(always)]
    fn codes(&self, lanes: L, group: usize, v: usize) -> L::Bytes {
        lanes.load_bytes(&self.vectors[group * GROUP_VECTORS + v])
    }

    #[inline(always)]
    fn factor(&self, lanes: L, part: usize) -> L::I32 {
        lanes.load_i32(&self.factors[part])
    }

    #[inline(always)]
    fn offsets(&self, lanes: L, pair: usize) -> L::Bytes {
        lanes.load_bytes(&self.offsets[pair])
    }

    #[inline(always)]
    fn unit(&self, lanes: L) -> L::F32 {
        lanes.load(&self.unit)
    }

    #[inline(always)]
    fn prefetch(&self, _lanes: L, _group: usize) {}
}

impl<const HALVES: bool, const SIGNED: bool> Chunk for UnpackedIntegers<HALVES, SIGNED> {
    const EMPTY: Self = Self {
        vectors: [[0; VECTOR_BYTES]; 2 * CHUNK_VECTORS],
        factors: [[0; LANES]; MAX_PARTS],
        offsets: [[0; VECTOR_BYTES]; MAX_PARTS / 2],
        unit: [0.0; LANES],
        dots: [[[[[0; LANES]; BLOCK_ROWS]; 2]; 2]; 2],
        gathered: [[[[0; VECTOR_BYTES]; LANES]; 2]; 2],
        num_groups: 0,
    };

    #[inline(always)]
    fn add_rows<L: Lanes, const T: usize>(
        &self,
        lanes: L,
        inputs: &ChunkInputs<'_>,
        first_row: usize,
        first: usize,
        sums: [L::F32; T],
    ) -> [L::F32; T] {
        add_chunk(lanes, self, inputs.run(first_row), first, sums)
    }

    #[inline(always)]
    fn add_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: &L::Unit,
        inputs: &ChunkInputs<'_>,
        first_row: usize,
        ahead: PrefetchAhead<'_>,
        outputs: &mut Outputs<'_, '_, '_>,
        sums: &mut [BlockSums],
    ) {
        let num_tiles = (self.num_groups * GROUP_COLS).div_ceil(VECTOR_BYTES);
        let num_pairs = sums.len().div_ceil(2);
        let num_steps = num_pairs * num_tiles;
        let columns: &[ColumnTile] = bytemuck::cast_slice(&self.vectors);
        let (high, low) = columns.split_at(CHUNK_COLS / VECTOR_BYTES);
        let columns = [&high[..num_tiles], &low[..num_tiles]];
        let unit = lanes.load(&self.unit);
        let [even, odd] = &mut self.dots;
        let (mut dots, mut previous) = (even, odd);
        // Whose sums are not scaled yet.
        let mut waiting = 0..0;
        for pair in 0..num_pairs {
            let blocks = 2 * pair..sums.len().min(2 * pair + 2);
            outputs.prefetch(lanes, blocks.clone());
            let first = first_row + blocks.start * BLOCK_ROWS;
            let last = first_row + (blocks.end - 1) * BLOCK_ROWS;
            // If a single block is left, both are that block, and the results of the second one are not used.
            let runs = [inputs.run(first), inputs.run(last)];
            let mut extra = [None; 2];
            for ((run, columns), extra) in runs.iter().zip(&mut self.gathered).zip(&mut extra) {
                let Some((rows, fours)) = run.gathered() else { continue };
                for (at, four) in fours.enumerate() {
                    columns[0][at] = self.vectors[four];
                    columns[1][at] = self.vectors[CHUNK_VECTORS + four];
                }
                *extra = Some(ExtraTiles { rows, columns });
            }
            let scaling = Scaling { inputs, first_row, unit, dots: previous, blocks: waiting };
            let first_step = pair * num_tiles;
            let mut other = BetweenTiles {
                lanes,
                ahead,
                first_step,
                num_steps,
                outputs,
                scaling,
                sums,
                next_part: 0,
            };
            if blocks.len() == 2 {
                let rows = [&runs[0].tiles[..], &runs[1].tiles[..]];
                tiles.multiply_bytes(rows, columns, extra, dots, &mut other);
            } else {
                let dots = dots.first_chunk_mut::<1>().expect("two blocks");
                tiles.multiply_bytes([&runs[0].tiles], columns, [extra[0]], dots, &mut other);
            }
            other.finish();
            for (run, dots) in runs.iter().zip(&mut *dots) {
                if run.has_more_overflows() {
                    add_not_gathered(lanes, &self.vectors, run, dots);
                }
            }
            waiting = blocks;
            (dots, previous) = (previous, dots);
        }
        let scaling = Scaling { inputs, first_row, unit, dots: previous, blocks: waiting };
        for part in 0..SCALING_PARTS {
            scaling.part(lanes, part, sums);
        }
    }
}

/// What is done between the products of tiles: prefetches, and the scaling of previous products.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit uses it.
struct BetweenTiles<'a, 'p, 't, 's, L: Lanes> {
    lanes: L,
    ahead: PrefetchAhead<'a>,
    /// Prefetches are divided into `num_steps`, of which this is the first one.
    first_step: usize,
    num_steps: usize,
    outputs: &'a mut Outputs<'p, 't, 's>,
    scaling: Scaling<'a, L::F32>,
    sums: &'a mut [BlockSums],
    next_part: usize,
}

impl<L: Lanes> OtherWork for BetweenTiles<'_, '_, '_, '_, L> {
    #[inline(always)]
    fn before_tile(&mut self, tile: usize) {
        self.ahead.step(self.lanes, self.first_step + tile, self.num_steps);
        self.scaling.part(self.lanes, tile, self.sums);
        self.next_part = tile + 1;
    }
}

impl<L: Lanes> BetweenTiles<'_, '_, '_, '_, L> {
    /// Writes some rows of finished panels, and scales the rest if a chunk has few tiles.
    #[inline(always)]
    fn finish(self) {
        self.outputs.write(self.lanes);
        for part in self.next_part..SCALING_PARTS {
            self.scaling.part(self.lanes, part, self.sums);
        }
    }
}

/// Parts in which the sums of two blocks are scaled, one before each tile of a chunk.
const SCALING_PARTS: usize = CHUNK_COLS / VECTOR_BYTES;

/// The scaling of the sums of up to two blocks.
struct Scaling<'a, F> {
    inputs: &'a ChunkInputs<'a>,
    first_row: usize,
    unit: F,
    dots: &'a [[TileSums; 2]; 2],
    blocks: Range<usize>,
}

impl<F: Copy> Scaling<'_, F> {
    /// Scales a part of the rows.
    #[inline(always)]
    fn part<L: Lanes<F32 = F>>(&self, lanes: L, part: usize, sums: &mut [BlockSums]) {
        const ROWS: usize = 2 * BLOCK_ROWS / SCALING_PARTS;
        const PARTS_PER_BLOCK: usize = BLOCK_ROWS / ROWS;
        let place = part / PARTS_PER_BLOCK;
        if place >= self.blocks.len() {
            return;
        }
        let block = self.blocks.start + place;
        let first = part % PARTS_PER_BLOCK * ROWS;
        let input = self.inputs.run(self.first_row + block * BLOCK_ROWS);
        let [high, low] = &self.dots[place];
        let (high, low): (&[_; ROWS], &[_; ROWS]) = (rows_from(high, first), rows_from(low, first));
        let scales: &[_; ROWS] = rows_from(&input.scales, first);
        let sums: &mut [_; ROWS] =
            sums[block][first..].first_chunk_mut().expect("a part of a block");
        for (((CacheLine(sum), high), low), scale) in sums.iter_mut().zip(high).zip(low).zip(scales)
        {
            let high = lanes.shl8(lanes.load_i32(high));
            let total = lanes.to_f32(lanes.add_i32(high, lanes.load_i32(low)));
            let factor = lanes.mul(self.unit, lanes.splat(*scale));
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
