//! Chunks that are unpacked for many rows.

use std::marker::PhantomData;

use super::chunk::{CHUNK_VECTORS, ChunkWeights, MAX_PARTS, PackedChunk};
use crate::isa::Level;
use crate::lanes::{CHUNK_TILES, ColumnTile, Kernel, LANES, Lanes, VECTOR_BYTES};
use crate::ops::activations::TILE_COLS;
use crate::pack::QuantFormat;
use crate::pack::codes::{CodeLayout, GROUP_COLS, GROUP_VECTORS};

/// Groups of columns of a tile.
const TILE_GROUPS: usize = TILE_COLS / GROUP_COLS;

/// A chunk for many rows. Vectors are aligned to cache lines: a small field before them would spread each over two.
#[repr(C, align(64))]
pub(super) struct UnpackedChunk<const HALVES: bool, const SIGNED: bool> {
    /// The codes, vector by vector; or, for the matrix unit, the high bytes of the integers, then the low bytes.
    pub(super) vectors: [[u8; VECTOR_BYTES]; 2 * CHUNK_VECTORS],
    factors: [[i32; LANES]; MAX_PARTS],
    /// The offsets of each pair of parts, unless codes are signed.
    offsets: [[u8; VECTOR_BYTES]; MAX_PARTS / 2],
    pub(super) unit: [f32; LANES],
    /// The inverse of the unit, while tiles are unpacked.
    inverse: [f32; LANES],
    /// Groups of the codes.
    num_groups: usize,
}

impl<const HALVES: bool, const SIGNED: bool> UnpackedChunk<HALVES, SIGNED> {
    /// The high and the low bytes of a tile of the integers.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit reads them.
    #[inline(always)]
    pub(super) fn columns(&self, tile: usize) -> [&ColumnTile; 2] {
        let tiles: &[ColumnTile] = bytemuck::cast_slice(&self.vectors);
        [&tiles[tile], &tiles[CHUNK_TILES + tile]]
    }

    /// Without groups.
    pub(super) const EMPTY: Self = Self {
        vectors: [[0; VECTOR_BYTES]; 2 * CHUNK_VECTORS],
        factors: [[0; LANES]; MAX_PARTS],
        offsets: [[0; VECTOR_BYTES]; MAX_PARTS / 2],
        unit: [0.0; LANES],
        inverse: [0.0; LANES],
        num_groups: 0,
    };
}

/// How chunks of a format are unpacked.
pub(super) struct Unpacking<C> {
    /// Bytes of a whole chunk.
    pub(super) chunk_bytes: usize,
    /// Unpacks a chunk with the given number of groups for vectors.
    pub(super) unpack: fn(Level, &[u8], usize, &mut C),
    /// Unpacks one tile of a chunk with the given number of groups for the matrix unit, after the tiles before it.
    pub(super) unpack_tile: fn(Level, &[u8], usize, usize, &mut C),
}

/// Unpacks tile `tile` of a chunk of format `F` to the integers.
pub(super) struct UnpackTile<'a, F, const HALVES: bool, const SIGNED: bool> {
    pub(super) packed: &'a [u8],
    pub(super) num_groups: usize,
    pub(super) tile: usize,
    pub(super) out: &'a mut UnpackedChunk<HALVES, SIGNED>,
    pub(super) format: PhantomData<F>,
}

impl<F: QuantFormat, const HALVES: bool, const SIGNED: bool> Kernel
    for UnpackTile<'_, F, HALVES, SIGNED>
{
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        const { assert!(F::Codes::SIGNED || !F::BYTE_FACTORS, "they are multiplied as signed bytes") };
        debug_assert_eq!(
            L::BYTE_OFFSET,
            128,
            "a matrix unit comes with products of unsigned bytes"
        );
        let Self { packed, num_groups, tile, out, .. } = self;
        let weights = if tile == 0 {
            let weights = PackedChunk::<L, F>::new(lanes, packed, num_groups);
            lanes.store(weights.unit, &mut out.unit);
            lanes.store(weights.inverse, &mut out.inverse);
            weights
        } else {
            let (unit, inverse) = (lanes.load(&out.unit), lanes.load(&out.inverse));
            PackedChunk::with_unit(packed, num_groups, unit, inverse)
        };
        let parts = PackedChunk::<L, F>::PARTS;
        let part_vectors = GROUP_VECTORS / parts;
        let first_part = tile * TILE_GROUPS * parts;
        let (high, low) = out.vectors.split_at_mut(CHUNK_VECTORS);
        let first_vector = first_part * part_vectors;
        let high = high[first_vector..].chunks_exact_mut(part_vectors);
        let vectors = high.zip(low[first_vector..].chunks_exact_mut(part_vectors));
        let parts = first_part..weights.num_parts().min(first_part + TILE_GROUPS * parts);
        for (part, (high, low)) in parts.zip(vectors) {
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
    }
}

/// Unpacks the codes of a chunk of format `F` for vectors.
pub(super) struct UnpackCodes<'a, F, const HALVES: bool, const SIGNED: bool> {
    pub(super) packed: &'a [u8],
    pub(super) num_groups: usize,
    pub(super) out: &'a mut UnpackedChunk<HALVES, SIGNED>,
    pub(super) format: PhantomData<F>,
}

impl<F: QuantFormat, const HALVES: bool, const SIGNED: bool> Kernel
    for UnpackCodes<'_, F, HALVES, SIGNED>
{
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { packed, num_groups, out, .. } = self;
        let weights = PackedChunk::<L, F>::new(lanes, packed, num_groups);
        out.num_groups = num_groups;
        lanes.store(weights.unit, &mut out.unit);
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
    for UnpackedChunk<HALVES, SIGNED>
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
