//! IQ3_S: super-blocks of 256 weights, vectors of 4 from 512, with a 4-bit scale per 32.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::codebook_block::{self, CodebookBlock, nibble, odd};
use super::search::nearest_vectors::Codebook;
use super::search::vectors::{self, Signs, VectorFormat};
use super::{QK_K, bits, codebook_elements};
use crate::DType;

/// 256 weights in 110 bytes, 3.4375 bits per weight: `weight[i] = (d * (2 * sub_code[i / 32] + 1)) *
/// quant[i]`, sub-codes from 0 to 15.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale of the sub-scales, half precision |
/// | 2..66 | `qs` | bits 0 to 7 of the indices |
/// | 66..74 | `qh` | bit 8 of the indices: bit `j` of byte `i` is vector `8 * i + j` |
/// | 74..106 | `signs` | the sign bits, 8 per byte |
/// | 106..110 | `scales` | the sub-codes: low half of byte `i` is group `2 * i`, high half group `2 * i + 1` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq3SBlock {
    d: HalfBytes,
    qs: [u8; QK_K / 4],
    qh: [u8; QK_K / 32],
    signs: [u8; QK_K / 8],
    scales: [u8; QK_K / 64],
}

const _: () = assert!(size_of::<Iq3SBlock>() == 110);

impl SuperBlock for Iq3SBlock {
    type Factors = SymmetricFactors<8>;

    fn factors(&self) -> SymmetricFactors<8> {
        let sub_scales = odd(|group| nibble(&self.scales, group));
        SymmetricFactors { d: self.d.get(), sub_scales }
    }
}

impl BlockFormat for Iq3SBlock {
    const DTYPE: DType = DType::Iq3S;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 32;

    fn scale(&self, group: usize) -> f32 {
        codebook_block::scale(self, group)
    }

    fn quants(&self, out: &mut [i8]) {
        codebook_block::quants(self, out);
    }
}

impl CodebookBlock for Iq3SBlock {
    const VECTOR_LEN: usize = 4;
    const CODEBOOK: &'static [[u8; 4]] = &codebook_elements::IQ3_S;
    const MAX_QUANT: u8 = 15;

    fn index(&self, vector: usize) -> usize {
        let high = self.qh[vector / 8] >> (vector % 8) & 0x01;
        usize::from(self.qs[vector]) | usize::from(high) << 8
    }

    fn signs(&self, octet: usize) -> u8 {
        self.signs[octet]
    }
}

static FORMAT: LazyLock<VectorFormat<4>> = LazyLock::new(|| VectorFormat {
    codebook: Codebook::new(&codebook_elements::IQ3_S, 0),
    unit: 1.0,
    group_len: 32,
    last_sub_code: 15,
    signs: Signs::Free,
});

impl EncodeBlock for Iq3SBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq3SBlock {
        let found = vectors::super_block(block_of(values), importance.map(block_of), &FORMAT);
        let high = found.indices.map(|index| (index >> 8) as u8);
        let mut block = Iq3SBlock {
            d: found.d,
            qs: found.indices.map(|index| index as u8),
            signs: found.signs,
            ..Iq3SBlock::zeroed()
        };
        bits::pack::<1, 1>(&high, 0, &mut block.qh);
        bits::pack::<4, 1>(&found.sub_codes[..8], 0, &mut block.scales);
        block
    }
}
