//! IQ1_M: super-blocks of 256 weights, vectors of 8 from 2048, with a 3-bit scale per 16.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::block::{BlockFormat, EncodeBlock, SuperBlock, SymmetricFactors, block_of};
use super::codebook_block::{self, CodebookBlock, nibble, odd};
use super::search::nearest_vectors::Codebook;
use super::search::vectors::{self, Signs, VectorFormat};
use super::{QK_K, bits, codebook_elements};
use crate::DType;

/// 256 weights in 56 bytes, 1.75 bits per weight: `weight[i] = (d / 8 * (2 * sub_code[i / 16] + 1)) *
/// quant[i]`, sub-codes from 0 to 7.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..32 | `qs` | bits 0 to 7 of the indices |
/// | 32..48 | `qh` | 4 bits per vector: bits 8 to 10 of its index, and the sign bit of its weights; low half of byte `i` is vector `2 * i`, high half vector `2 * i + 1` |
/// | 48..56 | `scales` | four numbers of 16 bits: bits `3j` to `3j + 2` of number `i` are the sub-code of group `4 * i + j`, bits 12 to 15 are bits `4i` to `4i + 3` of `d`, the scale of the sub-scales in half precision |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq1MBlock {
    qs: [u8; QK_K / 8],
    qh: [u8; QK_K / 16],
    scales: [[u8; 2]; 4],
}

const _: () = assert!(size_of::<Iq1MBlock>() == 56);

impl SuperBlock for Iq1MBlock {
    type Factors = SymmetricFactors<16>;

    fn factors(&self) -> SymmetricFactors<16> {
        let numbers = self.scales.map(u16::from_le_bytes);
        let bits = numbers.iter().rev().fold(0, |bits, number| bits << 4 | number >> 12);
        let sub_scales = odd(|group| (numbers[group / 4] >> (group % 4 * 3)) as u8 & 0x07);
        SymmetricFactors { d: f16::from_bits(bits).to_f32() * 0.125, sub_scales }
    }
}

impl BlockFormat for Iq1MBlock {
    const DTYPE: DType = DType::Iq1M;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 16;

    fn scale(&self, group: usize) -> f32 {
        codebook_block::scale(self, group)
    }

    fn quants(&self, out: &mut [i8]) {
        codebook_block::quants(self, out);
    }
}

impl CodebookBlock for Iq1MBlock {
    const VECTOR_LEN: usize = 8;
    const CODEBOOK: &'static [[u8; 4]] = &codebook_elements::IQ1;
    const IS_TERNARY: bool = true;
    const MAX_QUANT: u8 = 9;

    fn index(&self, vector: usize) -> usize {
        let high = nibble(&self.qh, vector) & 0x07;
        usize::from(self.qs[vector]) | usize::from(high) << 8
    }

    fn signs(&self, octet: usize) -> u8 {
        if nibble(&self.qh, octet) & 0x08 == 0 { 0 } else { 0xff }
    }
}

static FORMAT: LazyLock<VectorFormat<8>> = LazyLock::new(|| VectorFormat {
    codebook: Codebook::new(&codebook_elements::IQ1, 8),
    unit: 0.125,
    group_len: 16,
    last_sub_code: 7,
    signs: Signs::ShiftPerVector,
});

impl EncodeBlock for Iq1MBlock {
    const NEEDS_IMPORTANCE: bool = true;

    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq1MBlock {
        let found = vectors::super_block(block_of(values), importance.map(block_of), &FORMAT);
        let upper: [u8; QK_K / 8] = std::array::from_fn(|vector| {
            (found.indices[vector] >> 8) as u8 | found.signs[vector] & 0x08
        });
        let d = found.d.to_bits();
        let scales = std::array::from_fn(|i| {
            let codes = found.sub_codes[4 * i..][..4].iter().rev();
            let codes = codes.fold(0, |bits, &code| bits << 3 | u16::from(code));
            (codes | (d >> (4 * i) & 0x0f) << 12).to_le_bytes()
        });
        let qs = std::array::from_fn(|vector| found.indices[vector] as u8);
        let mut block = Iq1MBlock { qs, qh: [0; QK_K / 16], scales };
        bits::pack::<4, 1>(&upper, 0, &mut block.qh);
        block
    }
}
