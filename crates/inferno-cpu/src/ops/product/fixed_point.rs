//! Products with weights of short codes: 256 columns become 16-bit integers with one scale.
//!
//! In a file, each 16 or 32 columns of a row have a scale, and in some formats a minimum: a weight is
//! `scale * code - min`. For the columns of a chunk (256, or the remainder of a row), the format defines a `unit` such
//! that all weights are approximately small multiples of it (`pack/scales.rs`). A group's factor is `scale / unit`,
//! rounded to the nearest integer, ties to even; its offset is `min / unit`, rounded likewise, or the factor times the
//! code of zero. A weight is `unit * (code * factor - offset)`: an integer of 16 bits, so that the sum of a chunk's
//! products with 8-bit activations is exact in 32 bits. If the unit is below 2^-100, all weights are zero.
//!
//! Vectors multiply codes, and each group's sum by its factor. The matrix unit multiplies the high and the low bytes of
//! the integers, whose sums are combined and scaled once per chunk.
//!
//! (Tried: integers for vectors too, which multiply them at half the speed: with AVX-512, products took a third longer,
//! with AVX-VNNI two thirds, and one row with 4-bit weights fell below the memory bandwidth.)

use std::marker::PhantomData;

use super::few_rows::{self, FewRowsKernel, PREFETCH_BYTES};
use super::many_rows::{self, BlockSums, Chunk, ChunkInputs, PrefetchAhead, Unpacking};
use super::task::Product;
use crate::isa::Level;
use crate::lanes::Kernel;
use crate::lanes::{ColumnTile, ExtraTiles, LANES, Lanes, MatrixUnit, TileSums, VECTOR_BYTES};
use crate::ops::activations::{ActivationRun, BLOCK_ROWS, four, rows_from};
use crate::ops::quantize::LOWEST;
use crate::pack::codes::{CHUNK_COLS, CHUNK_GROUPS, CodeLayout, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{FixedPointFormat, chunk_bytes, padded_scale_bytes};

/// The largest number of parts of a chunk with scales of their own.
const MAX_PARTS: usize = 2 * CHUNK_GROUPS;

/// Vectors of codes in a chunk.
const CHUNK_VECTORS: usize = CHUNK_GROUPS * GROUP_VECTORS;

/// A chunk of 16 rows of weights, the operand of [`add_chunk`].
trait ChunkWeights<L: Lanes> {
    /// Whether each half of a group has its own scale.
    const HALVES: bool;

    /// Number of groups of the chunk.
    fn num_groups(&self) -> usize;
    /// Codes `4 v..4 v + 4` of a group.
    fn codes(&self, lanes: L, group: usize, v: usize) -> L::Bytes;
    /// The factors of a part, which is a group or half of one.
    fn factor(&self, lanes: L, part: usize) -> L::I32;
    /// The offsets of parts `2 pair` and `2 pair + 1`, interleaved; zero if a part is missing.
    fn offsets(&self, lanes: L, pair: usize) -> L::Bytes;
    /// The unit of the integers.
    fn unit(&self, lanes: L) -> L::F32;
    /// Prefetches memory before a group is multiplied.
    fn prefetch(&self, lanes: L, group: usize);
}

/// Adds a chunk's share to the sums of `T` rows.
#[inline(always)]
fn add_chunk<L: Lanes, C: ChunkWeights<L>, const T: usize, const W: usize>(
    lanes: L,
    weights: &C,
    input: &ActivationRun<W>,
    first: usize,
    mut sums: [L::F32; T],
) -> [L::F32; T] {
    let parts = if C::HALVES { 2 } else { 1 };
    let mut totals = [lanes.splat_i32(0); T];
    for group in 0..weights.num_groups() {
        weights.prefetch(lanes, group);
        let (rows, at): (&[_; T], _) = input.rows(first, group);
        for half in 0..parts {
            let mut dots = [lanes.splat_i32(0); T];
            for v in half * GROUP_VECTORS / parts..(half + 1) * GROUP_VECTORS / parts {
                let codes = weights.codes(lanes, group, v);
                for (dot, row) in dots.iter_mut().zip(rows) {
                    *dot = lanes.in_program_order(lanes.dot_u7(*dot, codes, four(&row[at..], v)));
                }
            }
            let factor = weights.factor(lanes, group * parts + half);
            for (total, dot) in totals.iter_mut().zip(dots) {
                *total = lanes.add_i32(*total, lanes.mul_i32(dot, factor));
            }
        }
    }
    for pair in 0..(weights.num_groups() * parts).div_ceil(2) {
        let offsets = weights.offsets(lanes, pair);
        for (t, total) in totals.iter_mut().enumerate() {
            *total = lanes.dot_i16(*total, offsets, input.sums(first + t, C::HALVES)[pair]);
        }
    }
    for (t, total) in totals.iter_mut().enumerate() {
        for (group, v, four) in input.overflows(first + t) {
            let dot = lanes.dot_u7(lanes.splat_i32(0), weights.codes(lanes, group, v), four);
            let factor = weights.factor(lanes, group * parts + v * parts / GROUP_VECTORS);
            *total = lanes.add_i32(*total, lanes.mul_i32(dot, factor));
        }
    }
    let unit = weights.unit(lanes);
    let scales: &[_; T] = rows_from(&input.scales, first);
    for ((sum, total), scale) in sums.iter_mut().zip(totals).zip(scales) {
        let factor = lanes.mul(unit, lanes.splat(*scale));
        *sum = lanes.fma(lanes.to_f32(total), factor, *sum);
    }
    sums
}

/// A chunk in format `F`.
struct PackedChunk<'a, L: Lanes, F> {
    scales: &'a [u8],
    codes: &'a [u8],
    num_groups: usize,
    unit: L::F32,
    /// The inverse of the unit.
    inverse: L::F32,
    format: PhantomData<F>,
}

