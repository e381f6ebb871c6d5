//! Scales and minimums, never negative, of weights of the form `scale * code - min`.

use super::{
    MAX_NUM_REFITS, common_step, error_weights, least_of, nearby_halves, round_within, sums,
};
use crate::quant::QK_K;
use crate::quant::block::{HalfBytes, block_of};
use crate::quant::nearest::inverse;

/// How many candidates a search tries.
pub(in crate::quant) struct Effort {
    /// Number of steps tried to either side of the starting scale that maps the range of the values to the range of the
    /// codes. Together they always cover the same range.
    num_steps: i32,
    /// What is added to each rounded sub-scale and sub-minimum.
    neighbors: &'static [f32],
    /// Maximum number of refits of a super-block's scales.
    max_num_refits: usize,
}

/// The search with the least error.
pub(in crate::quant) const THOROUGH: Effort =
    Effort { num_steps: 10, neighbors: &[0.0, -1.0, 1.0], max_num_refits: MAX_NUM_REFITS };

/// A sixth of the work, for a relative error that is a few percent larger.
pub(in crate::quant) const FAST: Effort =
    Effort { num_steps: 3, neighbors: &[0.0], max_num_refits: 1 };

/// A super-block whose weights are `(d * sub_scale) * code - dmin * sub_min`.
pub(in crate::quant) struct AffineSuperBlock<const GROUPS: usize> {
    pub(in crate::quant) d: HalfBytes,
    pub(in crate::quant) dmin: HalfBytes,
    pub(in crate::quant) sub_scales: [u8; GROUPS],
    pub(in crate::quant) sub_mins: [u8; GROUPS],
    pub(in crate::quant) codes: [u8; QK_K],
}

/// The ranges of a format's integers.
pub(in crate::quant) struct Ranges {
    /// The largest code; the smallest is 0.
    pub(in crate::quant) top: f32,
    /// The largest sub-scale and sub-minimum; the smallest is 0.
    pub(in crate::quant) sub_top: f32,
    /// Distance between the ten starting scales to either side, in codes.
    pub(in crate::quant) step: f32,
}

/// Finds the scale and the lowest weight of a single block of `N` weights; returns them and the codes.
pub(in crate::quant) fn block<const N: usize>(
    values: &[f32; N],
    importance: &[f32; N],
    ranges: &Ranges,
) -> (HalfBytes, HalfBytes, [u8; N]) {
    let weights = error_weights(values, Some(importance));
    let group = AffineGroup::new(values, &weights, ranges.top);
    let lowest = values.iter().copied().fold(f32::INFINITY, f32::min);
    let highest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = Fit { scale: (highest - lowest) / ranges.top, min: -lowest };
    let stored = |(scale, low): (HalfBytes, HalfBytes)| Fit { scale: scale.get(), min: -low.get() };
    let fits = [group.fit(ranges.step, THOROUGH.num_steps), range].into_iter();
    let candidates = fits.flat_map(|fit| {
        let low = HalfBytes::new(-fit.min);
        nearby_halves(fit.scale, ranges.top).map(move |scale| (scale, low))
    });
    let best = least_of(candidates, |candidate| group.error(stored(candidate)));
    (best.0, best.1, group.codes(stored(best)))
}

