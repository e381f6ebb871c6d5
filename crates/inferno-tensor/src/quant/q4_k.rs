//! Q4_K: super-blocks of 256 4-bit weights, with a 6-bit scale and minimum per 32.

use bytemuck::{Pod, Zeroable};

use super::block::{AffineFactors, BlockFormat, EncodeBlock, SuperBlock, block_of};
use super::k_scales::KScales;
use super::search::affine::{self, Effort, Ranges};
use super::{QK_K, bits};
use crate::DType;

/// 256 weights in 144 bytes, 4.5 bits per weight:
/// `weight[i] = (d * sub_scale[i / 32]) * code[i] - dmin * sub_min[i / 32]`, codes from 0 to 15.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..16 | `scales` | the scales and minimums, see `k_scales.rs` |
/// | 16..144 | `qs` | the codes, in runs of 32 bytes for 64 weights: low half of byte `i` is weight `i`, high half weight `i + 32` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q4KBlock {
    scales: KScales,
    qs: [u8; QK_K / 2],
}

const _: () = assert!(size_of::<Q4KBlock>() == 144);

const RANGES: Ranges = Ranges { top: 15.0, sub_top: 63.0, step: 0.2 };

impl SuperBlock for Q4KBlock {
    type Factors = AffineFactors<8>;

    fn factors(&self) -> AffineFactors<8> {
        self.scales.factors()
    }
}

impl BlockFormat for Q4KBlock {
    const DTYPE: DType = DType::Q4K;
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
        bits::centre(&codes, 0, out);
    }
}

impl EncodeBlock for Q4KBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q4KBlock {
        encode(values, importance, &affine::THOROUGH)
    }

    fn encode_fast(values: &[f32]) -> Q4KBlock {
        encode(values, None, &affine::FAST)
    }
}

fn encode(values: &[f32], importance: Option<&[f32]>, effort: &Effort) -> Q4KBlock {
    let found =
        affine::super_block::<8, 32>(block_of(values), importance.map(block_of), &RANGES, effort);
    let mut qs = [0; QK_K / 2];
    bits::pack::<4, 32>(&found.codes, 0, &mut qs);
    Q4KBlock { scales: KScales::new(&found), qs }
}
