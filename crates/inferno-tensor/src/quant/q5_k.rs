//! Q5_K: super-blocks of 256 5-bit weights, with a 6-bit scale and minimum per 32.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, Half, block_of};
use super::k_scales::KScales;
use super::search::affine::{self, Ranges};
use super::{QK_K, bits};
use crate::DType;

/// 256 weights in 176 bytes, 5.5 bits a weight:
/// `weight[i] = (d * sub_scale[i / 32]) * code[i] - dmin * sub_min[i / 32]`, codes from 0 to 31.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale of the sub-scales, half precision |
/// | 2..4 | `dmin` | the scale of the sub-minimums, half precision |
/// | 4..16 | `scales` | eight sub-scales and sub-minimums of 6 bits: byte `i` in 0..4 holds scale `i` in bits 0 to 5 and the top of scale `i + 4` in bits 6 and 7; byte `4 + i` the same of the minimums; byte `8 + i` the low four bits of scale `i + 4`, then of minimum `i + 4` |
/// | 16..48 | `qh` | bit 4 of the codes: bit `j` of byte `i` is weight `32 * j + i` |
/// | 48..176 | `qs` | bits 0 to 3 of the codes, in runs of 32 bytes for 64 weights: low half of byte `i` is weight `i`, high half weight `i + 32` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q5KBlock {
    d: Half,
    dmin: Half,
    scales: KScales,
    qh: [u8; QK_K / 8],
    qs: [u8; QK_K / 2],
}

const _: () = assert!(size_of::<Q5KBlock>() == 176);

const RANGES: Ranges = Ranges { top: 31.0, sub_top: 63.0, step: 0.3 };

impl Q5KBlock {
    /// The scale of the sub-scales.
    pub fn d(&self) -> f32 {
        self.d.get()
    }

    /// The scale of the sub-minimums.
    pub fn dmin(&self) -> f32 {
        self.dmin.get()
    }

    /// The sub-scales of the eight groups, each below 64.
    pub fn sub_scales(&self) -> [u8; 8] {
        std::array::from_fn(|group| self.scales.scale(group))
    }

    /// The sub-minimums of the eight groups, each below 64.
    pub fn sub_mins(&self) -> [u8; 8] {
        std::array::from_fn(|group| self.scales.min(group))
    }
}

impl BlockFormat for Q5KBlock {
    const DTYPE: DType = DType::Q5K;
    const LEN: usize = QK_K;
    const GROUP_LEN: usize = 32;

    fn scale(&self, group: usize) -> f32 {
        self.d.get() * f32::from(self.scales.scale(group))
    }

    fn min(&self, group: usize) -> f32 {
        self.dmin.get() * f32::from(self.scales.min(group))
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK_K];
        bits::unpack::<4, 32>(&self.qs, 0, &mut codes);
        bits::unpack::<1, 32>(&self.qh, 4, &mut codes);
        bits::centre(&codes, 0, out);
    }

    fn encode(values: &[f32]) -> Q5KBlock {
        let found = affine::super_block::<8, 32>(block_of(values), &RANGES);
        let mut qh = [0; QK_K / 8];
        let mut qs = [0; QK_K / 2];
        bits::pack::<1, 32>(&found.codes, 4, &mut qh);
        bits::pack::<4, 32>(&found.codes, 0, &mut qs);
        Q5KBlock {
            d: found.d,
            dmin: found.dmin,
            scales: KScales::new(&found.sub_scales, &found.sub_mins),
            qh,
            qs,
        }
    }
}