/// Finds the scales of a super-block of `GROUPS` groups of `N` weights.
pub(in crate::quant) fn super_block<const GROUPS: usize, const N: usize>(
    values: &[f32; QK_K],
    importance: Option<&[f32; QK_K]>,
    ranges: &Ranges,
    effort: &Effort,
) -> AffineSuperBlock<GROUPS> {
    let weights = error_weights(values, importance);
    let groups: [AffineGroup<N>; GROUPS] = std::array::from_fn(|i| {
        let group = i * N..(i + 1) * N;
        AffineGroup::new(block_of(&values[group.clone()]), block_of(&weights[group]), ranges.top)
    });
    let fits = groups.each_ref().map(|group| group.fit(ranges.step, effort.num_steps));

    let quantize = |d: HalfBytes, dmin: HalfBytes| {
        let mut trial =
            AffineTrial { d, dmin, sub_scales: [0.0; GROUPS], sub_mins: [0.0; GROUPS], error: 0.0 };
        let (to_sub_scale, to_sub_min) = (inverse(d.get()), inverse(dmin.get()));
        let round = |value| round_within(value, 0.0, ranges.sub_top);
        for (i, (group, fit)) in groups.iter().zip(&fits).enumerate() {
            let mut least = f32::INFINITY;
            let mut consider = |sub_scale, sub_min| {
                let error = group.error(trial.fit(sub_scale, sub_min));
                if error < least {
                    least = error;
                    (trial.sub_scales[i], trial.sub_mins[i]) = (sub_scale, sub_min);
                }
            };
            for around_scale in effort.neighbors {
                for around_min in effort.neighbors {
                    let sub_scale = round(fit.scale * to_sub_scale + around_scale);
                    consider(sub_scale, round(fit.min * to_sub_min + around_min));
                }
            }
            // Without a scale, all weights become the same one, which can be worse than zeros.
            if round(fit.scale * to_sub_scale) == 0.0 {
                consider(0.0, 0.0);
            }
            trial.error += least;
        }
        trial
    };

    let mut best = quantize(
        common_step(&fits.each_ref().map(|fit| fit.scale), 0.0, ranges.sub_top),
        common_step(&fits.each_ref().map(|fit| fit.min), 0.0, ranges.sub_top),
    );
    for _ in 0..effort.max_num_refits {
        let (d, dmin) = refit(&groups, &best);
        let found = quantize(d, dmin);
        if found.error >= best.error {
            break;
        }
        best = found;
    }

    let mut codes = [0; QK_K];
    for (i, (codes, group)) in codes.chunks_exact_mut(N).zip(&groups).enumerate() {
        codes.copy_from_slice(&group.codes(best.fit(best.sub_scales[i], best.sub_mins[i])));
    }
    AffineSuperBlock {
        d: best.d,
        dmin: best.dmin,
        sub_scales: best.sub_scales.map(|sub_scale| sub_scale as u8),
        sub_mins: best.sub_mins.map(|sub_min| sub_min as u8),
        codes,
    }
}

/// Scales and minimums of a super-block, and their error.
struct AffineTrial<const GROUPS: usize> {
    d: HalfBytes,
    dmin: HalfBytes,
    sub_scales: [f32; GROUPS],
    sub_mins: [f32; GROUPS],
    error: f32,
}

impl<const GROUPS: usize> AffineTrial<GROUPS> {
    fn fit(&self, sub_scale: f32, sub_min: f32) -> Fit {
        Fit { scale: self.d.get() * sub_scale, min: self.dmin.get() * sub_min }
    }
}

