//! The search for the scales of the K and IQ4 formats: least weighted squared error.
//!
//! Both searches go the same way. Each group tries a range of starting scales; for each the values
//! are rounded, the scale that fits those codes best is solved for in closed form, and the trial
//! with the smallest error wins. The group scales are then quantized themselves, trying the
//! neighbours of each rounded scale, and the scale of the super-block is solved for once more while
//! that lowers the error.
//!
//! The error of a weight counts `rms + |weight|`, with the root mean square of its super-block:
//! large weights move the output most, and none is ignored.

pub(super) mod affine;
pub(super) mod levels;
pub(super) mod symmetric;

use super::block::Half;
use super::nearest::{extreme, inverse};

/// How often the scale of a super-block is solved for anew at most; two rounds find nearly all
/// there is.
const MAX_NUM_REFITS: usize = 3;

/// How many integers are tried for the extreme scale of a super-block.
const NUM_REACHES: usize = 8;

/// Sums are kept in this many lanes, so that the compiler can use vectors; divides every group.
const NUM_LANES: usize = 8;

/// How much the error of each weight counts.
fn importance<const N: usize>(values: &[f32; N]) -> [f32; N] {
    let [square] = sums::<N, 1>(|i| [values[i] * values[i]]);
    let rms = (square / N as f32).sqrt();
    values.map(|value| rms + value.abs())
}

/// The scale of a super-block whose integer multiples within bounds come nearest to the scales of
/// its groups.
///
/// Tries to take the extreme scale to the bound of largest magnitude and to the integers next to
/// it.
fn common_step(scales: &[f32], lowest: f32, highest: f32) -> Half {
    let extreme = extreme(scales);
    let reach = if -lowest > highest { lowest } else { highest };
    let mut best = Half::new(extreme / reach);
    let mut least = f32::INFINITY;
    for back in 0..NUM_REACHES {
        let step = Half::new(extreme / (reach - reach.signum() * back as f32));
        let inverse = inverse(step.get());
        let error = scales.iter().fold(0.0, |sum, scale| {
            let difference = scale - step.get() * round_within(scale * inverse, lowest, highest);
            sum + difference * difference
        });
        if error < least {
            (best, least) = (step, error);
        }
    }
    best
}

/// Adds up `K` terms for each of `N` weights.
fn sums<const N: usize, const K: usize>(terms: impl Fn(usize) -> [f32; K]) -> [f32; K] {
    const { assert!(N % NUM_LANES == 0) };
    let mut lanes = [[0.0f32; NUM_LANES]; K];
    for first in (0..N).step_by(NUM_LANES) {
        for lane in 0..NUM_LANES {
            for (lanes, term) in lanes.iter_mut().zip(terms(first + lane)) {
                lanes[lane] += term;
            }
        }
    }
    lanes.map(|lanes| lanes.iter().sum())
}

/// Rounds to the nearest integer within bounds of at most 2^22; NaN becomes the lowest.
///
/// At 1.5 * 2^23 neighbouring singles are one apart: adding rounds, and subtracting brings the
/// integer back. Neither this nor the comparisons stop the compiler from using vectors, as
/// `f32::clamp` and a call to round would.
fn round_within(value: f32, lowest: f32, highest: f32) -> f32 {
    const ONE_APART: f32 = 12_582_912.0;
    let value = if value > lowest { value } else { lowest };
    let value = if value < highest { value } else { highest };
    value + ONE_APART - ONE_APART
}
