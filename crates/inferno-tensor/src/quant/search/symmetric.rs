//! Scales of weights of the form `scale * level`.

use super::levels::LevelSet;
use super::{MAX_NUM_REFITS, common_step, least_of, nearby_halves, round_within, sums};
use crate::quant::QK_K;
use crate::quant::block::{HalfBytes, block_of};
use crate::quant::nearest::{extreme, inverse};

/// Number of steps tried to either side of the starting scale that maps the extreme value to the
/// lowest level.
const NUM_STEPS: i32 = 8;

/// A super-block whose weights are `(d * sub_scale) * level(code)`.
pub(in crate::quant) struct SymmetricSuperBlock<const GROUPS: usize> {
    pub(in crate::quant) d: HalfBytes,
    pub(in crate::quant) sub_scales: [i8; GROUPS],
    pub(in crate::quant) codes: [u8; QK_K],
}

/// Finds the scale of a single block of `N` weights; returns it and the codes.
pub(in crate::quant) fn block<const N: usize>(
    values: &[f32; N],
    importance: Option<&[f32; N]>,
    levels: &impl LevelSet,
) -> (HalfBytes, [u8; N]) {
    let group =
        SymmetricGroup { values, weights: &levels.error_weights(values, importance), levels };
    let halves = nearby_halves(group.fit(), -levels.lowest());
    let scale = least_of(halves, |scale| group.error(scale.get()));
    (scale, group.codes(scale.get()))
}

/// Finds the scales of a super-block of `GROUPS` groups of `N` weights.
///
/// Sub-scales range from `-sub_half` to `sub_half - 1`.
pub(in crate::quant) fn super_block<const GROUPS: usize, const N: usize>(
    values: &[f32; QK_K],
    importance: Option<&[f32; QK_K]>,
    levels: &impl LevelSet,
    sub_half: f32,
) -> SymmetricSuperBlock<GROUPS> {
    let weights = levels.error_weights(values, importance);
    let groups: [SymmetricGroup<N, _>; GROUPS] = std::array::from_fn(|i| SymmetricGroup {
        values: block_of(&values[i * N..][..N]),
        weights: block_of(&weights[i * N..][..N]),
        levels,
    });
    let scales = groups.each_ref().map(|group| group.fit());

    let quantize = |d: HalfBytes| {
        let (factor, to_sub_scale) = (d.get(), inverse(d.get()));
        let chosen = std::array::from_fn(|i| {
            let centre = scales[i] * to_sub_scale;
            let candidates = [centre - 1.0, centre, centre + 1.0]
                .map(|sub_scale| round_within(sub_scale, -sub_half, sub_half - 1.0))
                .map(|sub_scale| (groups[i].error(factor * sub_scale), sub_scale));
            candidates.into_iter().fold((f32::INFINITY, 0.0), |a, b| if b.0 < a.0 { b } else { a })
        });
        SymmetricTrial::<GROUPS> {
            d,
            sub_scales: chosen.map(|(_, sub_scale)| sub_scale),
            error: chosen.iter().map(|(error, _)| error).sum(),
        }
    };

    let mut best = quantize(common_step(&scales, -sub_half, sub_half - 1.0));
    for _ in 0..MAX_NUM_REFITS {
        let found = quantize(refit(&groups, &best));
        if found.error >= best.error {
            break;
        }
        best = found;
    }

    let mut codes = [0; QK_K];
    for ((codes, group), sub_scale) in codes.chunks_exact_mut(N).zip(groups).zip(best.sub_scales) {
        codes.copy_from_slice(&group.codes(best.d.get() * sub_scale));
    }
    SymmetricSuperBlock {
        d: best.d,
        sub_scales: best.sub_scales.map(|sub_scale| sub_scale as i8),
        codes,
    }
}

/// Scales of a super-block, and their error.
struct SymmetricTrial<const GROUPS: usize> {
    d: HalfBytes,
    sub_scales: [f32; GROUPS],
    error: f32,
}

/// The best scale of the super-block for the sub-scales of a trial and the resulting levels.
fn refit<const GROUPS: usize, const N: usize>(
    groups: &[SymmetricGroup<'_, N, impl LevelSet>; GROUPS],
    trial: &SymmetricTrial<GROUPS>,
) -> HalfBytes {
    let (mut product, mut square) = (0.0, 0.0);
    for (group, sub_scale) in groups.iter().zip(trial.sub_scales) {
        let [of_product, of_square] = group.products(inverse(trial.d.get() * sub_scale));
        product += of_product * sub_scale;
        square += of_square * sub_scale * sub_scale;
    }
    if square > 0.0 { HalfBytes::new(product / square) } else { trial.d }
}

/// The values of one group and the weights of their squared errors.
struct SymmetricGroup<'a, const N: usize, L> {
    values: &'a [f32; N],
    weights: &'a [f32; N],
    levels: &'a L,
}

impl<const N: usize, L: LevelSet> SymmetricGroup<'_, N, L> {
    /// The scale with the least weighted squared error among those tried.
    fn fit(&self) -> f32 {
        let extreme = extreme(self.values);
        let (mut best, mut most) = (0.0, 0.0);
        for step in -NUM_STEPS..=NUM_STEPS {
            let inverse = (self.levels.lowest() + step as f32 * self.levels.step()) / extreme;
            for inverse in [inverse, -inverse] {
                let [product, square] = self.products(inverse);
                // The best scale for these levels reduces the error by product^2 / square.
                if product * product > most * square {
                    most = product * product / square;
                    best = product / square;
                }
            }
        }
        best
    }

    /// The weighted sums of value times level and of level squared.
    fn products(&self, inverse: f32) -> [f32; 2] {
        sums::<N, 2>(|i| {
            let level = self.levels.nearest(self.values[i] * inverse);
            let weighted = self.weights[i] * level;
            [weighted * self.values[i], weighted * level]
        })
    }

    fn error(&self, scale: f32) -> f32 {
        let inverse = inverse(scale);
        let [error] = sums::<N, 1>(|i| {
            let difference = self.values[i] - scale * self.levels.nearest(self.values[i] * inverse);
            [self.weights[i] * difference * difference]
        });
        error
    }

    fn codes(&self, scale: f32) -> [u8; N] {
        let inverse = inverse(scale);
        self.values.map(|value| self.levels.code(self.levels.nearest(value * inverse)))
    }
}
