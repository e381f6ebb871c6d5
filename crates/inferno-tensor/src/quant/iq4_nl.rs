//! IQ4_NL: 32 weights of 4 bits that choose among 16 unevenly spaced levels, and a scale.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, Half, block_of};
use super::search::levels::Iq4;
use super::{QK, bits, search};
use crate::DType;

/// The levels that the codes of IQ4_NL and IQ4_XS stand for: finer around zero.
pub const IQ4_LEVELS: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// 32 weights in 18 bytes, 4.5 bits a weight: `weight[i] = d * IQ4_LEVELS[code[i]]`.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..2 | `d` | the scale, half precision |
/// | 2..18 | `qs` | the codes: low half of byte `i` is weight `i`, high half weight `i + 16` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Iq4NlBlock {
    d: Half,
    qs: [u8; QK / 2],
}

const _: () = assert!(size_of::<Iq4NlBlock>() == 18);

impl BlockFormat for Iq4NlBlock {
    const DTYPE: DType = DType::Iq4Nl;
    const LEN: usize = QK;
    const GROUP_LEN: usize = QK;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        levels(&codes, out);
    }

    fn encode(values: &[f32]) -> Iq4NlBlock {
        let (d, codes) = search::symmetric::block::<QK>(block_of(values), &Iq4);
        let mut qs = [0; QK / 2];
        bits::pack::<4, 16>(&codes, 0, &mut qs);
        Iq4NlBlock { d, qs }
    }
}

/// Looks the codes up.
pub(super) fn levels(codes: &[u8], out: &mut [i8]) {
    assert_eq!(out.len(), codes.len(), "a block has exactly LEN quants");
    for (out, &code) in out.iter_mut().zip(codes) {
        *out = IQ4_LEVELS[usize::from(code & 0x0f)];
    }
}
