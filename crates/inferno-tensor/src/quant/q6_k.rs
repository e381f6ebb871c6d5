//! Q6_K: super-blocks of 256 symmetric 6-bit weights, with an 8-bit scale per 16.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, SuperBlock, SymmetricFactors, block_of};
use super::search::levels::EvenLevels;
use super::{QK_K, bits, search};
use crate::DType;

/// 256 weights in 210 bytes, 6.5625 bits per weight:
/// `weight[i] = (d * scales[i / 16]) * (code[i] - 32)`, codes from 0 to 63.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..128 | `ql` | bits 0 to 3 of the codes, in runs of 64 bytes for 128 weights: low half of byte `i` is weight `i`, high half weight `i + 64` |
/// | 128..192 | `qh` | bits 4 and 5 of the codes, in runs of 32 bytes for 128 weights: bits `2j` and `2j + 1` of byte `i` are weight `32 * j + i` |
/// | 192..208 | `scales` | the sub-scales, signed |
/// | 208..210 | `d` | the scale of the sub-scales, half precision |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q6KBlock {
    ql: [u8; QK_K / 2],
    qh: [u8; QK_K / 4],
    scales: [i8; QK_K / 16],
    d: HalfBytes,
}

const _: () = assert!(size_of::<Q6KBlock>() == 210);

impl SuperBlock for Q6KBlock {
    type Factors = SymmetricFactors<16>;

    fn factors(&self) -> SymmetricFactors<16> {
        SymmetricFactors { d: self.d.get(), sub_scales: self.scales }
    }
}

impl BlockFormat for Q6KBlock {
    const DTYPE: DType = DType::Q6K;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 16;

    fn scale(&self, group: usize) -> f32 {
        self.d.get() * f32::from(self.scales[group])
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK_K];
        bits::unpack::<4, 64>(&self.ql, 0, &mut codes);
        bits::unpack::<2, 32>(&self.qh, 4, &mut codes);
        bits::centre(&codes, 32, out);
    }
}

impl EncodeBlock for Q6KBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q6KBlock {
        let found = search::symmetric::super_block::<16, 16>(
            block_of(values),
            importance.map(block_of),
            &EvenLevels { half: 32.0 },
            128.0,
        );
        let mut block = Q6KBlock { scales: found.sub_scales, d: found.d, ..Q6KBlock::zeroed() };
        bits::pack::<4, 64>(&found.codes, 0, &mut block.ql);
        bits::pack::<2, 32>(&found.codes, 4, &mut block.qh);
        block
    }
}
