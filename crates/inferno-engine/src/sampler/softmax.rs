//! The softmax that the stages, the draw and the log-probabilities share.
//!
//! It runs over the whole vocabulary at every step, so its loops are written for the compiler to
//! vectorize: 16 lanes, summed in double precision. Lane `i` adds the values at `i`, `i + 16`, …
//! and the lanes are added in order, so that every machine finds the same bits.

use super::check_finite;
use crate::EngineError;

pub(crate) const LANES: usize = 16;

/// A softmax over logits that stay where they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Softmax {
    max: f32,
    sum: f64,
    /// The logarithm of the sum of all `exp(logit)`.
    log_sum: f64,
}

impl Softmax {
    /// Of a row of logits.
    ///
    /// **Errors**: [`EngineError::NonFiniteLogit`].
    pub(crate) fn of_finite(logits: &[f32]) -> Result<Self, EngineError> {
        check_finite(logits)?;
        Ok(Self::of(logits, |logit| logit))
    }

    /// Of the logits that `logit` reads from `items`, which hold at least one.
    pub(super) fn of<T: Copy>(items: &[T], logit: impl Fn(T) -> f32) -> Self {
        let max = max(items, &logit);
        let sum = sum(items, |item| exp_of_negative(logit(item) - max));
        Self { max, sum, log_sum: f64::from(max) + libm::log(sum) }
    }

    pub(super) fn probability(&self, logit: f32) -> f64 {
        f64::from(exp_of_negative(logit - self.max)) / self.sum
    }

    pub(crate) fn log_probability(&self, logit: f32) -> f64 {
        f64::from(logit) - self.log_sum
    }
}

/// The sum of the weights that `weight` reads from `items`, lane by lane.
pub(super) fn sum<T: Copy>(items: &[T], weight: impl Fn(T) -> f32) -> f64 {
    let mut sums = [0f64; LANES];
    let (whole, rest) = items.as_chunks::<LANES>();
    for chunk in whole {
        for (sum, &item) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(weight(item));
        }
    }
    for (sum, &item) in sums.iter_mut().zip(rest) {
        *sum += f64::from(weight(item));
    }
    sums.iter().sum()
}

/// The highest logit that `logit` reads from `items`; negative infinity if there are none.
pub(super) fn max<T: Copy>(items: &[T], logit: impl Fn(T) -> f32) -> f32 {
    let higher = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (whole, rest) = items.as_chunks::<LANES>();
    for chunk in whole {
        for (lane, &item) in lanes.iter_mut().zip(chunk) {
            *lane = higher(*lane, logit(item));
        }
    }
    let rest = rest.iter().map(|&item| logit(item));
    lanes.into_iter().chain(rest).fold(f32::NEG_INFINITY, higher)
}

/// `exp(x)` for `x` from negative infinity to 0, within 2 units in the last place; 0 below -87.
///
/// Only multiplications, additions and bit patterns, each rounded alike everywhere.
///
/// **Source**: Cody and Waite, Software Manual for the Elementary Functions, chapter 6 (the
/// reduction); the polynomial is the Taylor series, whose rest is below 2^-27 on the reduced range.
#[inline(always)]
pub(crate) fn exp_of_negative(x: f32) -> f32 {
    /// Adding this leaves the nearest integer in the low bits.
    const ROUNDER: f32 = 12_582_912.0;
    /// The natural logarithm of 2, its first bits and the rest.
    const LN_2: (f32, f32) = (355.0 / 512.0, -2.121_944_4e-4);
    const LOWEST: f32 = -87.0;

    // Not `f32::max`: a plain choice is one instruction on every machine.
    let clamped = if x > LOWEST { x } else { LOWEST };
    let rounded = clamped * std::f32::consts::LOG2_E + ROUNDER;
    let n = rounded - ROUNDER;
    let r = clamped - n * LN_2.0 - n * LN_2.1;
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    // From -126 to 0, as is `n`, so that the exponent field stays a normal number's.
    let exponent = rounded.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127);
    let power = f32::from_bits(exponent << 23);
    if x > LOWEST { p * power } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        for step in 0..=870_000 {
            let x = step as f32 * -1e-4;
            let (found, expected) = (f64::from(exp_of_negative(x)), f64::from(x).exp());
            if x > -87.0 {
                let error = (found - expected).abs() / expected;
                assert!(error < 2.0 * f64::from(f32::EPSILON), "exp({x}): {found} {expected}");
            }
        }
        assert_eq!(exp_of_negative(0.0), 1.0);
        assert_eq!(exp_of_negative(-87.0), 0.0);
        assert_eq!(exp_of_negative(f32::MIN), 0.0);
        assert_eq!(exp_of_negative(f32::NEG_INFINITY), 0.0);
    }

    #[test]
    fn probabilities_add_up_however_many_there_are() {
        for len in [1, 15, 16, 17, 1000] {
            let logits: Vec<f32> = (0..len).map(|at| (at as f32 * 0.37).sin() * 9.0).collect();
            let softmax = Softmax::of(&logits, |logit| logit);
            let total: f64 = logits.iter().map(|&logit| softmax.probability(logit)).sum();
            assert!((total - 1.0).abs() < 1e-6, "{len}: {total}");
            let highest = logits.iter().copied().fold(f32::MIN, f32::max);
            assert_eq!(max(&logits, |logit| logit), highest);
        }
    }
}