impl<'a, L: Lanes, F: FixedPointFormat> PackedChunk<'a, L, F> {
    /// Parts of a group.
    const PARTS: usize = if F::HALVES { 2 } else { 1 };

    #[inline(always)]
    fn new(lanes: L, chunk: &'a [u8], num_groups: usize) -> Self {
        let (scales, codes) = chunk.split_at(padded_scale_bytes::<F>(num_groups));
        let unit = F::unit(lanes, scales, num_groups);
        let inverse = lanes.div(lanes.splat(1.0), unit);
        let inverse = lanes.zero_below(unit, lanes.splat(LOWEST), inverse);
        Self { scales, codes, num_groups, unit, inverse, format: PhantomData }
    }

    #[inline(always)]
    fn group_codes(&self, group: usize) -> &'a [u8] {
        &self.codes[group * F::Codes::BYTES..][..F::Codes::BYTES]
    }

    #[inline(always)]
    fn num_parts(&self) -> usize {
        self.num_groups * Self::PARTS
    }

    /// The offsets of a part.
    #[inline(always)]
    fn offset(&self, lanes: L, part: usize) -> L::I32 {
        if !F::MINS {
            let zero = lanes.splat_i32(F::RANGE.zero);
            return lanes.mul_i32(self.factor(lanes, part), zero);
        }
        let min = F::min(lanes, self.scales, part / Self::PARTS, part % Self::PARTS);
        lanes.round_i32(lanes.mul(min, self.inverse))
    }
}

