//! Weights that are a scale times a level.

use super::super::QK_K;
use super::super::block::Half;
use super::super::nearest::{extreme, round};
use super::levels::Levels;
use super::{MAX_NUM_REFITS, importance, inverse};

/// Starting scales are tried this many steps to either side of the one that takes the extreme value to the lowest level.
const NUM_STEPS: i32 = 8;

/// A super-block whose weights are `(d * sub_scale) * level(code)`.
#[derive(Clone)]
pub(in crate::quant) struct SuperBlock<const GROUPS: usize> {
    pub(in crate::quant) d: Half,
    pub(in crate::quant) sub_scales: [i8; GROUPS],
    pub(in crate::quant) codes: [u8; QK_K],
}

/// Finds the scale of a single block of `N` weights; returns it with the codes.
pub(in crate::quant) fn block<const N: usize>(
    values: &[f32],
    levels: &impl Levels,
) -> (Half, [u8; N]) {
    assert_eq!(values.len(), N, "a block encodes exactly LEN values");
    let scale = Half::new(fit(values, &importance::<N>(values), levels));
    let mut codes = [0; N];
    encode(values, scale.get(), levels, &mut codes);
    (scale, codes)
}

/// Finds the scales of a super-block. Sub-scales run from `-sub_half` to `sub_half - 1`.
pub(in crate::quant) fn super_block<const GROUPS: usize>(
    values: &[f32],
    levels: &impl Levels,
    sub_half: i32,
) -> SuperBlock<GROUPS> {
    assert_eq!(values.len(), QK_K, "a block encodes exactly LEN values");
    let weights = importance::<QK_K>(values);
    let len = QK_K / GROUPS;
    let group = |i: usize| (&values[i * len..][..len], &weights[i * len..][..len]);

    let scales: [f32; GROUPS] = std::array::from_fn(|i| {
        let (values, weights) = group(i);
        fit(values, weights, levels)
    });

    let quantize = |d: Half| {
        let mut found = SuperBlock {
            d,
            sub_scales: [0; GROUPS],
            codes: [0; QK_K],
        };
        let mut total = 0.0;
        let to_sub_scale = inverse(d.get());
        for (i, scale) in scales.iter().enumerate() {
            let (values, weights) = group(i);
            let centre = round(scale * to_sub_scale);
            let (sub_scale, least) = (centre - 1..=centre + 1)
                .map(|sub_scale| sub_scale.clamp(-sub_half, sub_half - 1) as i8)
                .map(|sub_scale| {
                    (
                        sub_scale,
                        error(values, weights, d.get() * f32::from(sub_scale), levels),
                    )
                })
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .expect("three candidates");
            found.sub_scales[i] = sub_scale;
            total += least;
            encode(
                values,
                d.get() * f32::from(sub_scale),
                levels,
                &mut found.codes[i * len..][..len],
            );
        }
        (found, total)
    };

    let (mut best, mut least) = quantize(Half::new(extreme(&scales) / -(sub_half as f32)));
    for _ in 0..MAX_NUM_REFITS {
        let (found, total) = quantize(refit(values, &weights, &best, levels));
        if total >= least {
            break;
        }
        (best, least) = (found, total);
    }
    best
}

/// The scale with the least weighted squared error among those tried.
fn fit(values: &[f32], weights: &[f32], levels: &impl Levels) -> f32 {
    let extreme = extreme(values);
    let mut best = 0.0;
    let mut least = f32::INFINITY;
    for step in -NUM_STEPS..=NUM_STEPS {
        let reach = levels.lowest() + step as f32 * levels.step();
        for scale in [extreme / reach, -extreme / reach] {
            let scale = solve(values, weights, scale, levels);
            let error = error(values, weights, scale, levels);
            if error < least {
                (best, least) = (scale, error);
            }
        }
    }
    best
}

/// The scale that fits best the levels to which `scale` rounds the values.
fn solve(values: &[f32], weights: &[f32], scale: f32, levels: &impl Levels) -> f32 {
    let inverse = inverse(scale);
    let (mut product, mut square) = (0.0, 0.0);
    for (&value, &weight) in values.iter().zip(weights) {
        let level = levels.level(levels.code(value * inverse));
        product += weight * level * value;
        square += weight * level * level;
    }
    if square > 0.0 { product / square } else { 0.0 }
}

/// The scale of the super-block that fits its sub-scales and codes best.
fn refit<const GROUPS: usize>(
    values: &[f32],
    weights: &[f32],
    found: &SuperBlock<GROUPS>,
    levels: &impl Levels,
) -> Half {
    let (mut product, mut square) = (0.0, 0.0);
    for (i, (&value, &weight)) in values.iter().zip(weights).enumerate() {
        let sub_scale = found.sub_scales[i * GROUPS / QK_K];
        let factor = f32::from(sub_scale) * levels.level(found.codes[i]);
        product += weight * factor * value;
        square += weight * factor * factor;
    }
    if square > 0.0 {
        Half::new(product / square)
    } else {
        found.d
    }
}

fn error(values: &[f32], weights: &[f32], scale: f32, levels: &impl Levels) -> f32 {
    let inverse = inverse(scale);
    values
        .iter()
        .zip(weights)
        .fold(0.0, |sum, (&value, &weight)| {
            let difference = value - scale * levels.level(levels.code(value * inverse));
            sum + weight * difference * difference
        })
}

fn encode(values: &[f32], scale: f32, levels: &impl Levels, codes: &mut [u8]) {
    let inverse = inverse(scale);
    for (code, &value) in codes.iter_mut().zip(values) {
        *code = levels.code(value * inverse);
    }
}
