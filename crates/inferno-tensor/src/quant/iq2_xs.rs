//! IQ2_XS: super-blocks of 256 weights, vectors of 8 from 512, with a 4-bit scale per 16.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::codebook_block::{self, CodebookBlock, even_signs, nibble, odd};
use super::search::nearest_vectors::Codebook;
use super::search::vectors::{self, Signs, VectorFormat};
use super::{QK_K, bits, codebook_elements};
use crate::DType;

/// 256 weights in 74 bytes, 2.3125 bits per weight: `weight[i] = (d / 8 * (2 * sub_code[i / 16] + 1)) *
/// quant[i]`, sub-codes from 0 to 15.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale of the sub-scales, half precision |
/// | 2..66 | `qs` | 16 bits per vector: an index of 9 bits and 7 sign bits, the eighth making their number even |
/// | 66..74 | `scales` | the sub-codes: low half of byte `i` is group `2 * i`, high half group `2 * i + 1` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq2XsBlock {
    d: HalfBytes,
    qs: [[u8; 2]; QK_K / 8],
    scales: [u8; QK_K / 32],
}

const _: () = assert!(size_of::<Iq2XsBlock>() == 74);

impl SuperBlock for Iq2XsBlock {
    type Factors = SymmetricFactors<16>;

    fn factors(&self) -> SymmetricFactors<16> {
        let sub_scales = odd(|group| nibble(&self.scales, group));
        SymmetricFactors { d: self.d.get() * 0.125, sub_scales }
    }
}

impl BlockFormat for Iq2XsBlock {
    const DTYPE: DType = DType::Iq2Xs;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 16;

    fn scale(&self, group: usize) -> f32 {
        codebook_block::scale(self, group)
    }

    fn quants(&self, out: &mut [i8]) {
        codebook_block::quants(self, out);
    }
}

impl CodebookBlock for Iq2XsBlock {
    const VECTOR_LEN: usize = 8;
    const CODEBOOK: &'static [[u8; 4]] = &codebook_elements::IQ2_XS;
    const MAX_QUANT: u8 = 43;

    fn index(&self, vector: usize) -> usize {
        usize::from(u16::from_le_bytes(self.qs[vector]) & 0x1ff)
    }

    fn signs(&self, octet: usize) -> u8 {
        even_signs(self.qs[octet][1] >> 1)
    }
}

static FORMAT: LazyLock<VectorFormat<8>> = LazyLock::new(|| VectorFormat {
    codebook: Codebook::new(&codebook_elements::IQ2_XS, 0),
    unit: 0.125,
    group_len: 16,
    last_sub_code: 15,
    signs: Signs::Even,
});

impl EncodeBlock for Iq2XsBlock {
    const NEEDS_IMPORTANCE: bool = true;

    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq2XsBlock {
        let found = vectors::super_block(block_of(values), importance.map(block_of), &FORMAT);
        let qs = std::array::from_fn(|vector| {
            let signs = u16::from(found.signs[vector] & 0x7f);
            (found.indices[vector] | signs << 9).to_le_bytes()
        });
        let mut block = Iq2XsBlock { d: found.d, qs, scales: [0; QK_K / 32] };
        bits::pack::<4, 1>(&found.sub_codes, 0, &mut block.scales);
        block
    }
}
