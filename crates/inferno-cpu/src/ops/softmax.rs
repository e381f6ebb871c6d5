//! Exponentials relative to the maximum, for every softmax.
//!
//! **Order of the sums.** Lane `i` adds the exponentials of values `i`, `i + 16`, ..., from zero; then the lanes are
//! added as a tree ([`FloatLanes::sum`](crate::lanes::FloatLanes::sum)). The maximum is reduced in the same order.

use inferno_backend::distance_column;

use crate::lanes::{LANES, Lanes};
use crate::ops::functions::soft_cap;

/// Replaces each value by `exp(value - max)`, and returns the maximum and the sum of the results. Minus infinity
/// becomes zero if any other value is larger.
#[inline(always)]
pub(crate) fn exponentials<L: Lanes>(lanes: L, values: &mut [f32]) -> (f32, f32) {
    let mut max = lanes.splat(f32::NEG_INFINITY);
    for values in values.chunks(LANES) {
        max = lanes.max(load_or(lanes, values, f32::NEG_INFINITY), max);
    }
    let max = lanes.max_lane(max);
    let shift = lanes.splat(max);
    let mut sum = lanes.splat(0.0);
    for values in values.chunks_mut(LANES) {
        let exp = lanes.exp_in_range(lanes.sub(load_or(lanes, values, f32::NEG_INFINITY), shift));
        lanes.store_part(exp, values);
        sum = lanes.add(sum, exp);
    }
    (max, lanes.sum(sum))
}

/// Returns the sum that [`exponentials`] returns for values whose maximum is `max`, and leaves the values as they are.
#[inline(always)]
pub(crate) fn sum_of_exponentials<L: Lanes>(lanes: L, values: &[f32], max: f32) -> f32 {
    let shift = lanes.splat(max);
    let mut sum = lanes.splat(0.0);
    for values in values.chunks(LANES) {
        let distance = lanes.sub(load_or(lanes, values, f32::NEG_INFINITY), shift);
        sum = lanes.add(sum, lanes.exp_in_range(distance));
    }
    lanes.sum(sum)
}

/// Replaces each score `s` by `cap * tanh(s / cap)`.
#[inline(always)]
pub(crate) fn cap_scores<L: Lanes>(lanes: L, cap: f32, scores: &mut [f32]) {
    for scores in scores.chunks_mut(LANES) {
        lanes.store_part(soft_cap(lanes, cap, lanes.load_part(scores)), scores);
    }
}

/// What distances add to the scores of a head.
pub(crate) enum HeadBias<'a> {
    Slope(f32),
    /// A row of a [`DistanceBias::Table`](inferno_backend::DistanceBias::Table).
    Table(&'a [f32]),
}

/// Adds what the distance from position `own` adds to each score; the first score belongs to position `first`.
#[inline(always)]
pub(crate) fn add_distance_bias<L: Lanes>(
    lanes: L,
    bias: &HeadBias<'_>,
    own: usize,
    first: usize,
    scores: &mut [f32],
) {
    match bias {
        HeadBias::Slope(slope) => subtract_distances(lanes, *slope, own, first, scores),
        HeadBias::Table(row) => {
            for (score, position) in scores.iter_mut().zip(first..) {
                *score += row[distance_column(row.len(), own, position)];
            }
        }
    }
}

/// Subtracts `slope` times the distance from position `own` from each score; the first score belongs to position `first`.
#[inline(always)]
fn subtract_distances<L: Lanes>(
    lanes: L,
    slope: f32,
    own: usize,
    first: usize,
    scores: &mut [f32],
) {
    let slope = lanes.splat(-slope);
    for (number, scores) in scores.chunks_mut(LANES).enumerate() {
        let start = first + number * LANES;
        let mut distances = [0.0; LANES];
        for (lane, distance) in distances.iter_mut().enumerate() {
            // Exact up to 2^24 positions.
            *distance = (start + lane).abs_diff(own) as f32;
        }
        let biased = lanes.fma(slope, lanes.load(&distances), lanes.load_part(scores));
        lanes.store_part(biased, scores);
    }
}

/// Loads up to 16 numbers and sets the other lanes to `filler`.
#[inline(always)]
pub(crate) fn load_or<L: Lanes>(lanes: L, x: &[f32], filler: f32) -> L::F32 {
    match x.first_chunk() {
        Some(all) => lanes.load(all),
        None => {
            let mut padded = [filler; LANES];
            padded[..x.len()].copy_from_slice(x);
            lanes.load(&padded)
        }
    }
}
