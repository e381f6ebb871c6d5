//! Weights that are a scale times a code, less a minimum. Scales and minimums are never negative.

use super::super::QK_K;
use super::super::block::Half;
use super::super::nearest::round;
use super::{MAX_NUM_REFITS, importance, inverse};

/// Starting scales stretch the codes over the values' range by up to this many tenths of a code more or less.
const NUM_STEPS: i32 = 10;

/// A super-block whose weights are `(d * sub_scale) * code - dmin * sub_min`.
pub(in crate::quant) struct SuperBlock<const GROUPS: usize> {
    pub(in crate::quant) d: Half,
    pub(in crate::quant) dmin: Half,
    pub(in crate::quant) sub_scales: [u8; GROUPS],
    pub(in crate::quant) sub_mins: [u8; GROUPS],
    pub(in crate::quant) codes: [u8; QK_K],
}

/// What turns codes into weights: `scale * code - min`.
#[derive(Clone, Copy)]
struct Fit {
    scale: f32,
    min: f32,
}

/// Finds the scales of a super-block. Codes run from 0 to `top`, sub-scales and sub-minimums from 0 to `sub_top`.
pub(in crate::quant) fn super_block<const GROUPS: usize>(
    values: &[f32],
    top: u8,
    sub_top: u8,
) -> SuperBlock<GROUPS> {
    assert_eq!(values.len(), QK_K, "a block encodes exactly LEN values");
    let weights = importance::<QK_K>(values);
    let len = QK_K / GROUPS;
    let group = |i: usize| Group {
        values: &values[i * len..][..len],
        weights: &weights[i * len..][..len],
        top: f32::from(top),
    };

    let fits: [Fit; GROUPS] = std::array::from_fn(|i| group(i).fit());

    let quantize = |d: Half, dmin: Half| {
        let mut found = SuperBlock {
            d,
            dmin,
            sub_scales: [0; GROUPS],
            sub_mins: [0; GROUPS],
            codes: [0; QK_K],
        };
        let mut total = 0.0;
        let (to_sub_scale, to_sub_min) = (inverse(d.get()), inverse(dmin.get()));
        for (i, fit) in fits.iter().enumerate() {
            let group = group(i);
            let mut least = f32::INFINITY;
            let mut chosen = Fit {
                scale: 0.0,
                min: 0.0,
            };
            for sub_scale in neighbours(fit.scale * to_sub_scale, sub_top) {
                for sub_min in neighbours(fit.min * to_sub_min, sub_top) {
                    let fit = Fit {
                        scale: d.get() * f32::from(sub_scale),
                        min: dmin.get() * f32::from(sub_min),
                    };
                    let error = group.error(fit);
                    if error < least {
                        (least, chosen) = (error, fit);
                        (found.sub_scales[i], found.sub_mins[i]) = (sub_scale, sub_min);
                    }
                }
            }
            total += least;
            group.encode(chosen, &mut found.codes[i * len..][..len]);
        }
        (found, total)
    };

    let largest =
        |part: fn(&Fit) -> f32| fits.iter().map(part).fold(0.0, f32::max) / f32::from(sub_top);
    let (mut best, mut least) = quantize(
        Half::new(largest(|fit| fit.scale)),
        Half::new(largest(|fit| fit.min)),
    );
    for _ in 0..MAX_NUM_REFITS {
        let (d, dmin) = refit(values, &weights, &best);
        let (found, total) = quantize(d, dmin);
        if total >= least {
            break;
        }
        (best, least) = (found, total);
    }
    best
}

/// The integers around a sub-scale, within its range.
fn neighbours(sub_scale: f32, sub_top: u8) -> std::ops::RangeInclusive<u8> {
    let centre = round(sub_scale).clamp(0, i32::from(sub_top)) as u8;
    centre.saturating_sub(1)..=(centre + 1).min(sub_top)
}

/// The scales of the super-block that fit its sub-scales, sub-minimums and codes best.
fn refit<const GROUPS: usize>(
    values: &[f32],
    weights: &[f32],
    found: &SuperBlock<GROUPS>,
) -> (Half, Half) {
    let mut sums = Sums::default();
    for (i, (&value, &weight)) in values.iter().zip(weights).enumerate() {
        let group = i * GROUPS / QK_K;
        let factor = f32::from(found.sub_scales[group]) * f32::from(found.codes[i]);
        sums.add(value, weight, factor, f32::from(found.sub_mins[group]));
    }
    match sums.solve() {
        Some(fit) => (Half::new(fit.scale), Half::new(fit.min)),
        None => (found.d, found.dmin),
    }
}

/// The sums of the normal equations of `value = scale * a - min * b`.
#[derive(Default)]
struct Sums {
    aa: f32,
    ab: f32,
    bb: f32,
    va: f32,
    vb: f32,
}

impl Sums {
    fn add(&mut self, value: f32, weight: f32, a: f32, b: f32) {
        self.aa += weight * a * a;
        self.ab += weight * a * b;
        self.bb += weight * b * b;
        self.va += weight * value * a;
        self.vb += weight * value * b;
    }

    /// The scale and minimum of least squared error, both not negative; `None` if there is no such scale.
    fn solve(&self) -> Option<Fit> {
        let determinant = self.aa * self.bb - self.ab * self.ab;
        let mut fit = Fit {
            scale: self.va / self.aa,
            min: 0.0,
        };
        if determinant > 0.0 {
            let min = (self.va * self.ab - self.vb * self.aa) / determinant;
            if min > 0.0 {
                fit = Fit {
                    scale: (self.va * self.bb - self.vb * self.ab) / determinant,
                    min,
                };
            }
        }
        (fit.scale > 0.0).then_some(fit)
    }
}

/// The values of one group, and how much the error of each counts.
struct Group<'a> {
    values: &'a [f32],
    weights: &'a [f32],
    top: f32,
}

impl Group<'_> {
    /// The scale and minimum with the least weighted squared error among those tried.
    fn fit(&self) -> Fit {
        let lowest = self.values.iter().copied().fold(0.0, f32::min);
        let highest = self
            .values
            .iter()
            .copied()
            .fold(f32::NEG_INFINITY, f32::max);
        let mut best = Fit {
            scale: 0.0,
            min: -lowest,
        };
        let mut least = self.error(best);
        for step in -NUM_STEPS..=NUM_STEPS {
            let scale = (highest - lowest) / (self.top + 0.1 * step as f32);
            let mut sums = Sums::default();
            for (&value, &weight) in self.values.iter().zip(self.weights) {
                sums.add(
                    value,
                    weight,
                    self.code(value - lowest, inverse(scale)),
                    1.0,
                );
            }
            if let Some(fit) = sums.solve() {
                let error = self.error(fit);
                if error < least {
                    (best, least) = (fit, error);
                }
            }
        }
        best
    }

    fn code(&self, value: f32, inverse: f32) -> f32 {
        (round(value * inverse) as f32).clamp(0.0, self.top)
    }

    fn error(&self, fit: Fit) -> f32 {
        let inverse = inverse(fit.scale);
        self.values
            .iter()
            .zip(self.weights)
            .fold(0.0, |sum, (&value, &weight)| {
                let difference =
                    value - (fit.scale * self.code(value + fit.min, inverse) - fit.min);
                sum + weight * difference * difference
            })
    }

    fn encode(&self, fit: Fit, codes: &mut [u8]) {
        let inverse = inverse(fit.scale);
        for (code, &value) in codes.iter_mut().zip(self.values) {
            *code = self.code(value + fit.min, inverse) as u8;
        }
    }
}
