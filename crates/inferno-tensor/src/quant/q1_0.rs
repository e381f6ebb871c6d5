//! Q1_0: the signs of 128 weights, and their mean magnitude.

use bytemuck::{Pod, Zeroable};

use super::bits;
use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use crate::DType;

/// 128 weights in 18 bytes, 1.125 bits per weight: `weight[i] = d * (2 * code[i] - 1)`, codes 0 and 1.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale, half precision |
/// | 2..18 | `qs` | the codes: bit `j` of byte `i` is weight `8 * i + j` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q1_0Block {
    d: HalfBytes,
    qs: [u8; 16],
}

const _: () = assert!(size_of::<Q1_0Block>() == 18);

impl BlockFormat for Q1_0Block {
    const DTYPE: DType = DType::Q1_0;
    const LEN: usize = 128;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; Self::LEN];
        bits::unpack::<1, 1>(&self.qs, 1, &mut codes);
        bits::centre(&codes, 1, out);
    }
}

impl EncodeBlock for Q1_0Block {
    fn encode(values: &[f32], _importance: Option<&[f32]>) -> Q1_0Block {
        let values = block_of::<{ Self::LEN }>(values);
        let sum: f32 = values.iter().map(|value| value.abs()).sum();
        let codes = values.map(|value| u8::from(value >= 0.0));
        let mut qs = [0; 16];
        bits::pack::<1, 1>(&codes, 0, &mut qs);
        Q1_0Block { d: HalfBytes::new(sum / values.len() as f32), qs }
    }
}
