//! Q8_0: 32 signed 8-bit weights and a scale.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use super::{QK, nearest};
use crate::DType;

/// 32 weights in 34 bytes, 8.5 bits per weight: `weight[i] = d * qs[i]`.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale, half precision |
/// | 2..34 | `qs` | the quants, signed: byte `i` is weight `i` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q8_0Block {
    d: HalfBytes,
    qs: [i8; QK],
}

const _: () = assert!(size_of::<Q8_0Block>() == 34);

impl BlockFormat for Q8_0Block {
    const DTYPE: DType = DType::Q8_0;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn quants(&self, out: &mut [i8]) {
        out.copy_from_slice(&self.qs);
    }
}

impl EncodeBlock for Q8_0Block {
    fn encode(values: &[f32], _importance: Option<&[f32]>) -> Q8_0Block {
        let mut qs = [0; QK];
        let d = nearest::magnitude(block_of::<QK>(values), &mut qs);
        Q8_0Block { d: HalfBytes::new(d), qs }
    }
}
