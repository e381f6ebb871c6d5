//! Blocks whose weights are vectors of a codebook.

use super::block::{BlockFormat, SuperBlock};

/// A super-block of the IQ1, IQ2 and IQ3 formats.
///
/// Weights are coded as vectors of [`VECTOR_LEN`](Self::VECTOR_LEN) neighbours: an index into the
/// codebook, whose elements are from 0 to 62, and one sign bit per weight. A quant is the element,
/// negative if the sign bit is set; or, in the ternary formats, the element less 7, or less 9 if the
/// bit is set.
pub trait CodebookBlock: SuperBlock {
    /// Number of weights in a vector: 4 or 8.
    const VECTOR_LEN: usize;

    /// The elements of all vectors, four per word.
    const CODEBOOK: &'static [[u8; 4]];

    /// Whether sign bits lower the quants of a ternary codebook; equal for each 8 weights.
    const IS_TERNARY: bool = false;

    /// The largest magnitude of a quant.
    const MAX_QUANT: u8;

    /// Number of bits of an index.
    const INDEX_BITS: u32 = (Self::CODEBOOK.len() * 4 / Self::VECTOR_LEN).ilog2();

    /// The index of a vector in the codebook, below two to the power of [`INDEX_BITS`](Self::INDEX_BITS).
    ///
    /// **Panics** if `vector >= LEN / VECTOR_LEN`.
    fn index(&self, vector: usize) -> usize;

    /// The sign bits of weights `8 * octet..8 * octet + 8`, from the lowest bit up.
    ///
    /// **Panics** if `octet >= LEN / 8`.
    fn signs(&self, octet: usize) -> u8;
}

/// What the quants of a ternary codebook are less than its elements, if the sign bit is set.
const TERNARY_OFFSET: i8 = 9;

/// The scale of group `group`.
pub(super) fn scale<const N: usize, B>(block: &B, group: usize) -> f32
where
    B: SuperBlock<Factors = super::SymmetricFactors<N>>,
{
    let factors = block.factors();
    factors.d * f32::from(factors.sub_scales[group])
}

/// Writes the quants of a block.
///
/// **Panics** unless `out` holds `LEN` values.
pub(super) fn quants<B: CodebookBlock>(block: &B, out: &mut [i8]) {
    assert_eq!(out.len(), <B as BlockFormat>::LEN, "a block has exactly LEN quants");
    for (word, out) in out.chunks_exact_mut(4).enumerate() {
        let words_per_vector = B::VECTOR_LEN / 4;
        let index = block.index(word / words_per_vector);
        let elements = B::CODEBOOK[index * words_per_vector + word % words_per_vector];
        let signs = block.signs(word / 2) >> (word % 2 * 4);
        for (i, (out, element)) in out.iter_mut().zip(elements).enumerate() {
            let is_set = signs >> i & 1 == 1;
            *out = match (B::IS_TERNARY, is_set) {
                (false, false) => element as i8,
                (false, true) => -(element as i8),
                (true, false) => element as i8 + 2 - TERNARY_OFFSET,
                (true, true) => element as i8 - TERNARY_OFFSET,
            };
        }
    }
}

/// Seven sign bits and an eighth that makes the number of set bits even.
pub(super) fn even_signs(seven: u8) -> u8 {
    let parity = (seven << 1).count_ones() as u8 % 2;
    seven & 0x7f | parity << 7
}

/// The lower seven of the sign bits of four octets, of which the first is in the lowest bits.
pub(super) fn pack_even_signs(octets: &[u8]) -> u32 {
    octets.iter().rev().fold(0, |bits, &signs| bits << 7 | u32::from(signs & 0x7f))
}

/// Bits `4 * (i % 2)..4 * (i % 2) + 4` of byte `i / 2`.
pub(super) fn nibble(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 2] >> (i % 2 * 4) & 0x0f
}

/// Sub-scales `2 * code + 1`.
pub(super) fn odd<const N: usize>(code: impl Fn(usize) -> u8) -> [i8; N] {
    std::array::from_fn(|group| 2 * code(group) as i8 + 1)
}
