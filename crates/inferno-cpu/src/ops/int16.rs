//! Rows as 16-bit integers with one scale: queries, keys and values of attention over an I16 cache.
//!
//! `scale = max |x| / largest`, and each value times `largest / max |x|` is rounded to the nearest integer, ties to
//! even. The largest integer is 32639, or less in long rows of the cache. If the largest magnitude is below 2^-100, all
//! integers are zero. If a value is not finite, the scale is NaN.

use crate::lanes::{LANES, Lanes, vectors, vectors_mut};
use crate::ops::quantize::LOWEST;

/// The factor that converts a row to integers, and the scale that converts them back.
pub(crate) struct RowScale {
    pub(crate) factor: f32,
    pub(crate) scale: f32,
}

impl RowScale {
    /// The scale of a row in which `magnitude` is the largest magnitude, which becomes the integer `largest`.
    #[inline(always)]
    pub(crate) fn new(magnitude: f32, largest: f32) -> Self {
        if !magnitude.is_finite() {
            Self { factor: 0.0, scale: f32::NAN }
        } else if magnitude < LOWEST {
            Self { factor: 0.0, scale: 0.0 }
        } else {
            Self { factor: largest / magnitude, scale: magnitude / largest }
        }
    }
}

/// Rounds numbers of magnitudes up to 32639 to the nearest integers, ties to even, as many as `out` has room for.
/// NaN and infinities have unspecified results.
#[inline(always)]
fn round_to_i16<L: Lanes>(lanes: L, x: L::F32, out: &mut [i16]) {
    match out.first_chunk_mut() {
        Some(all) => lanes.store_i16(x, all),
        None => {
            let mut all = [0; LANES];
            lanes.store_i16(x, &mut all);
            out.copy_from_slice(&all[..out.len()]);
        }
    }
}

/// Fills `out` with the integers of `values` up to `largest`, little-endian, and returns their scale.
#[inline(always)]
pub(crate) fn quantize_row<L: Lanes>(
    lanes: L,
    values: &[f32],
    largest: f32,
    out: &mut [i16],
) -> f32 {
    let (values, rest) = vectors(values);
    let mut magnitudes = lanes.load_part(rest);
    for values in values {
        magnitudes = lanes.larger_magnitude(magnitudes, lanes.load(values));
    }
    let magnitude = lanes.max_magnitude(magnitudes, magnitudes);
    let RowScale { factor, scale } = RowScale::new(magnitude, largest);
    if scale.is_nan() {
        out.fill(0);
        return scale;
    }
    let factor = lanes.splat(factor);
    let (out, rest_of_out) = vectors_mut(out);
    for (values, out) in values.iter().zip(out) {
        lanes.store_i16(lanes.mul(lanes.load(values), factor), out);
    }
    round_to_i16(lanes, lanes.mul(lanes.load_part(rest), factor), rest_of_out);
    scale
}
