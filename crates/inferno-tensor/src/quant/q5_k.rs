//! Q5_K: super-blocks of 256 5-bit weights, with a 6-bit scale and minimum per 32.

use bytemuck::{Pod, Zeroable};

use super::block::{AffineFactors, BlockFormat, EncodeBlock, SuperBlock, block_of};
use super::k_scales::KScales;
use super::search::affine::{self, Ranges};
use super::{QK_K, bits};
use crate::DType;

/// 256 weights in 176 bytes, 5.5 bits per weight:
/// `weight[i] = (d * sub_scale[i / 32]) * code[i] - dmin * sub_min[i / 32]`, codes from 0 to 31.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..16 | `scales` | the scales and minimums, see `k_scales.rs` |
/// | 16..48 | `qh` | bit 4 of the codes: bit `j` of byte `i` is weight `32 * j + i` |
/// | 48..176 | `qs` | bits 0 to 3 of the codes, in runs of 32 bytes for 64 weights: low half of byte `i` is weight `i`, high half weight `i + 32` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q5KBlock {
    scales: KScales,
    qh: [u8; QK_K / 8],
    qs: [u8; QK_K / 2],
}

const _: () = assert!(size_of::<Q5KBlock>() == 176);

const RANGES: Ranges = Ranges { top: 31.0, sub_top: 63.0, step: 0.3 };

impl SuperBlock for Q5KBlock {
    type Factors = AffineFactors<8>;

    fn factors(&self) -> AffineFactors<8> {
        self.scales.factors()
    }
}

impl BlockFormat for Q5KBlock {
    const DTYPE: DType = DType::Q5K;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 32;

    fn scale(&self, group: usize) -> f32 {
        self.scales.scale(group)
    }

    fn min(&self, group: usize) -> f32 {
        self.scales.min(group)
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK_K];
        bits::unpack::<4, 32>(&self.qs, 0, &mut codes);
        bits::unpack::<1, 32>(&self.qh, 4, &mut codes);
        bits::centre(&codes, 0, out);
    }
}

impl EncodeBlock for Q5KBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q5KBlock {
        let found = affine::super_block::<8, 32>(
            block_of(values),
            importance.map(block_of),
            &RANGES,
            &affine::THOROUGH,
        );
        let mut qh = [0; QK_K / 8];
        let mut qs = [0; QK_K / 2];
        bits::pack::<1, 32>(&found.codes, 4, &mut qh);
        bits::pack::<4, 32>(&found.codes, 0, &mut qs);
        Q5KBlock { scales: KScales::new(&found), qh, qs }
    }
}
