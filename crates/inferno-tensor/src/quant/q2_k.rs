//! Q2_K: super-blocks of 256 2-bit weights, with a 4-bit scale and minimum per 16.

use bytemuck::{Pod, Zeroable};

use super::block::{AffineFactors, BlockFormat, EncodeBlock, HalfBytes, SuperBlock, block_of};
use super::search::affine::{self, Ranges};
use super::{QK_K, bits};
use crate::DType;

/// 256 weights in 84 bytes, 2.625 bits per weight:
/// `weight[i] = (d * sub_scale[i / 16]) * code[i] - dmin * sub_min[i / 16]`, codes from 0 to 3.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..16 | `scales` | low half of byte `i` is sub-scale `i`, high half sub-minimum `i` |
/// | 16..80 | `qs` | the codes, in runs of 32 bytes for 128 weights: bits `2j` and `2j + 1` of byte `i` are weight `32 * j + i` |
/// | 80..82 | `d` | the scale of the sub-scales, half precision |
/// | 82..84 | `dmin` | the scale of the sub-minimums, half precision |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q2KBlock {
    scales: [u8; QK_K / 16],
    qs: [u8; QK_K / 4],
    d: HalfBytes,
    dmin: HalfBytes,
}

const _: () = assert!(size_of::<Q2KBlock>() == 84);

const RANGES: Ranges = Ranges { top: 3.0, sub_top: 15.0, step: 0.1 };

impl SuperBlock for Q2KBlock {
    type Factors = AffineFactors<16>;

    fn factors(&self) -> AffineFactors<16> {
        AffineFactors {
            d: self.d.get(),
            dmin: self.dmin.get(),
            sub_scales: self.scales.map(|byte| byte & 0x0f),
            sub_mins: self.scales.map(|byte| byte >> 4),
        }
    }
}

impl BlockFormat for Q2KBlock {
    const DTYPE: DType = DType::Q2K;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 16;

    fn scale(&self, group: usize) -> f32 {
        self.d.get() * f32::from(self.scales[group] & 0x0f)
    }

    fn min(&self, group: usize) -> f32 {
        self.dmin.get() * f32::from(self.scales[group] >> 4)
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK_K];
        bits::unpack::<2, 32>(&self.qs, 0, &mut codes);
        bits::centre(&codes, 0, out);
    }
}

impl EncodeBlock for Q2KBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q2KBlock {
        let found = affine::super_block::<16, 16>(
            block_of(values),
            importance.map(block_of),
            &RANGES,
            &affine::THOROUGH,
        );
        let mut qs = [0; QK_K / 4];
        bits::pack::<2, 32>(&found.codes, 0, &mut qs);
        Q2KBlock {
            scales: std::array::from_fn(|i| found.sub_scales[i] | found.sub_mins[i] << 4),
            qs,
            d: found.d,
            dmin: found.dmin,
        }
    }
}
