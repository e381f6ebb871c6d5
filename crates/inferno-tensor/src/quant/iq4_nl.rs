//! IQ4_NL: 32 4-bit codes of 16 unevenly spaced levels, and a scale.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use super::iq4_levels::levels;
use super::search::levels::Iq4Levels;
use super::{QK, bits, search};
use crate::DType;

/// 32 weights in 18 bytes, 4.5 bits per weight: `weight[i] = d * IQ4_LEVELS[code[i]]`.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale, half precision |
/// | 2..18 | `qs` | the codes: low half of byte `i` is weight `i`, high half weight `i + 16` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq4NlBlock {
    d: HalfBytes,
    qs: [u8; QK / 2],
}

const _: () = assert!(size_of::<Iq4NlBlock>() == 18);

impl BlockFormat for Iq4NlBlock {
    const DTYPE: DType = DType::Iq4Nl;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        levels(&codes, out);
    }
}

impl EncodeBlock for Iq4NlBlock {
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Iq4NlBlock {
        let (d, codes) =
            search::symmetric::block::<QK>(block_of(values), importance.map(block_of), &Iq4Levels);
        let mut qs = [0; QK / 2];
        bits::pack::<4, 16>(&codes, 0, &mut qs);
        Iq4NlBlock { d, qs }
    }
}
