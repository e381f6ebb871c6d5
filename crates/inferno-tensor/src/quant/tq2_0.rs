//! TQ2_0: 256 ternary weights of 2 bits, and a scale.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use super::{QK_K, bits, nearest};
use crate::DType;

/// 256 weights in 66 bytes, 2.0625 bits per weight: `weight[i] = d * (code[i] - 1)`, codes from 0 to
/// 2; the format can also store 3.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..64 | `qs` | the codes, in runs of 32 bytes for 128 weights: bits `2j` and `2j + 1` of byte `i` are weight `32 * j + i` |
/// | 64..66 | `d` | the scale, half precision |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Tq2_0Block {
    qs: [u8; QK_K / 4],
    d: HalfBytes,
}

const _: () = assert!(size_of::<Tq2_0Block>() == 66);

impl BlockFormat for Tq2_0Block {
    const DTYPE: DType = DType::Tq2_0;
    const LEN: usize = QK_K;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK_K];
        bits::unpack::<2, 32>(&self.qs, 0, &mut codes);
        bits::centre(&codes, 1, out);
    }
}

impl EncodeBlock for Tq2_0Block {
    fn encode(values: &[f32], _importance: Option<&[f32]>) -> Tq2_0Block {
        let (d, codes) = nearest::ternary(block_of(values));
        let mut qs = [0; QK_K / 4];
        bits::pack::<2, 32>(&codes, 0, &mut qs);
        Tq2_0Block { qs, d: HalfBytes::new(d) }
    }
}
