//! Chunks that are unpacked for many rows.

use std::marker::PhantomData;

use super::chunk::{CHUNK_VECTORS, ChunkWeights, MAX_PARTS, PackedChunk, add_chunk};
use crate::lanes::{
    ColumnTile, ExtraTiles, Kernel, LANES, Lanes, MatrixUnit, TileSums, VECTOR_BYTES,
};
use crate::ops::activations::{ActivationRun, BLOCK_ROWS};
use crate::ops::product::many_rows::{BlockSums, Chunk, ChunkInputs, PrefetchAhead};
use crate::pack::FixedPointFormat;
use crate::pack::codes::{CHUNK_COLS, GROUP_COLS, GROUP_VECTORS};

/// A chunk for many rows. Vectors are aligned to cache lines: a small field before them would spread each over two.
#[repr(C, align(64))]
pub(super) struct UnpackedIntegers<const HALVES: bool> {
    /// The codes, vector by vector; or, for the matrix unit, the high halves of the integers, then the low halves.
    vectors: [[u8; VECTOR_BYTES]; 2 * CHUNK_VECTORS],
    factors: [[i32; LANES]; MAX_PARTS],
    /// The offsets of each pair of parts.
    offsets: [[u8; VECTOR_BYTES]; MAX_PARTS / 2],
    unit: [f32; LANES],
    dots: [TileSums; 4],
    /// The columns of the gathered overflows, for each of two blocks.
    gathered: [[ColumnTile; 2]; 2],
    num_groups: usize,
}

/// Unpacks a chunk of format `F`.
pub(super) struct UnpackIntegers<'a, F, const HALVES: bool> {
    pub(super) packed: &'a [u8],
    pub(super) num_groups: usize,
    pub(super) for_tiles: bool,
    pub(super) out: &'a mut UnpackedIntegers<HALVES>,
    pub(super) format: PhantomData<F>,
}

impl<F: FixedPointFormat, const HALVES: bool> Kernel for UnpackIntegers<'_, F, HALVES> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { packed, num_groups, for_tiles, out, .. } = self;
        let weights = PackedChunk::<L, F>::new(lanes, packed, num_groups);
        out.num_groups = num_groups;
        lanes.store(weights.unit, &mut out.unit);
        if for_tiles {
            let part_vectors = GROUP_VECTORS / PackedChunk::<L, F>::PARTS;
            let (high, low) = out.vectors.split_at_mut(CHUNK_VECTORS);
            let halves =
                high.chunks_exact_mut(part_vectors).zip(low.chunks_exact_mut(part_vectors));
            for (part, (high, low)) in halves.take(weights.num_parts()).enumerate() {
                let (factor, offset) = (weights.factor(lanes, part), weights.offset(lanes, part));
                let factors = lanes.pair_i16(factor, factor);
                let offsets = lanes.pair_i16(offset, offset);
                let first = part * part_vectors;
                for (v, (high, low)) in high.iter_mut().zip(low).enumerate() {
                    let (group, v) = ((first + v) / GROUP_VECTORS, (first + v) % GROUP_VECTORS);
                    let codes = weights.codes(lanes, group, v);
                    let halves = lanes.scaled_halves(codes, factors, offsets);
                    lanes.store_bytes(halves[0], high);
                    lanes.store_bytes(halves[1], low);
                }
            }
            return;
        }
        for (part, out) in out.factors[..weights.num_parts()].iter_mut().enumerate() {
            lanes.store_i32(weights.factor(lanes, part), out);
        }
        let num_pairs = weights.num_parts().div_ceil(2);
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

