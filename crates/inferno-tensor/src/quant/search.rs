//! Search for the scales of the K and IQ formats, and of others given an importance, with the least weighted squared error.
//!
//! For each group, a range of starting scales is tried: the values are rounded, the best scale for
//! the resulting codes is computed in closed form, and the trial with the smallest error wins. The
//! group scales are then quantized, trying the neighbours of each rounded scale, and the scale of
//! the super-block is refitted as long as that reduces the error.
//!
//! The squared error of a weight is multiplied by `rms + |weight|`, where `rms` is the root mean square of the
//! super-block: large weights affect the output most, and none is ignored. Given an importance of its column, the
//! mean square of the product's inputs there, it is multiplied by that and by `sqrt(rms^2 + weight^2)`. The
//! importance alone would give the expected squared error of the output if inputs of different columns were not
//! correlated; they are, and with both factors quantized models diverge less (docs/calibration.md), except in the
//! IQ4 formats.

pub(super) mod affine;
pub(super) mod levels;
pub(super) mod nearest_vectors;
pub(super) mod symmetric;
pub(super) mod vectors;

use super::block::HalfBytes;
use super::nearest::{extreme, inverse};

/// Maximum number of refits of a super-block's scale; two achieve nearly all of the gain.
const MAX_NUM_REFITS: usize = 3;

/// Number of integers tried for the extreme scale of a super-block.
const NUM_REACHES: usize = 8;

/// Number of lanes in which sums are accumulated, so that the compiler can vectorize; divides the
/// length of every group.
const NUM_LANES: usize = 8;

/// The importance of columns that are never active, relative to the mean of their block: their weights still matter for
/// other inputs.
const LEAST_IMPORTANCE: f32 = 1e-4;

/// The weight of each squared error: of the column's importance, if there is one, and of the weight's magnitude. The unit does
/// not matter.
fn error_weights<const N: usize>(values: &[f32; N], importance: Option<&[f32; N]>) -> [f32; N] {
    let [square] = sums::<N, 1>(|i| [values[i] * values[i]]);
    let rms = (square / N as f32).sqrt();
    let Some(importance) = importance else { return values.map(|value| rms + value.abs()) };
    let (importance, to_relative) = (relative_importance(importance), inverse(rms));
    std::array::from_fn(|i| {
        let relative = values[i] * to_relative;
        importance[i] * (1.0 + relative * relative).sqrt()
    })
}

/// The importance relative to the mean, which keeps the sums of the search in range.
fn relative_importance<const N: usize>(importance: &[f32; N]) -> [f32; N] {
    let mean = importance.iter().map(|&x| f64::from(x)).sum::<f64>() / N as f64;
    if mean <= 0.0 {
        return [1.0; N];
    }
    importance.map(|x| (f64::from(x) / mean) as f32 + LEAST_IMPORTANCE)
}

/// The scale of a super-block whose integer multiples within bounds are nearest to the scales of its
/// groups.
///
/// Tries to map the extreme scale to the bound of largest magnitude and to the integers next to it.
fn common_step(scales: &[f32], lowest: f32, highest: f32) -> HalfBytes {
    let extreme = extreme(scales);
    let reach = if -lowest > highest { lowest } else { highest };
    let mut best = HalfBytes::new(extreme / reach);
    let mut least = f32::INFINITY;
    for back in 0..NUM_REACHES {
        let multiple = reach - reach.signum() * back as f32;
        let halves = nearby_halves(extreme / multiple, multiple.abs());
        // A step of zero would make all weights zero. With any other step, groups with small scales can still have the multiple zero.
        for step in halves.filter(|step| step.get() != 0.0) {
            let inverse = inverse(step.get());
            let error = scales.iter().fold(0.0, |sum, scale| {
                let rounded = round_within(scale * inverse, lowest, highest);
                let difference = scale - step.get() * rounded;
                sum + difference * difference
            });
            if error < least {
                (best, least) = (step, error);
            }
        }
    }
    best
}

/// The halves that are tried for a scale whose largest multiple is `reach` times it: the nearest one, and the next larger one
/// if the multiple would be off by more than half a step.
///
/// That happens if the nearest one is zero, or one of the first few multiples of 2^-24, the smallest half. All values that
/// are larger than the multiple would then be reduced to it.
fn nearby_halves(scale: f32, reach: f32) -> impl Iterator<Item = HalfBytes> {
    let nearest = HalfBytes::new(scale);
    let is_short = scale.abs() * reach > nearest.get().abs() * (reach + 0.5);
    [Some(nearest), is_short.then(|| nearest.next_larger())].into_iter().flatten()
}

/// Returns the candidate with the least error; the first of several.
///
/// **Panics** if there is none.
fn least_of<T: Copy>(candidates: impl IntoIterator<Item = T>, error: impl Fn(T) -> f32) -> T {
    let errors = candidates.into_iter().map(|candidate| (candidate, error(candidate)));
    let least = errors.reduce(|a, b| if b.1 < a.1 { b } else { a });
    least.expect("at least one candidate").0
}

/// Sums `K` terms over `N` weights.
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
/// At 1.5 * 2^23, adjacent single-precision numbers differ by one: adding it rounds, and subtracting
/// it restores the integer. Unlike `f32::clamp` and `f32::round`, this and the comparisons can be
/// vectorized.
fn round_within(value: f32, lowest: f32, highest: f32) -> f32 {
    const ONE_APART: f32 = 12_582_912.0;
    let value = if value > lowest { value } else { lowest };
    let value = if value < highest { value } else { highest };
    value + ONE_APART - ONE_APART
}
