//! IQ2_XXS: super-blocks of 256 weights, vectors of 8 from 256, with a 4-bit scale per 32.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::codebook_block::{self, CodebookBlock, even_signs, odd, pack_even_signs};
use super::search::nearest_vectors::Codebook;
use super::search::vectors::{self, Signs, VectorFormat};
use super::{QK_K, codebook_elements};
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
        codebook_block::scale(self, group)
    }

    fn quants(&self, out: &mut [i8]) {
        codebook_block::quants(self, out);
    }
}

impl CodebookBlock for Iq2XxsBlock {
    const VECTOR_LEN: usize = 8;
    const CODEBOOK: &'static [[u8; 4]] = &codebook_elements::IQ2_XXS;
    const MAX_QUANT: u8 = 43;

    fn index(&self, vector: usize) -> usize {
        usize::from(self.qs[vector / 4][vector % 4])
    }

    fn signs(&self, octet: usize) -> u8 {
        even_signs((self.upper(octet / 4) >> (octet % 4 * 7)) as u8)
    }
}

static FORMAT: LazyLock<VectorFormat<8>> = LazyLock::new(|| VectorFormat {
    codebook: Codebook::new(&codebook_elements::IQ2_XXS, 0),
    unit: 0.125,
    group_len: 32,
    last_sub_code: 15,
    signs: Signs::Even,
});

impl EncodeBlock for Iq2XxsBlock {
    const NEEDS_IMPORTANCE: bool = true;

    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq2XxsBlock {
        let found = vectors::super_block(block_of(values), importance.map(block_of), &FORMAT);
        let qs = std::array::from_fn(|group| {
            let indices = &found.indices[4 * group..][..4];
            let signs = pack_even_signs(&found.signs[4 * group..][..4]);
            let upper = signs | u32::from(found.sub_codes[group]) << 28;
            let mut bytes = [0; 8];
            for (byte, index) in bytes.iter_mut().zip(indices) {
                *byte = *index as u8;
            }
            bytes[4..].copy_from_slice(&upper.to_le_bytes());
            bytes
        });
        Iq2XxsBlock { d: found.d, qs }
    }
}
