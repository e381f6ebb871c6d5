//! MXFP4: 32 4-bit floating-point numbers and a power of two.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, block_of};
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

impl BlockFormat for Mxfp4Block {
    const DTYPE: DType = DType::Mxfp4;

    fn scale(&self, _group: usize) -> f32 {
        power(self.e)
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; QK];
        bits::unpack::<4, 16>(&self.qs, 0, &mut codes);
        assert_eq!(out.len(), codes.len(), "a block has exactly LEN quants");
        for (out, &code) in out.iter_mut().zip(&codes) {
            *out = MXFP4_LEVELS[usize::from(code & 0x0f)];
        }
    }

    /// The largest magnitude becomes a number from 4 to 6, or saturates at 6.
    fn encode(values: &[f32]) -> Mxfp4Block {
        let values = block_of::<QK>(values);
        let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        // The biased exponent of the largest, less that of 4.
        let e = (largest.to_bits() >> 23).saturating_sub(2) as u8;
        let scale = power(e);
        let error = |value: f32, code: u8| {
            (scale * f32::from(MXFP4_LEVELS[usize::from(code)]) - value).abs()
        };
        let codes = values.map(|value| {
            (1..16).fold(0, |best, code| match error(value, code) < error(value, best) {
                true => code,
                false => best,
            })
        });
        let mut qs = [0; QK / 2];
        bits::pack::<4, 16>(&codes, 0, &mut qs);
        Mxfp4Block { e, qs }
    }
}
