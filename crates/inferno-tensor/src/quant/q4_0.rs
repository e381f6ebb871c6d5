//! Q4_0: 32 symmetric 4-bit weights and a scale.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use super::search::levels::EvenLevels;
use super::{QK, bits, nearest, search};
use crate::DType;

/// 32 weights in 18 bytes, 4.5 bits per weight: `weight[i] = d * (code[i] - 8)`, codes from 0 to 15.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale, half precision |
/// | 2..18 | `qs` | the codes: low half of byte `i` is weight `i`, high half weight `i + 16` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q4_0Block {
    d: HalfBytes,
    qs: [u8; QK / 2],
}

const _: () = assert!(size_of::<Q4_0Block>() == 18);

impl BlockFormat for Q4_0Block {
    const DTYPE: DType = DType::Q4_0;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        bits::centre(&codes, 8, out);
    }
}

impl EncodeBlock for Q4_0Block {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q4_0Block {
        let values = block_of(values);
        let (d, codes) = match importance {
            Some(importance) => search::symmetric::block(
                values,
                Some(block_of(importance)),
                &EvenLevels { half: 8.0 },
            ),
            None => nearest::symmetric(values, 8),
        };
        let mut qs = [0; QK / 2];
        bits::pack::<4, 16>(&codes, 0, &mut qs);
        Q4_0Block { d, qs }
    }
}
