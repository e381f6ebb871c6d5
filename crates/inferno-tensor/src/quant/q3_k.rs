//! Q3_K: super-blocks of 256 symmetric 3-bit weights, with a 6-bit scale per 16.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::search::levels::EvenLevels;
use super::{QK_K, bits, search};
use crate::DType;

/// 256 weights in 110 bytes, 3.4375 bits per weight: `weight[i] = (d * (sub_code[i / 16] - 32)) *
/// (code[i] - 4)`, codes from 0 to 7, sub-codes from 0 to 63.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..32 | `hmask` | bit 2 of the codes: bit `j` of byte `i` is weight `32 * j + i` |
/// | 32..96 | `qs` | bits 0 and 1 of the codes, in runs of 32 bytes for 128 weights: bits `2j` and `2j + 1` of byte `i` are weight `32 * j + i` |
/// | 96..104 | `scales_l` | bits 0 to 3 of the sub-codes: low half of byte `i` is group `i`, high half group `i + 8` |
/// | 104..108 | `scales_h` | bits 4 and 5 of the sub-codes: bits `2j` and `2j + 1` of byte `i` are group `4 * j + i` |
/// | 108..110 | `d` | the scale of the sub-scales, half precision |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q3KBlock {
    hmask: [u8; QK_K / 8],
    qs: [u8; QK_K / 4],
    scales_l: [u8; 8],
    scales_h: [u8; 4],
    d: HalfBytes,
}

const _: () = assert!(size_of::<Q3KBlock>() == 110);

impl Q3KBlock {
    fn sub_scale(&self, group: usize) -> i8 {
        let low = self.scales_l[group % 8] >> (4 * (group / 8)) & 0x0f;
        let high = self.scales_h[group % 4] >> (2 * (group / 4)) & 0x03;
        (low | high << 4) as i8 - 32
    }
}

impl SuperBlock for Q3KBlock {
    type Factors = SymmetricFactors<16>;

    fn factors(&self) -> SymmetricFactors<16> {
        let sub_scales = std::array::from_fn(|group| self.sub_scale(group));
        SymmetricFactors { d: self.d.get(), sub_scales }
    }
}

impl BlockFormat for Q3KBlock {
    const DTYPE: DType = DType::Q3K;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 16;

    fn scale(&self, group: usize) -> f32 {
        self.d.get() * f32::from(self.sub_scale(group))
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK_K];
        bits::unpack::<2, 32>(&self.qs, 0, &mut codes);
        bits::unpack::<1, 32>(&self.hmask, 2, &mut codes);
        bits::centre(&codes, 4, out);
    }
}

impl EncodeBlock for Q3KBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q3KBlock {
        let found = search::symmetric::super_block::<16, 16>(
            block_of(values),
            importance.map(block_of),
            &EvenLevels { half: 4.0 },
            32.0,
        );
        let sub_codes = found.sub_scales.map(|scale| (scale + 32) as u8);
        let mut block = Q3KBlock { d: found.d, ..Q3KBlock::zeroed() };
        bits::pack::<2, 32>(&found.codes, 0, &mut block.qs);
        bits::pack::<1, 32>(&found.codes, 2, &mut block.hmask);
        bits::pack::<4, 8>(&sub_codes, 0, &mut block.scales_l);
        bits::pack::<2, 4>(&sub_codes, 4, &mut block.scales_h);
        block
    }
}
