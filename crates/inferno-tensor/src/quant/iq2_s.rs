//! IQ2_S: super-blocks of 256 weights, vectors of 8 from 1024, with a 4-bit scale per 16.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::codebook_block::{self, CodebookBlock, nibble, odd};
use super::search::nearest_vectors::Codebook;
use super::search::vectors::{self, Signs, VectorFormat};
use super::{QK_K, bits, codebook_elements};
use crate::DType;

/// 256 weights in 82 bytes, 2.5625 bits per weight: `weight[i] = (d / 8 * (2 * sub_code[i / 16] + 1)) *
/// quant[i]`, sub-codes from 0 to 15.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale of the sub-scales, half precision |
/// | 2..34 | `qs` | bits 0 to 7 of the indices |
/// | 34..66 | `signs` | the sign bits, 8 per vector |
/// | 66..74 | `qh` | bits 8 and 9 of the indices: bits `2j` and `2j + 1` of byte `i` are vector `4 * i + j` |
/// | 74..82 | `scales` | the sub-codes: low half of byte `i` is group `2 * i`, high half group `2 * i + 1` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq2SBlock {
    d: HalfBytes,
    qs: [u8; QK_K / 8],
    signs: [u8; QK_K / 8],
    qh: [u8; QK_K / 32],
    scales: [u8; QK_K / 32],
}

const _: () = assert!(size_of::<Iq2SBlock>() == 82);

impl SuperBlock for Iq2SBlock {
    type Factors = SymmetricFactors<16>;

    fn factors(&self) -> SymmetricFactors<16> {
        let sub_scales = odd(|group| nibble(&self.scales, group));
        SymmetricFactors { d: self.d.get() * 0.125, sub_scales }
    }
}

impl BlockFormat for Iq2SBlock {
    const DTYPE: DType = DType::Iq2S;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 16;

    fn scale(&self, group: usize) -> f32 {
        codebook_block::scale(self, group)
    }

    fn quants(&self, out: &mut [i8]) {
        codebook_block::quants(self, out);
    }
}

impl CodebookBlock for Iq2SBlock {
    const VECTOR_LEN: usize = 8;
    const CODEBOOK: &'static [[u8; 4]] = &codebook_elements::IQ2_S;
    const MAX_QUANT: u8 = 43;

    fn index(&self, vector: usize) -> usize {
        let high = self.qh[vector / 4] >> (vector % 4 * 2) & 0x03;
        usize::from(self.qs[vector]) | usize::from(high) << 8
    }

    fn signs(&self, octet: usize) -> u8 {
        self.signs[octet]
    }
}

static FORMAT: LazyLock<VectorFormat<8>> = LazyLock::new(|| VectorFormat {
    codebook: Codebook::new(&codebook_elements::IQ2_S, 0),
    unit: 0.125,
    group_len: 16,
    last_sub_code: 15,
    signs: Signs::Free,
});

impl EncodeBlock for Iq2SBlock {
    const NEEDS_IMPORTANCE: bool = true;

    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq2SBlock {
        let found = vectors::super_block(block_of(values), importance.map(block_of), &FORMAT);
        let indices: [u16; QK_K / 8] = std::array::from_fn(|vector| found.indices[vector]);
        let mut block = Iq2SBlock {
            d: found.d,
            qs: indices.map(|index| index as u8),
            signs: found.signs,
            ..Iq2SBlock::zeroed()
        };
        bits::pack::<2, 1>(&indices.map(|index| (index >> 8) as u8), 0, &mut block.qh);
        bits::pack::<4, 1>(&found.sub_codes, 0, &mut block.scales);
        block
    }
}
