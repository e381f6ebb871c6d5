//! Round-to-nearest quantization, with the sign and rounding conventions of the formats' reference.
//!
//! The order of operations determines the bits of encoded files.

use super::block::HalfBytes;
use super::{QK, QK_K};

/// Quantizes to -127..=127 and returns the scale: the largest magnitude divided by 127.
pub(super) fn magnitude(values: &[f32], quants: &mut [i8]) -> f32 {
    let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let scale = largest / 127.0;
    let inverse = inverse(scale);
    for (quant, value) in quants.iter_mut().zip(values) {
        *quant = round((value * inverse).clamp(-127.0, 127.0)) as i8;
    }
    scale
}

/// Quantizes around zero to the codes `0..2 * half`, where `half` is the code of zero, and returns
/// the scale and the codes.
///
/// The value of largest magnitude gets code 0; the scale is negative if that value is positive.
pub(super) fn symmetric(values: &[f32; QK], half: u8) -> (HalfBytes, [u8; QK]) {
    let extreme = extreme(values);
    let scale = extreme / -f32::from(half);
    let inverse = inverse(scale);
    let mut codes = [0; QK];
    for (code, value) in codes.iter_mut().zip(values) {
        *code = ((value * inverse + (f32::from(half) + 0.5)) as u8).min(2 * half - 1);
    }
    (HalfBytes::new(scale), codes)
}

/// Quantizes the range from the smallest to the largest value to the codes `0..=top`; returns the
/// scale, the smallest value and the codes.
pub(super) fn affine(values: &[f32; QK], top: u8) -> (HalfBytes, HalfBytes, [u8; QK]) {
    let [largest, smallest] = bounds(values);
    let scale = (largest - smallest) / f32::from(top);
    let inverse = inverse(scale);
    let mut codes = [0; QK];
    for (code, value) in codes.iter_mut().zip(values) {
        *code = (((value - smallest) * inverse + 0.5) as u8).min(top);
    }
    (HalfBytes::new(scale), HalfBytes::new(smallest), codes)
}

/// Quantizes to the codes 0 to 2 of minus the scale, zero and the scale, which is the largest magnitude;
/// returns the scale and the codes.
pub(super) fn ternary(values: &[f32; QK_K]) -> (f32, [u8; QK_K]) {
    let scale = extreme(values).abs();
    let inverse = inverse(scale);
    (scale, values.map(|value| (round((value * inverse).clamp(-1.0, 1.0)) + 1) as u8))
}

/// The largest and the smallest value; of zeros with different signs, the first.
fn bounds(values: &[f32; QK]) -> [f32; 2] {
    values.iter().fold([values[0]; 2], |[largest, smallest], &value| {
        [
            if value > largest { value } else { largest },
            if value < smallest { value } else { smallest },
        ]
    })
}

/// The value of largest magnitude; the first one of several.
pub(super) fn extreme(values: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b.abs() > a.abs() { b } else { a };
    values.iter().copied().reduce(larger).unwrap_or(0.0)
}

/// Rounds a number well within the range of `i32` to the nearest integer, ties away from zero.
///
/// Implemented here because `f32::round` is a call on processors without a rounding instruction.
fn round(value: f32) -> i32 {
    let whole = value as i32;
    let rest = value - whole as f32;
    whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5)
}

/// The reciprocal of a scale; zero if it is infinite, so that all codes of such a scale are zero.
pub(super) fn inverse(scale: f32) -> f32 {
    let inverse = 1.0 / scale;
    if inverse.is_finite() { inverse } else { 0.0 }
}
