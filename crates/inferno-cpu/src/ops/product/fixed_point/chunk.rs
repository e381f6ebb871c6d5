//! Chunks of weights as factors, offsets and a unit, and their products with activations by vectors.

use std::marker::PhantomData;

use crate::lanes::{Lanes, VECTOR_BYTES};
use crate::ops::activations::{ActivationRun, four, rows_from};
use crate::ops::product::row_pairs;
use crate::ops::quantize::LOWEST;
use crate::pack::codes::{CHUNK_GROUPS, CodeLayout, GROUP_VECTORS};
use crate::pack::{QuantFormat, padded_scale_bytes};
use crate::prefetch::Prefetch;

/// The largest number of parts of a chunk with separate scales.
pub(super) const MAX_PARTS: usize = 2 * CHUNK_GROUPS;

/// Vectors of codes in a chunk.
pub(super) const CHUNK_VECTORS: usize = CHUNK_GROUPS * GROUP_VECTORS;

/// A chunk of 16 rows of weights, the operand of [`add_chunk`].
pub(super) trait ChunkWeights<L: Lanes> {
    /// Whether each half of a group has its own scale.
    const HALVES: bool;
    /// Whether codes are operands of [`dot_i8`](crate::lanes::DotLanes::dot_i8), otherwise of
    /// [`dot_u7`](crate::lanes::DotLanes::dot_u7).
    const SIGNED: bool;

    /// Number of groups of the chunk.
    fn num_groups(&self) -> usize;
    /// Codes `4 v..4 v + 4` of a group.
    fn codes(&self, lanes: L, group: usize, v: usize) -> L::Bytes;
    /// The factors of a part, which is a group or half of one.
    fn factor(&self, lanes: L, part: usize) -> L::I32;
    /// The offsets of parts `2 pair` and `2 pair + 1`, interleaved; zero if a part is missing. Not for signed codes.
    fn offsets(&self, lanes: L, pair: usize) -> L::Bytes;
    /// The unit of the integers.
    fn unit(&self, lanes: L) -> L::F32;
    /// Prefetches memory before a group is multiplied.
    fn prefetch(&self, lanes: L, group: usize);
}