/// The best scales of the super-block for the sub-scales, sub-minimums and codes of a trial.
fn refit<const GROUPS: usize, const N: usize>(
    groups: &[AffineGroup<'_, N>; GROUPS],
    trial: &AffineTrial<GROUPS>,
) -> (HalfBytes, HalfBytes) {
    let mut total = NormalEquations::default();
    for (i, group) in groups.iter().enumerate() {
        let (sub_scale, sub_min) = (trial.sub_scales[i], trial.sub_mins[i]);
        let fit = trial.fit(sub_scale, sub_min);
        let sums = group.sums(fit.min, inverse(fit.scale));
        total.aa += sums.aa * sub_scale * sub_scale;
        total.ab += sums.ab * sub_scale * sub_min;
        total.bb += sums.bb * sub_min * sub_min;
        total.va += sums.va * sub_scale;
        total.vb += sums.vb * sub_min;
    }
    match total.solve() {
        Some(fit) => (HalfBytes::new(fit.scale), HalfBytes::new(fit.min)),
        None => (trial.d, trial.dmin),
    }
}

/// The parameters of `weight = scale * code - min`.
#[derive(Clone, Copy)]
struct Fit {
    scale: f32,
    min: f32,
}

/// The least determinant of normal equations with two solvable parameters, relative to the product of the diagonal.
///
/// If all codes are equal, as those of equal weights are, the determinant is zero but for rounding, of about 1e-6. If a single
/// one of 32 codes differs and all errors have the same weight, it is 3e-5 or more: a code of 30 among 31s. If the error of
/// that code has a much smaller weight than the others, it can be below this bound, and the codes count as equal.
const LEAST_DETERMINANT: f32 = 1e-5;

/// The weighted sums of the normal equations of `value = scale * a - min * b`.
#[derive(Default)]
struct NormalEquations {
    aa: f32,
    ab: f32,
    bb: f32,
    va: f32,
    vb: f32,
}

impl NormalEquations {
    /// The scale and minimum of least squared error, both non-negative; `None` if there is no such
    /// scale.
    fn solve(&self) -> Option<Fit> {
        let determinant = self.aa * self.bb - self.ab * self.ab;
        let mut fit = Fit { scale: self.va / self.aa, min: 0.0 };
        if determinant > LEAST_DETERMINANT * self.aa * self.bb {
            let min = (self.va * self.ab - self.vb * self.aa) / determinant;
            if min > 0.0 {
                fit = Fit { scale: (self.va * self.bb - self.vb * self.ab) / determinant, min };
            }
        }
        (fit.scale > 0.0).then_some(fit)
    }

    /// The reduction of the sum of squared values by the solution.
    fn gain(&self, fit: Fit) -> f32 {
        fit.scale * self.va - fit.min * self.vb
    }
}

/// The values of one group and the weights of their squared errors.
struct AffineGroup<'a, const N: usize> {
    values: &'a [f32; N],
    weights: &'a [f32; N],
    sum_of_weights: f32,
    sum_of_values: f32,
    top: f32,
}

impl<'a, const N: usize> AffineGroup<'a, N> {
    fn new(values: &'a [f32; N], weights: &'a [f32; N], top: f32) -> Self {
        let [sum_of_weights, sum_of_values] =
            sums::<N, 2>(|i| [weights[i], weights[i] * values[i]]);
        AffineGroup { values, weights, sum_of_weights, sum_of_values, top }
    }

    /// The scale and minimum with the least weighted squared error among those tried.
    fn fit(&self, step_size: f32, num_steps: i32) -> Fit {
        let lowest = self.values.iter().copied().fold(0.0, f32::min);
        let highest = self.values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut best = Fit { scale: 0.0, min: -lowest };
        let mut most = f32::NEG_INFINITY;
        let step_size = step_size * THOROUGH.num_steps as f32 / num_steps as f32;
        for step in -num_steps..=num_steps {
            let inverse = (self.top + step as f32 * step_size) / (highest - lowest);
            let sums = self.sums(-lowest, inverse);
            if let Some(fit) = sums.solve() {
                let gain = sums.gain(fit);
                if gain > most {
                    (best, most) = (fit, gain);
                }
            }
        }
        best
    }

    /// The normal equations with codes for `a` and ones for `b`.
    fn sums(&self, min: f32, inverse: f32) -> NormalEquations {
        let [aa, ab, va] = sums::<N, 3>(|i| {
            let code = self.code(self.values[i] + min, inverse);
            let weighted = self.weights[i] * code;
            [weighted * code, weighted, weighted * self.values[i]]
        });
        NormalEquations { aa, ab, bb: self.sum_of_weights, va, vb: self.sum_of_values }
    }

    fn code(&self, value: f32, inverse: f32) -> f32 {
        round_within(value * inverse, 0.0, self.top)
    }

    fn error(&self, fit: Fit) -> f32 {
        let inverse = inverse(fit.scale);
        let [error] = sums::<N, 1>(|i| {
            let code = self.code(self.values[i] + fit.min, inverse);
            let difference = self.values[i] - (fit.scale * code - fit.min);
            [self.weights[i] * difference * difference]
        });
        error
    }

    fn codes(&self, fit: Fit) -> [u8; N] {
        let inverse = inverse(fit.scale);
        self.values.map(|value| self.code(value + fit.min, inverse) as u8)
    }
}
