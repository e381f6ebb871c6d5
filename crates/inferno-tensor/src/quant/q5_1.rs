//! Q5_1: 32 5-bit weights, a scale and a minimum.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use super::search::affine::{self, Ranges};
use super::{QK, bits, nearest};
use crate::DType;

/// 32 weights in 24 bytes, 6 bits per weight: `weight[i] = d * code[i] + m`, codes from 0 to 31.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale, half precision |
/// | 2..4 | `m` | the smallest weight, half precision |
/// | 4..8 | `qh` | bit 4 of the codes: bit `i % 8` of byte `i / 8` is weight `i` |
/// | 8..24 | `qs` | bits 0 to 3 of the codes: low half of byte `i` is weight `i`, high half weight `i + 16` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q5_1Block {
    d: HalfBytes,
    m: HalfBytes,
    qh: [u8; QK / 8],
    qs: [u8; QK / 2],
}

const _: () = assert!(size_of::<Q5_1Block>() == 24);

const RANGES: Ranges = Ranges { top: 31.0, sub_top: 0.0, step: 0.3 };

impl BlockFormat for Q5_1Block {
    const DTYPE: DType = DType::Q5_1;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn min(&self, _group: usize) -> f32 {
        -self.m.get()
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        bits::unpack::<1, 1>(&self.qh, 4, &mut codes);
        bits::centre(&codes, 0, out);
    }
}

impl EncodeBlock for Q5_1Block {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q5_1Block {
        let values = block_of(values);
        let (d, m, codes) = match importance {
            Some(importance) => affine::block(values, block_of(importance), &RANGES),
            None => nearest::affine(values, 31),
        };
        let mut qh = [0; QK / 8];
        let mut qs = [0; QK / 2];
        bits::pack::<1, 1>(&codes, 4, &mut qh);
        bits::pack::<4, 16>(&codes, 0, &mut qs);
        Q5_1Block { d, m, qh, qs }
    }
}
