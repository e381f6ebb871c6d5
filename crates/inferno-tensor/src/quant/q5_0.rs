//! Q5_0: 32 symmetric 5-bit weights and a scale.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use super::search::levels::EvenLevels;
use super::{QK, bits, nearest, search};
use crate::DType;

/// 32 weights in 22 bytes, 5.5 bits per weight: `weight[i] = d * (code[i] - 16)`, codes from 0 to 31.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale, half precision |
/// | 2..6 | `qh` | bit 4 of the codes: bit `i % 8` of byte `i / 8` is weight `i` |
/// | 6..22 | `qs` | bits 0 to 3 of the codes: low half of byte `i` is weight `i`, high half weight `i + 16` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Q5_0Block {
    d: HalfBytes,
    qh: [u8; QK / 8],
    qs: [u8; QK / 2],
}

const _: () = assert!(size_of::<Q5_0Block>() == 22);

impl BlockFormat for Q5_0Block {
    const DTYPE: DType = DType::Q5_0;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        bits::unpack::<1, 1>(&self.qh, 4, &mut codes);
        bits::centre(&codes, 16, out);
    }
}

impl EncodeBlock for Q5_0Block {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Q5_0Block {
        let values = block_of(values);
        let (d, codes) = match importance {
            Some(importance) => search::symmetric::block(
                values,
                Some(block_of(importance)),
                &EvenLevels { half: 16.0 },
            ),
            None => nearest::symmetric(values, 16),
        };
        let mut qh = [0; QK / 8];
        let mut qs = [0; QK / 2];
        bits::pack::<1, 1>(&codes, 4, &mut qh);
        bits::pack::<4, 16>(&codes, 0, &mut qs);
        Q5_0Block { d, qh, qs }
    }
}
