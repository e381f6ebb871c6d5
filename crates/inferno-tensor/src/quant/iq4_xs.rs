//! IQ4_XS: super-blocks of 256 weights with the levels of IQ4_NL, and a 6-bit scale per 32.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::iq4_levels::levels;
use super::search::levels::Iq4Levels;
use super::{QK_K, bits, search};
use crate::DType;

/// 256 weights in 136 bytes, 4.25 bits per weight:
/// `weight[i] = (d * (sub_code[i / 32] - 32)) * IQ4_LEVELS[code[i]]`, sub-codes from 0 to 63.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale of the sub-scales, half precision |
/// | 2..4 | `scales_h` | bits 4 and 5 of the sub-codes: bits `2j` and `2j + 1` of byte `i` are group `4 * i + j` |
/// | 4..8 | `scales_l` | bits 0 to 3 of the sub-codes: low half of byte `i` is group `2 * i`, high half group `2 * i + 1` |
/// | 8..136 | `qs` | the codes, in runs of 16 bytes for 32 weights: low half of byte `i` is weight `i`, high half weight `i + 16` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq4XsBlock {
    d: HalfBytes,
    scales_h: [u8; 2],
    scales_l: [u8; 4],
    qs: [u8; QK_K / 2],
}

const _: () = assert!(size_of::<Iq4XsBlock>() == 136);

impl Iq4XsBlock {
    fn sub_scale(&self, group: usize) -> i8 {
        let low = self.scales_l[group / 2] >> (4 * (group % 2)) & 0x0f;
        let high = self.scales_h[group / 4] >> (2 * (group % 4)) & 0x03;
        (low | high << 4) as i8 - 32
    }
}

impl SuperBlock for Iq4XsBlock {
    type Factors = SymmetricFactors<8>;

    fn factors(&self) -> SymmetricFactors<8> {
        let sub_scales = std::array::from_fn(|group| self.sub_scale(group));
        SymmetricFactors { d: self.d.get(), sub_scales }
    }
}

impl BlockFormat for Iq4XsBlock {
    const DTYPE: DType = DType::Iq4Xs;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 32;

    fn scale(&self, group: usize) -> f32 {
        self.d.get() * f32::from(self.sub_scale(group))
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK_K];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        levels(&codes, out);
    }
}

impl EncodeBlock for Iq4XsBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq4XsBlock {
        let found = search::symmetric::super_block::<8, 32>(
            block_of(values),
            importance.map(block_of),
            &Iq4Levels,
            32.0,
        );
        let sub_codes = found.sub_scales.map(|scale| (scale + 32) as u8);
        let mut block = Iq4XsBlock { d: found.d, ..Iq4XsBlock::zeroed() };
        bits::pack::<4, 16>(&found.codes, 0, &mut block.qs);
        bits::pack::<4, 1>(&sub_codes, 0, &mut block.scales_l);
        bits::pack::<2, 1>(&sub_codes, 4, &mut block.scales_h);
        block
    }
}
