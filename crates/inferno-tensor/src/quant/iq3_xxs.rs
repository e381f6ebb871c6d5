//! IQ3_XXS: super-blocks of 256 weights, vectors of 4 from 256, with a 4-bit scale per 32.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::codebook_block::{self, CodebookBlock, even_signs, odd, pack_even_signs};
use super::search::nearest_vectors::Codebook;
use super::search::vectors::{self, Signs, VectorFormat};
use super::{QK_K, codebook_elements};
use crate::DType;

/// 256 weights in 98 bytes, 3.0625 bits per weight: `weight[i] = (d / 4 * (2 * sub_code[i / 32] + 1)) *
/// quant[i]`, sub-codes from 0 to 15.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale of the sub-scales, half precision |
/// | 2..66 | `qs` | the indices |
/// | 66..98 | `upper` | 32 bits per group: 7 sign bits per 8 weights, the eighth making their number even, and the sub-code |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq3XxsBlock {
    d: HalfBytes,
    qs: [u8; QK_K / 4],
    upper: [[u8; 4]; QK_K / 32],
}

const _: () = assert!(size_of::<Iq3XxsBlock>() == 98);

impl SuperBlock for Iq3XxsBlock {
    type Factors = SymmetricFactors<8>;

    fn factors(&self) -> SymmetricFactors<8> {
        let sub_scales = odd(|group| self.upper[group][3] >> 4);
        SymmetricFactors { d: self.d.get() * 0.25, sub_scales }
    }
}

impl BlockFormat for Iq3XxsBlock {
    const DTYPE: DType = DType::Iq3Xxs;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 32;

    fn scale(&self, group: usize) -> f32 {
        codebook_block::scale(self, group)
    }

    fn quants(&self, out: &mut [i8]) {
        codebook_block::quants(self, out);
    }
}

impl CodebookBlock for Iq3XxsBlock {
    const VECTOR_LEN: usize = 4;
    const CODEBOOK: &'static [[u8; 4]] = &codebook_elements::IQ3_XXS;
    const MAX_QUANT: u8 = 62;

    fn index(&self, vector: usize) -> usize {
        usize::from(self.qs[vector])
    }

    fn signs(&self, octet: usize) -> u8 {
        even_signs((u32::from_le_bytes(self.upper[octet / 4]) >> (octet % 4 * 7)) as u8)
    }
}

static FORMAT: LazyLock<VectorFormat<4>> = LazyLock::new(|| VectorFormat {
    codebook: Codebook::new(&codebook_elements::IQ3_XXS, 0),
    unit: 0.25,
    group_len: 32,
    last_sub_code: 15,
    signs: Signs::Even,
});

impl EncodeBlock for Iq3XxsBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq3XxsBlock {
        let found = vectors::super_block(block_of(values), importance.map(block_of), &FORMAT);
        let upper = std::array::from_fn(|group| {
            let signs = pack_even_signs(&found.signs[4 * group..][..4]);
            (signs | u32::from(found.sub_codes[group]) << 28).to_le_bytes()
        });
        let qs = found.indices.map(|index| index as u8);
        Iq3XxsBlock { d: found.d, qs, upper }
    }
}
