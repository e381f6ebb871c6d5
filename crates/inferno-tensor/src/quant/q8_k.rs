//! Q8_K: 256 8-bit weights, a single-precision scale, and sums of 16 weights.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, block_of};
use super::{QK_K, nearest};
use crate::DType;

/// 256 weights in 292 bytes, 9.125 bits per weight: `weight[i] = d * quant[i]`.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..4 | `d` | the scale, single precision |
/// | 4..260 | `qs` | the quants, signed bytes |
/// | 260..292 | `sums` | the sums of 16 quants each, signed numbers of 16 bits; not used |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q8KBlock {
    d: [u8; 4],
    qs: [i8; QK_K],
    sums: [[u8; 2]; QK_K / 16],
}

const _: () = assert!(size_of::<Q8KBlock>() == 292);

impl BlockFormat for Q8KBlock {
    const DTYPE: DType = DType::Q8K;
    const LEN: usize = QK_K;

    fn scale(&self, _group: usize) -> f32 {
        f32::from_le_bytes(self.d)
    }

    fn quants(&self, out: &mut [i8]) {
        out.copy_from_slice(&self.qs);
    }
}

impl EncodeBlock for Q8KBlock {
    /// 2^127: the scale of larger values, rounded up, times 127 may overflow.
    const MAX_MAGNITUDE: f32 = f32::from_bits(0x7f00_0000);

    fn encode(values: &[f32], _importance: Option<&[f32]>) -> Q8KBlock {
        let mut qs = [0; QK_K];
        let d = nearest::magnitude(block_of::<QK_K>(values), &mut qs).to_le_bytes();
        let sum = |i: usize| qs[16 * i..][..16].iter().map(|&quant| i16::from(quant)).sum::<i16>();
        Q8KBlock { d, qs, sums: std::array::from_fn(|i| sum(i).to_le_bytes()) }
    }
}
