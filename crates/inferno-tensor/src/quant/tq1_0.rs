//! TQ1_0: 256 ternary weights, five per byte, and a scale.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, HalfBytes, block_of};
use super::{QK_K, nearest};
use crate::DType;

/// 256 weights in 54 bytes, 1.6875 bits per weight: `weight[i] = d * (code[i] - 1)`, codes from 0 to 2.
///
/// A byte is a fraction of 256, rounded up: its codes are the digits after the point in base 3.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..32 | `qs` | digit `j` of byte `i` is weight `32 * j + i` |
/// | 32..48 | | digit `j` of byte `32 + i` is weight `160 + 16 * j + i` |
/// | 48..52 | | digit `j` of byte `48 + i` is weight `240 + 4 * j + i`; the fifth digit is zero |
/// | 52..54 | `d` | the scale, half precision |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Tq1_0Block {
    qs: [[u8; 4]; 13],
    d: HalfBytes,
}

const _: () = assert!(size_of::<Tq1_0Block>() == 54);

/// The powers of 3.
const POWERS: [u8; 5] = [1, 3, 9, 27, 81];

/// The byte of a weight, and its digit.
fn position(weight: usize) -> (usize, usize) {
    match weight {
        0..160 => (weight % 32, weight / 32),
        160..240 => (32 + (weight - 160) % 16, (weight - 160) / 16),
        _ => (48 + (weight - 240) % 4, (weight - 240) / 4),
    }
}

impl BlockFormat for Tq1_0Block {
    const DTYPE: DType = DType::Tq1_0;
    const LEN: usize = QK_K;

    fn scale(&self, _group: usize) -> f32 {
        self.d.get()
    }

    fn quants(&self, out: &mut [i8]) {
        assert_eq!(out.len(), Self::LEN, "a block has exactly LEN quants");
        for (weight, out) in out.iter_mut().enumerate() {
            let (byte, digit) = position(weight);
            let rest = self.qs.as_flattened()[byte].wrapping_mul(POWERS[digit]);
            *out = ((u16::from(rest) * 3) >> 8) as i8 - 1;
        }
    }
}

impl EncodeBlock for Tq1_0Block {
    fn encode(values: &[f32], _importance: Option<&[f32]>) -> Tq1_0Block {
        let (d, codes) = nearest::ternary(block_of(values));
        let mut numbers = [[0; 4]; 13];
        for (weight, code) in codes.into_iter().enumerate() {
            let (byte, digit) = position(weight);
            numbers.as_flattened_mut()[byte] += u16::from(code * POWERS[4 - digit]);
        }
        let byte = |number: u16| (256 * number).div_ceil(243) as u8;
        Tq1_0Block { qs: numbers.map(|numbers| numbers.map(byte)), d: HalfBytes::new(d) }
    }
}
