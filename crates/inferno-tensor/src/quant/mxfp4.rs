//! MXFP4: 32 4-bit floating-point numbers and a power of two.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, block_of};
use super::{QK, bits};
use crate::DType;

/// The numbers of the codes of MXFP4 (one sign, two exponent bits and one fraction bit), doubled.
///
/// **Source**: OCP Microscaling Formats (MX) Specification 1.0, section 5.3.3.
pub const MXFP4_LEVELS: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// 32 weights in 17 bytes, 4.25 bits per weight: `weight[i] = 2^(e - 128) * MXFP4_LEVELS[code[i]]`.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0 | `e` | the exponent |
/// | 1..17 | `qs` | the codes: low half of byte `i` is weight `i`, high half weight `i + 16` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Mxfp4Block {
    e: u8,
    qs: [u8; QK / 2],
}

const _: () = assert!(size_of::<Mxfp4Block>() == 17);

/// `2^(e - 128)`. The two smallest ones are subnormal.
fn power(e: u8) -> f32 {
    f32::from_bits(match e {
        0 | 1 => 0x0020_0000 << e,
        e => u32::from(e - 1) << 23,
    })
}

/// Writes the level of every code.
///
/// **Panics** if the lengths differ.
pub(super) fn levels(codes: &[u8], out: &mut [i8]) {
    assert_eq!(out.len(), codes.len(), "a block has exactly LEN quants");
    for (out, &code) in out.iter_mut().zip(codes) {
        *out = MXFP4_LEVELS[usize::from(code & 0x0f)];
    }
}

/// Writes the codes of the levels that are nearest to the values in units of `scale`; the first of
/// several.
pub(super) fn nearest_codes(values: &[f32], scale: f32, codes: &mut [u8]) {
    for (out, value) in codes.iter_mut().zip(values) {
        let error = |code: u8| (scale * f32::from(MXFP4_LEVELS[usize::from(code)]) - value).abs();
        *out = (1..16).fold(0, |best, code| if error(code) < error(best) { code } else { best });
    }
}

impl BlockFormat for Mxfp4Block {
    const DTYPE: DType = DType::Mxfp4;

    fn scale(&self, _group: usize) -> f32 {
        power(self.e)
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        levels(&codes, out);
    }
}

impl EncodeBlock for Mxfp4Block {
    const MAX_MAGNITUDE: f32 = f32::MAX;

    /// The largest magnitude becomes a number from 4 to 6, or saturates at 6.
    fn encode(values: &[f32], _importance: Option<&[f32]>) -> Mxfp4Block {
        let values = block_of::<QK>(values);
        let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        // The biased exponent of the largest, less that of 4.
        let e = (largest.to_bits() >> 23).saturating_sub(2) as u8;
        let mut codes = [0; QK];
        nearest_codes(values, power(e), &mut codes);
        let mut qs = [0; QK / 2];
        bits::pack::<4, 16>(&codes, 0, &mut qs);
        Mxfp4Block { e, qs }
    }
}
