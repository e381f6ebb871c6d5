//! IQ2_XXS: super-blocks of 256 weights, vectors of 8 from 256, with a 4-bit scale per 32.

use bytemuck::{Pod, Zeroable};

use super::QK_K;
use super::block::{BlockFormat, HalfBytes, SuperBlock, SymmetricFactors};
use super::codebook::{self, CodebookBlock, even_signs, odd};
use crate::DType;

/// 256 weights in 66 bytes, 2.0625 bits per weight: `weight[i] = (d / 8 * (2 * sub_code[i / 32] + 1)) *
/// quant[i]`, sub-codes from 0 to 15.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale of the sub-scales, half precision |
/// | 2..66 | `qs` | 8 bytes per group: the indices of its 4 vectors, then 32 bits: 7 sign bits per vector, the eighth making their number even, and the sub-code |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq2XxsBlock {
    d: HalfBytes,
    qs: [[u8; 8]; QK_K / 32],
}

const _: () = assert!(size_of::<Iq2XxsBlock>() == 66);

impl Iq2XxsBlock {
    /// The sign bits and the sub-code of a group.
    fn upper(&self, group: usize) -> u32 {
        let [_, _, _, _, upper @ ..] = self.qs[group];
        u32::from_le_bytes(upper)
    }
}

impl SuperBlock for Iq2XxsBlock {
    type Factors = SymmetricFactors<8>;

    fn factors(&self) -> SymmetricFactors<8> {
        let sub_scales = odd(|group| (self.upper(group) >> 28) as u8);
        SymmetricFactors { d: self.d.get() * 0.125, sub_scales }
    }
}

impl BlockFormat for Iq2XxsBlock {
    const DTYPE: DType = DType::Iq2Xxs;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 32;

    fn scale(&self, group: usize) -> f32 {
        codebook::scale(self, group)
    }

    fn quants(&self, out: &mut [i8]) {
        codebook::quants(self, out);
    }
}

impl CodebookBlock for Iq2XxsBlock {
    const VECTOR_LEN: usize = 8;
    const CODEBOOK: &'static [[u8; 4]] = &codebook::IQ2_XXS;
    const MAX_QUANT: u8 = 43;

    fn index(&self, vector: usize) -> usize {
        usize::from(self.qs[vector / 4][vector % 4])
    }

    fn signs(&self, octet: usize) -> u8 {
        even_signs((self.upper(octet / 4) >> (octet % 4 * 7)) as u8)
    }
}