impl<L: Lanes, F: FixedPointFormat> ChunkWeights<L> for PackedChunk<'_, L, F> {
    const HALVES: bool = F::HALVES;

    #[inline(always)]
    fn num_groups(&self) -> usize {
        self.num_groups
    }

    #[inline(always)]
    fn codes(&self, lanes: L, group: usize, v: usize) -> L::Bytes {
        F::Codes::vector(lanes, self.group_codes(group), v)
    }

    #[inline(always)]
    fn factor(&self, lanes: L, part: usize) -> L::I32 {
        let scale = F::scale(lanes, self.scales, part / Self::PARTS, part % Self::PARTS);
        lanes.round_i32(lanes.mul(scale, self.inverse))
    }

    #[inline(always)]
    fn offsets(&self, lanes: L, pair: usize) -> L::Bytes {
        let first = self.offset(lanes, 2 * pair);
        let second = if 2 * pair + 1 < self.num_parts() {
            self.offset(lanes, 2 * pair + 1)
        } else {
            lanes.splat_i32(0)
        };
        lanes.pair_i16(first, second)
    }

    #[inline(always)]
    fn unit(&self, _lanes: L) -> L::F32 {
        self.unit
    }

    #[inline(always)]
    fn prefetch(&self, lanes: L, group: usize) {
        if group == 0 {
            for line in self.scales.chunks_exact(VECTOR_BYTES) {
                lanes.prefetch(line, PREFETCH_BYTES);
            }
        }
        for line in self.group_codes(group).chunks_exact(VECTOR_BYTES) {
            lanes.prefetch(line, PREFETCH_BYTES);
        }
    }
}

/// Multiplies by weights of format `F`.
pub(crate) fn fixed_point<F: FixedPointFormat>(level: Level, product: Product<'_>) {
    if few_rows::handles(level, product.target.rows().len()) {
        return few_rows::run::<FixedPoint<F>>(level, product);
    }
    // Two kernels serve all formats.
    if F::HALVES { many::<F, true>(level, product) } else { many::<F, false>(level, product) }
}

/// Weights of format `F` for one block of rows.
struct FixedPoint<F>(PhantomData<F>);

impl<F: FixedPointFormat> FewRowsKernel for FixedPoint<F> {
    type Input<const W: usize> = ActivationRun<W>;

    #[inline(always)]
    fn panel_sums<L: Lanes, const T: usize, const W: usize>(
        lanes: L,
        panel: &[u8],
        cols: usize,
        inputs: &[ActivationRun<W>],
        first: usize,
    ) -> [L::F32; T] {
        let mut sums = [lanes.splat(0.0); T];
        let chunks = panel.chunks(chunk_bytes::<F>(CHUNK_GROUPS));
        for (run, (input, chunk)) in inputs.iter().zip(chunks).enumerate() {
            let num_groups = CHUNK_GROUPS.min(cols.div_ceil(GROUP_COLS) - run * CHUNK_GROUPS);
            let weights = PackedChunk::<L, F>::new(lanes, chunk, num_groups);
            sums = add_chunk(lanes, &weights, input, first, sums);
        }
        sums
    }
}

/// Multiplies many rows.
fn many<F: FixedPointFormat, const HALVES: bool>(level: Level, product: Product<'_>) {
    let unpack = |level: Level, packed: &[u8], num_groups, out: &mut UnpackedIntegers<HALVES>| {
        let for_tiles = level.has_matrix_unit();
        level.run(UnpackIntegers { packed, num_groups, for_tiles, out, format: PhantomData::<F> });
    };
    let chunk_bytes = chunk_bytes::<F>(CHUNK_GROUPS);
    many_rows::run(level, product, Unpacking { chunk_bytes, unpack });
}

/// A chunk for many rows. Vectors are aligned to cache lines: a small field before them would spread each over two.
#[repr(C, align(64))]
struct UnpackedIntegers<const HALVES: bool> {
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
struct UnpackIntegers<'a, F, const HALVES: bool> {
    packed: &'a [u8],
    num_groups: usize,
    for_tiles: bool,
    out: &'a mut UnpackedIntegers<HALVES>,
    format: PhantomData<F>,
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
        let blocks: [_; 2] = std::array::from_fn(|block| {
            inputs.run(first_row + block.min(sums.len() - 1) * BLOCK_ROWS)
        });
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
            blocks.map(|input| &input.tiles[..]),
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
