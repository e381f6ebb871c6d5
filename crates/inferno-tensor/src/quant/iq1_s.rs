//! IQ1_S: super-blocks of 256 weights, vectors of 8 from 2048, with a 3-bit scale per 32.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::codebook_block::{self, CodebookBlock, odd};
use super::search::nearest_vectors::Codebook;
use super::search::vectors::{self, Signs, VectorFormat};
use super::{QK_K, codebook_elements};
use crate::DType;

/// 256 weights in 50 bytes, 1.5625 bits per weight: `weight[i] = (d / 8 * (2 * sub_code[i / 32] + 1)) *
/// quant[i]`, sub-codes from 0 to 7.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale of the sub-scales, half precision |
/// | 2..34 | `qs` | bits 0 to 7 of the indices |
/// | 34..50 | `qh` | 16 bits per group: bits 8 to 10 of the indices of its 4 vectors, the sub-code, and the sign bit of all its weights |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq1SBlock {
    d: HalfBytes,
    qs: [u8; QK_K / 8],
    qh: [[u8; 2]; QK_K / 32],
}

const _: () = assert!(size_of::<Iq1SBlock>() == 50);

impl SuperBlock for Iq1SBlock {
    type Factors = SymmetricFactors<8>;

    fn factors(&self) -> SymmetricFactors<8> {
        let sub_scales = odd(|group| self.qh[group][1] >> 4 & 0x07);
        SymmetricFactors { d: self.d.get() * 0.125, sub_scales }
    }
}

impl BlockFormat for Iq1SBlock {
    const DTYPE: DType = DType::Iq1S;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 32;

    fn scale(&self, group: usize) -> f32 {
        codebook_block::scale(self, group)
    }

    fn quants(&self, out: &mut [i8]) {
        codebook_block::quants(self, out);
    }
}

impl CodebookBlock for Iq1SBlock {
    const VECTOR_LEN: usize = 8;
    const CODEBOOK: &'static [[u8; 4]] = &codebook_elements::IQ1;
    const IS_TERNARY: bool = true;
    const MAX_QUANT: u8 = 9;

    fn index(&self, vector: usize) -> usize {
        let high = u16::from_le_bytes(self.qh[vector / 4]) >> (vector % 4 * 3) & 0x07;
        usize::from(self.qs[vector]) | usize::from(high) << 8
    }

    fn signs(&self, octet: usize) -> u8 {
        if self.qh[octet / 4][1] & 0x80 == 0 { 0 } else { 0xff }
    }
}

static FORMAT: LazyLock<VectorFormat<8>> = LazyLock::new(|| VectorFormat {
    codebook: Codebook::new(&codebook_elements::IQ1, 8),
    unit: 0.125,
    group_len: 32,
    last_sub_code: 7,
    signs: Signs::ShiftPerGroup,
});

impl EncodeBlock for Iq1SBlock {
    const NEEDS_IMPORTANCE: bool = true;

    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq1SBlock {
        let found = vectors::super_block(block_of(values), importance.map(block_of), &FORMAT);
        let qh = std::array::from_fn(|group| {
            let indices = found.indices[4 * group..][..4].iter().rev();
            let high = indices.fold(0, |bits, index| bits << 3 | index >> 8);
            let sign = u16::from(found.signs[4 * group] & 1);
            (high | u16::from(found.sub_codes[group]) << 12 | sign << 15).to_le_bytes()
        });
        let qs = std::array::from_fn(|vector| found.indices[vector] as u8);
        Iq1SBlock { d: found.d, qs, qh }
    }
}
