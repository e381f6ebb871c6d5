//! Weights that are vectors of a codebook, packed as in the file: indices and signs.
//!
//! A group holds, for 16 rows side by side: the lower 8 bits of the indices, one byte per vector, four vectors of a row
//! together; 32 sign bits per row, unless the codebook is ternary; and the upper bits of the indices, row by row. In
//! ternary formats, the sign bit of a vector is the highest bit of its index. Codes are quants plus their largest
//! magnitude.

use std::marker::PhantomData;
use std::ops::Range;

use inferno_tensor::quant::{self, CodebookBlock, SymmetricFactors};

use super::codes::{CodeLayout, CodeRange, GROUP_COLS};
use super::quantized::QuantFormat;
use super::scales::{OddScale, Scales};
use crate::lanes::{LANES, Lanes, VECTOR_BYTES};

/// Weights in blocks `B` with `N` scales.
pub(crate) struct CodebookWeights<B, const N: usize>(PhantomData<B>);

/// The layout of their indices and signs.
pub(crate) struct CodebookCodes<B>(PhantomData<B>);

impl<B, const N: usize> Clone for CodebookWeights<B, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B, const N: usize> Copy for CodebookWeights<B, N> {}

impl<B> Clone for CodebookCodes<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for CodebookCodes<B> {}

/// Bits of an index that are stored in its byte.
const LOW_BITS: u32 = 8;

impl<B: CodebookBlock> CodebookCodes<B> {
    /// Vectors of a row in a group.
    const VECTORS: usize = GROUP_COLS / B::VECTOR_LEN;
    /// Upper bits of an index, with the sign bit of ternary formats. They divide a byte.
    const HIGH_BITS: usize = (B::INDEX_BITS - LOW_BITS) as usize + B::IS_TERNARY as usize;
    /// Offset of the sign bits.
    const SIGNS: usize = Self::VECTORS * LANES;
    /// Offset of the upper bits.
    const HIGH: usize = Self::SIGNS + if B::IS_TERNARY { 0 } else { LANES * GROUP_COLS / 8 };

    /// The byte of the lower bits of an index.
    const fn low_byte(row: usize, vector: usize) -> usize {
        vector / 4 * VECTOR_BYTES + 4 * row + vector % 4
    }

    /// The byte of the upper bits of an index, and their shift.
    const fn high_bits(row: usize, vector: usize) -> (usize, usize) {
        let bit = (row * Self::VECTORS + vector) * Self::HIGH_BITS;
        (Self::HIGH + bit / 8, bit % 8)
    }

    /// Stores group `number` of a block, which is row `row` of 16, in a zeroed group.
    fn pack(block: &B, number: usize, row: usize, group: &mut [u8]) {
        for vector in 0..Self::VECTORS {
            let index = block.index(number * Self::VECTORS + vector);
            group[Self::low_byte(row, vector)] = index as u8;
            if Self::HIGH_BITS > 0 {
                let octet = (number * GROUP_COLS + vector * B::VECTOR_LEN) / 8;
                let sign = B::IS_TERNARY && block.signs(octet) != 0;
                let high = index >> LOW_BITS | usize::from(sign) << (Self::HIGH_BITS - 1);
                let (byte, shift) = Self::high_bits(row, vector);
                group[byte] |= (high << shift) as u8;
            }
        }
        if !B::IS_TERNARY {
            for octet in 0..GROUP_COLS / 8 {
                let byte = Self::SIGNS + row * GROUP_COLS / 8 + octet;
                group[byte] = block.signs(number * GROUP_COLS / 8 + octet);
            }
        }
    }

    /// The codes of four columns of a row.
    #[inline(always)]
    fn word(group: &[u8], row: usize, v: usize) -> u32 {
        const ONES: u32 = 0x0101_0101;
        let words_per_vector = B::VECTOR_LEN / 4;
        let vector = v / words_per_vector;
        let mut index = usize::from(group[Self::low_byte(row, vector)]);
        if Self::HIGH_BITS > 0 {
            let (byte, shift) = Self::high_bits(row, vector);
            let high = usize::from(group[byte]) >> shift & ((1 << Self::HIGH_BITS) - 1);
            index |= high << LOW_BITS;
        }
        let word = index * words_per_vector + v % words_per_vector;
        let elements = u32::from_le_bytes(B::CODEBOOK[word % B::CODEBOOK.len()]);
        if B::IS_TERNARY {
            let is_lower = index >> B::INDEX_BITS & 1;
            return elements + (2 - 2 * is_lower as u32) * ONES;
        }
        let signs = group[Self::SIGNS + row * GROUP_COLS / 8 + v / 2] >> (v % 2 * 4) & 0x0f;
        // One bit per byte, then all bits of the byte.
        let negative = ((u32::from(signs) * 0x0020_4081) & ONES) * 0xff;
        let zero = u32::from(B::MAX_QUANT) * ONES;
        let [positive, negated] = [zero + elements, zero - elements];
        positive ^ ((positive ^ negated) & negative)
    }
}

impl<B: CodebookBlock + Send + Sync> CodeLayout for CodebookCodes<B> {
    const BYTES: usize = Self::HIGH + LANES * Self::VECTORS * Self::HIGH_BITS / 8;
    const RANGE: CodeRange = CodeRange { zero: B::MAX_QUANT as i32, last: 2 * B::MAX_QUANT as i32 };

    #[inline(always)]
    fn vector<L: Lanes>(lanes: L, group: &[u8], v: usize) -> L::Bytes {
        let group = &group[..Self::BYTES];
        let mut words = [[0; 4]; LANES];
        for (row, word) in words.iter_mut().enumerate() {
            *word = Self::word(group, row, v).to_le_bytes();
        }
        lanes.load_bytes(bytemuck::cast_ref(&words))
    }
}

impl<const N: usize, B> QuantFormat for CodebookWeights<B, N>
where
    B: CodebookBlock<Factors = SymmetricFactors<N>> + Send + Sync,
{
    type Codes = CodebookCodes<B>;

    const HALVES: bool = B::GROUP_LEN < GROUP_COLS;

    fn scale_bytes(_groups: usize) -> usize {
        <OddScale<N> as Scales<B>>::BLOCK_BYTES
    }

    fn pack(rows: &[&[u8]], cols: Range<usize>, scales: &mut [u8], codes: &mut [u8]) {
        for (row, bytes) in rows.iter().enumerate() {
            let blocks: &[B] = quant::blocks(bytes).expect("a weight's rows are whole blocks");
            let block = &blocks[cols.start / B::LEN];
            <OddScale<N> as Scales<B>>::pack(block, row, scales);
            let groups = codes.chunks_exact_mut(Self::Codes::BYTES);
            for (number, group) in groups.take(B::LEN / GROUP_COLS).enumerate() {
                CodebookCodes::pack(block, number, row, group);
            }
        }
    }

    #[inline(always)]
    fn factor<L: Lanes>(
        lanes: L,
        scales: &[u8],
        group: usize,
        half: usize,
        inverse: L::F32,
    ) -> L::I32 {
        <OddScale<N> as Scales<B>>::factor(lanes, scales, group, half, inverse)
    }

    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize) -> L::F32 {
        <OddScale<N> as Scales<B>>::unit(lanes, scales, num_groups, Self::Codes::RANGE)
    }
}