impl<L: Lanes, const HALVES: bool> ChunkWeights<L> for UnpackedIntegers<HALVES> {
    const HALVES: bool = HALVES;

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

impl<const HALVES: bool> Chunk for UnpackedIntegers<HALVES> {
    const EMPTY: Self = Self {
        vectors: [[0; VECTOR_BYTES]; 2 * CHUNK_VECTORS],
        factors: [[0; LANES]; MAX_PARTS],
        offsets: [[0; VECTOR_BYTES]; MAX_PARTS / 2],
        unit: [0.0; LANES],
        dots: [[[0; LANES]; BLOCK_ROWS]; 4],
        gathered: [[[[0; VECTOR_BYTES]; LANES]; 2]; 2],
        num_groups: 0,
    };
    // Products of 512 rows by 1024 columns are a sixth faster than with 8.
    const MAX_BLOCKS: usize = 32;
    const TILE_COLS: usize = VECTOR_BYTES;

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
        _packed: &[u8],
        inputs: &ChunkInputs<'_>,
        first_row: usize,
        ahead: &PrefetchAhead<'_>,
        sums: &mut [BlockSums],
    ) {
        // A single block is multiplied twice.
        let second_row = first_row + (sums.len() - 1).min(1) * BLOCK_ROWS;
        let blocks = [inputs.run(first_row), inputs.run(second_row)];
        let num_tiles = (self.num_groups * GROUP_COLS).div_ceil(VECTOR_BYTES);
        let columns: &[ColumnTile] = bytemuck::cast_slice(&self.vectors);
        let (high, low) = columns.split_at(CHUNK_COLS / VECTOR_BYTES);
        let mut extra = [None; 2];
        for ((input, columns), extra) in blocks.iter().zip(&mut self.gathered).zip(&mut extra) {
            let Some((rows, fours)) = input.gathered() else { continue };
            for (at, four) in fours.enumerate() {
                columns[0][at] = self.vectors[four];
                columns[1][at] = self.vectors[CHUNK_VECTORS + four];
            }
            *extra = Some(ExtraTiles { rows, columns });
        }
        tiles.multiply_two(
            [&blocks[0].tiles[..], &blocks[1].tiles[..]],
            [&high[..num_tiles], &low[..num_tiles]],
            extra,
            &mut self.dots,
            ahead.in_steps(lanes, num_tiles),
        );
        let unit = lanes.load(&self.unit);
        for (block, (input, sums)) in blocks.iter().zip(sums).enumerate() {
            if input.has_more_overflows() {
                self.add_not_gathered(lanes, input, block);
            }
            let (high, low) = (&self.dots[2 * block], &self.dots[2 * block + 1]);
            for row in 0..BLOCK_ROWS {
                let high = lanes.shl8(lanes.load_i32(&high[row]));
                let total = lanes.to_f32(lanes.add_i32(high, lanes.load_i32(&low[row])));
                let factor = lanes.mul(unit, lanes.splat(input.scales[row]));
                let sum = lanes.fma(total, factor, lanes.load(&sums[row].0));
                lanes.store(sum, &mut sums[row].0);
            }
        }
    }
}

impl<const HALVES: bool> UnpackedIntegers<HALVES> {
    /// Adds the overflows of a block that are not gathered to the sums of the low halves.
    #[inline(always)]
    fn add_not_gathered<L: Lanes>(
        &mut self,
        lanes: L,
        input: &ActivationRun<BLOCK_ROWS>,
        block: usize,
    ) {
        for (row, dots) in self.dots[2 * block + 1].iter_mut().enumerate() {
            let mut total = lanes.load_i32(dots);
            for (group, v, four) in input.not_gathered(row) {
                let at = group * GROUP_VECTORS + v;
                let sum: i32 = four.iter().map(|&quant| i32::from(quant)).sum();
                let dot = |half: &[u8; VECTOR_BYTES]| {
                    let operand = lanes.operand_i8(lanes.load_bytes(half));
                    lanes.dot_i8(lanes.dot_i8_start(-128 * sum), operand, four)
                };
                let high = dot(&self.vectors[at]);
                let low = dot(&self.vectors[CHUNK_VECTORS + at]);
                total = lanes.add_i32(total, lanes.add_i32(lanes.shl8(high), low));
            }
            lanes.store_i32(total, dots);
        }
    }
}
