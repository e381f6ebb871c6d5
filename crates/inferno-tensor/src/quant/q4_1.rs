//! Q4_1: 32 4-bit weights, a scale and a minimum.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use super::search::affine::{self, Ranges};
use super::{QK, bits, nearest};
use crate::DType;

/// 32 weights in 20 bytes, 5 bits per weight: `weight[i] = d * code[i] + m`, codes from 0 to 15.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale, half precision |
/// | 2..4 | `m` | the smallest weight, half precision |
/// | 4..20 | `qs` | the codes: low half of byte `i` is weight `i`, high half weight `i + 16` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q4_1Block {
    d: HalfBytes,
    m: HalfBytes,
    qs: [u8; QK / 2],
}

const _: () = assert!(size_of::<Q4_1Block>() == 20);

const RANGES: Ranges = Ranges { top: 15.0, sub_top: 0.0, step: 0.2 };

impl BlockFormat for Q4_1Block {
    const DTYPE: DType = DType::Q4_1;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn min(&self, _group: usize) -> f32 {
        -self.m.get()
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        bits::centre(&codes, 0, out);
    }
}

impl EncodeBlock for Q4_1Block {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q4_1Block {
        let values = block_of(values);
        let (d, m, codes) = match importance {
            Some(importance) => affine::block(values, block_of(importance), &RANGES),
            None => nearest::affine(values, 15),
        };
        let mut qs = [0; QK / 2];
        bits::pack::<4, 16>(&codes, 0, &mut qs);
        Q4_1Block { d, m, qs }
    }
}