/// Adds a chunk's share to the sums of `T` rows.
#[inline(always)]
pub(super) fn add_chunk<L: Lanes, C: ChunkWeights<L>, const T: usize, const W: usize>(
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
            let vectors = half * GROUP_VECTORS / parts..(half + 1) * GROUP_VECTORS / parts;
            let mut dots = [lanes.splat_i32(0); T];
            if L::ROW_PAIRS && T % 2 == 0 {
                let codes = |v| weights.codes(lanes, group, v);
                dots = row_pairs::dots(lanes, codes, vectors, rows, at);
            } else {
                if C::SIGNED && L::BYTE_OFFSET != 0 {
                    let starts: &[_; T] = rows_from(&input.starts[group], first);
                    for (dot, start) in dots.iter_mut().zip(starts) {
                        *dot = lanes.splat_i32(*start);
                    }
                }
                for v in vectors {
                    let codes = weights.codes(lanes, group, v);
                    for (dot, row) in dots.iter_mut().zip(rows) {
                        let four = four(&row[at..], v);
                        *dot = lanes.in_program_order(dot_four::<L, C>(lanes, *dot, codes, four));
                    }
                }
            }
            let factor = weights.factor(lanes, group * parts + half);
            for (total, dot) in totals.iter_mut().zip(dots) {
                *total = lanes.add_i32(*total, lanes.mul_i32(dot, factor));
            }
        }
    }
    let num_pairs = (weights.num_groups() * parts).div_ceil(2);
    for pair in 0..if C::SIGNED { 0 } else { num_pairs } {
        let offsets = weights.offsets(lanes, pair);
        for (t, total) in totals.iter_mut().enumerate() {
            *total = lanes.dot_i16(*total, offsets, input.sums(first + t, C::HALVES)[pair]);
        }
    }
    if input.has_overflows() {
        for (t, total) in totals.iter_mut().enumerate() {
            for (group, v, four) in input.overflows(first + t) {
                let codes = weights.codes(lanes, group, v);
                let dot = dot_four::<L, C>(lanes, lanes.splat_i32(0), codes, four);
                let factor = weights.factor(lanes, group * parts + v * parts / GROUP_VECTORS);
                *total = lanes.add_i32(*total, lanes.mul_i32(dot, factor));
            }
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

/// Adds the products of four columns to `sum`.
#[inline(always)]
fn dot_four<L: Lanes, C: ChunkWeights<L>>(
    lanes: L,
    sum: L::I32,
    codes: L::Bytes,
    four: [i8; 4],
) -> L::I32 {
    if C::SIGNED { lanes.dot_i8(sum, codes, four) } else { lanes.dot_u7(sum, codes, four) }
}

/// A chunk in format `F`.
pub(super) struct PackedChunk<'a, L: Lanes, F> {
    scales: &'a [u8],
    codes: &'a [u8],
    num_groups: usize,
    pub(super) unit: L::F32,
    /// The inverse of the unit.
    pub(super) inverse: L::F32,
    /// How the chunks after it are prefetched while it is multiplied, if they are.
    prefetch: Option<Prefetch>,
    format: PhantomData<F>,
}

impl<'a, L: Lanes, F: QuantFormat> PackedChunk<'a, L, F> {
    /// Parts of a group.
    pub(super) const PARTS: usize = if F::HALVES { 2 } else { 1 };

    #[inline(always)]
    pub(super) fn new(lanes: L, chunk: &'a [u8], num_groups: usize) -> Self {
        let scales = &chunk[..padded_scale_bytes::<F>(num_groups)];
        let unit = F::unit(lanes, scales, num_groups);
        let inverse = lanes.div(lanes.splat(1.0), unit);
        let inverse = lanes.zero_below(unit, lanes.splat(LOWEST), inverse);
        Self::with_unit(chunk, num_groups, unit, inverse)
    }

    /// Prefetches the chunks after it while it is multiplied.
    #[inline(always)]
    pub(super) fn prefetching(self, prefetch: Prefetch) -> Self {
        Self { prefetch: Some(prefetch), ..self }
    }

    /// A chunk whose unit and its inverse are known.
    #[inline(always)]
    pub(super) fn with_unit(
        chunk: &'a [u8],
        num_groups: usize,
        unit: L::F32,
        inverse: L::F32,
    ) -> Self {
        let (scales, codes) = chunk.split_at(padded_scale_bytes::<F>(num_groups));
        Self { scales, codes, num_groups, unit, inverse, prefetch: None, format: PhantomData }
    }

    #[inline(always)]
    fn group_codes(&self, group: usize) -> &'a [u8] {
        &self.codes[group * F::Codes::BYTES..][..F::Codes::BYTES]
    }

    /// Codes `4 v..4 v + 4` of a group, not converted to an operand of products.
    #[inline(always)]
    pub(super) fn raw_codes(&self, lanes: L, group: usize, v: usize) -> L::Bytes {
        F::Codes::vector(lanes, self.group_codes(group), v)
    }

    #[inline(always)]
    pub(super) fn num_parts(&self) -> usize {
        self.num_groups * Self::PARTS
    }

    /// The offsets of a part.
    #[inline(always)]
    pub(super) fn offset(&self, lanes: L, part: usize) -> L::I32 {
        if F::Codes::SIGNED {
            return lanes.mul_i32(self.factor(lanes, part), lanes.splat_i32(L::BYTE_OFFSET));
        }
        if !F::MINS {
            let zero = lanes.splat_i32(F::Codes::RANGE.zero);
            return lanes.mul_i32(self.factor(lanes, part), zero);
        }
        let min = F::min(lanes, self.scales, part / Self::PARTS, part % Self::PARTS);
        lanes.round_i32(lanes.mul(min, self.inverse))
    }
}

impl<L: Lanes, F: QuantFormat> ChunkWeights<L> for PackedChunk<'_, L, F> {
    const HALVES: bool = F::HALVES;
    const SIGNED: bool = F::Codes::SIGNED;

    #[inline(always)]
    fn num_groups(&self) -> usize {
        self.num_groups
    }

    #[inline(always)]
    fn codes(&self, lanes: L, group: usize, v: usize) -> L::Bytes {
        let codes = self.raw_codes(lanes, group, v);
        if F::Codes::SIGNED { lanes.operand_i8(codes) } else { codes }
    }

    #[inline(always)]
    fn factor(&self, lanes: L, part: usize) -> L::I32 {
        F::factor(lanes, self.scales, part / Self::PARTS, part % Self::PARTS, self.inverse)
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
        let Some(prefetch) = self.prefetch else { return };
        if group == 0 {
            for line in self.scales.chunks_exact(VECTOR_BYTES) {
                prefetch.ahead_of(lanes, line);
            }
        }
        for line in self.group_codes(group).chunks_exact(VECTOR_BYTES) {
            prefetch.ahead_of(lanes, line);
        }
    }
}
