//! Vectors of a codebook, signs and scales of the IQ1, IQ2 and IQ3 formats.

use super::nearest_vectors::Codebook;
use super::{MAX_NUM_REFITS, error_weights, nearby_halves};
use crate::quant::QK_K;
use crate::quant::block::{HalfBytes, block_of};
use crate::quant::nearest::inverse;

/// Number of scales tried to either side of the one that maps the largest value to the last level, and their distance in
/// levels.
const NUM_STEPS: i32 = 12;
const STEP: f32 = 0.1;

/// Maximum number of groups with a scale, and of vectors, in a super-block.
const MAX_NUM_GROUPS: usize = QK_K / 16;
const MAX_NUM_VECTORS: usize = QK_K / 4;

/// The meaning of sign bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::quant) enum Signs {
    /// Those of the weights.
    Free,
    /// Those of the weights, of which an even number is negative in each 8.
    Even,
    /// One bit for all weights of a group: a shift of the codebook's ternary elements.
    ShiftPerGroup,
    /// One bit for all weights of a vector.
    ShiftPerVector,
}

/// By how much sign bits shift ternary elements: down if they are set, otherwise up.
const SHIFTS: [f32; 2] = [1.0, -1.0];

/// How a format divides a super-block.
pub(in crate::quant) struct VectorFormat<const V: usize> {
    pub(in crate::quant) codebook: Codebook<V>,
    /// What the stored scale of a super-block is multiplied by; a power of two.
    pub(in crate::quant) unit: f32,
    /// Number of weights that share a scale.
    pub(in crate::quant) group_len: usize,
    /// The largest code of a sub-scale; the sub-scale is `2 * code + 1`.
    pub(in crate::quant) last_sub_code: u8,
    pub(in crate::quant) signs: Signs,
}

/// A super-block whose weights are `d * unit * (2 * sub_code + 1)` times the elements, with signs or shifts.
pub(in crate::quant) struct VectorSuperBlock {
    pub(in crate::quant) d: HalfBytes,
    /// One per group.
    pub(in crate::quant) sub_codes: [u8; MAX_NUM_GROUPS],
    /// One per vector.
    pub(in crate::quant) indices: [u16; MAX_NUM_VECTORS],
    /// The sign bits of 8 weights each.
    pub(in crate::quant) signs: [u8; QK_K / 8],
}

/// Finds the scales, vectors and signs of a super-block.
pub(in crate::quant) fn super_block<const V: usize>(
    values: &[f32; QK_K],
    importance: Option<&[f32; QK_K]>,
    format: &VectorFormat<V>,
) -> VectorSuperBlock {
    let weights = error_weights(values, importance);
    let (values, signs) = match format.signs {
        Signs::Free => split_signs(values, &weights, false),
        Signs::Even => split_signs(values, &weights, true),
        Signs::ShiftPerGroup | Signs::ShiftPerVector => (*values, [0; QK_K / 8]),
    };
    let len = format.group_len;
    let parts = values.chunks_exact(len).zip(weights.chunks_exact(len));
    let groups: Vec<Group<'_, V>> =
        parts.map(|(values, weights)| Group { values, weights, format }).collect();
    let scales: Vec<f32> = groups.iter().map(Group::fit).collect();

    let largest = scales.iter().copied().fold(0.0, f32::max);
    let last_factor = factor(format.last_sub_code);
    // Factors are odd, so a step between them is 2.
    let halves = nearby_halves(largest / last_factor / format.unit, 0.5 * last_factor);
    let trials = halves.map(|d| quantize(&groups, &scales, d));
    let least = trials.reduce(|a, b| if b.error < a.error { b } else { a });
    let mut best = least.expect("at least one scale is tried");
    for _ in 0..MAX_NUM_REFITS {
        let Some(scale) = best.refitted() else { break };
        let found = quantize(&groups, &scales, HalfBytes::new(scale / format.unit));
        if found.error >= best.error {
            break;
        }
        best = found;
    }
    best.into_super_block(format, signs)
}

/// Divides values into magnitudes and sign bits. For an even number of sign bits, the least important of 8 values gets the
/// wrong sign, and a negative magnitude.
fn split_signs(
    values: &[f32; QK_K],
    weights: &[f32; QK_K],
    even_signs: bool,
) -> ([f32; QK_K], [u8; QK_K / 8]) {
    let mut magnitudes = values.map(f32::abs);
    let mut signs = [0; QK_K / 8];
    for (octet, signs) in signs.iter_mut().enumerate() {
        let octet = octet * 8..octet * 8 + 8;
        for (i, value) in values[octet.clone()].iter().enumerate() {
            *signs |= u8::from(*value < 0.0) << i;
        }
        if even_signs && signs.count_ones() % 2 == 1 {
            let cost = |i: usize| weights[i] * values[i] * values[i];
            let least = octet.clone().reduce(|a, b| if cost(b) < cost(a) { b } else { a });
            let least = least.unwrap_or(octet.start);
            *signs ^= 1 << (least % 8);
            magnitudes[least] = -magnitudes[least];
        }
    }
    (magnitudes, signs)
}

/// The factor of a sub-scale's code.
fn factor(sub_code: u8) -> f32 {
    f32::from(2 * sub_code + 1)
}

/// Quantizes the scales of the groups, trying the neighbors of each rounded one.
fn quantize<const V: usize>(groups: &[Group<'_, V>], scales: &[f32], d: HalfBytes) -> Trial {
    let choose = |(group, wanted): (&Group<'_, V>, &f32)| {
        let scale = d.get() * group.format.unit;
        let to_factor = inverse(scale);
        let last = group.format.last_sub_code;
        let middle = (0.5 * (wanted * to_factor - 1.0)).round().clamp(0.0, f32::from(last)) as u8;
        let candidates = middle.saturating_sub(1)..=(middle + 1).min(last);
        let trials = candidates.map(|code| (code, group.choose(scale * factor(code))));
        trials.reduce(|a, b| if b.1.error < a.1.error { b } else { a })
    };
    let chosen: Vec<_> = groups.iter().zip(scales).filter_map(choose).collect();
    Trial { d, error: chosen.iter().map(|(_, vectors)| vectors.error).sum(), groups: chosen }
}

/// Scales and vectors of a super-block, and their error.
struct Trial {
    d: HalfBytes,
    /// The code of the scale and the vectors of each group.
    groups: Vec<(u8, ChosenVectors)>,
    error: f32,
}

impl Trial {
    /// The scale that is best for the chosen sub-scales and vectors; `None` if there is none above zero.
    fn refitted(&self) -> Option<f32> {
        let (mut product, mut square) = (0.0, 0.0);
        for (code, vectors) in &self.groups {
            product += vectors.product * factor(*code);
            square += vectors.square * factor(*code) * factor(*code);
        }
        (square > 0.0 && product > 0.0).then(|| product / square)
    }

    fn into_super_block<const V: usize>(
        self,
        format: &VectorFormat<V>,
        mut signs: [u8; QK_K / 8],
    ) -> VectorSuperBlock {
        let (mut sub_codes, mut indices) = ([0; MAX_NUM_GROUPS], [0; MAX_NUM_VECTORS]);
        let len = format.group_len / V;
        for (group, (code, vectors)) in self.groups.iter().enumerate() {
            sub_codes[group] = *code;
            indices[group * len..][..len].copy_from_slice(&vectors.indices[..len]);
            for (i, &shift) in vectors.is_shifted_down[..len].iter().enumerate() {
                if shift {
                    signs[group * len + i] = 0xff;
                }
            }
        }
        VectorSuperBlock { d: self.d, sub_codes, indices, signs }
    }
}

/// The vectors of a group.
#[derive(Clone, Copy)]
struct ChosenVectors {
    indices: [u16; 8],
    is_shifted_down: [bool; 8],
    /// The weighted squared error, in the square of the values' unit.
    error: f32,
    /// The weighted sums of value times element and of element squared.
    product: f32,
    square: f32,
}

/// The values of one group and the weights of their squared errors.
struct Group<'a, const V: usize> {
    values: &'a [f32],
    weights: &'a [f32],
    format: &'a VectorFormat<V>,
}

impl<const V: usize> Group<'_, V> {
    /// The scale with the least weighted squared error among those tried; zero if all values are zero.
    fn fit(&self) -> f32 {
        let codebook = &self.format.codebook;
        let largest = self.values.iter().fold(0.0, |largest: f32, &value| largest.max(value.abs()));
        let step = codebook.last_level() / (2 * codebook.num_levels() - 1) as f32 * 2.0 * STEP;
        let (mut best, mut most) = (0.0, 0.0);
        for trial in -NUM_STEPS..=NUM_STEPS {
            let to_levels = (codebook.last_level() + trial as f32 * step) * inverse(largest);
            let ChosenVectors { product, square, .. } = self.choose(inverse(to_levels));
            // The best scale for these vectors reduces the error by product^2 / square.
            if product > 0.0 && product * product > most * square {
                most = product * product / square;
                best = product / square;
            }
        }
        best
    }

    /// Chooses the vectors, and shifts, for a scale.
    fn choose(&self, scale: f32) -> ChosenVectors {
        match self.format.signs {
            Signs::Free | Signs::Even => self.choose_shifted(scale, &[0.0]),
            Signs::ShiftPerVector => self.choose_shifted(scale, &SHIFTS),
            Signs::ShiftPerGroup => {
                let [up, down] = SHIFTS.map(|shift| self.choose_shifted(scale, &[shift]));
                if down.error < up.error { down } else { up }
            }
        }
    }

    /// Chooses the vectors for a scale, each with the better one of `shifts`.
    fn choose_shifted(&self, scale: f32, shifts: &[f32]) -> ChosenVectors {
        let codebook = &self.format.codebook;
        let inverse = inverse(scale);
        let mut chosen = ChosenVectors {
            indices: [0; 8],
            is_shifted_down: [false; 8],
            error: 0.0,
            product: 0.0,
            square: 0.0,
        };
        let vectors = self.values.chunks_exact(V).zip(self.weights.chunks_exact(V));
        for (i, (values, weights)) in vectors.enumerate() {
            let (values, weights) = (block_of::<V>(values), block_of::<V>(weights));
            let candidates = shifts.iter().map(|&shift| {
                let scaled = values.map(|value| value * inverse - shift);
                (codebook.choose(&scaled, weights), shift)
            });
            let best = candidates.reduce(|a, b| if b.0.error < a.0.error { b } else { a });
            let Some((vector, shift)) = best else { continue };
            chosen.indices[i] = vector.index;
            chosen.is_shifted_down[i] = shift < 0.0;
            for ((element, value), weight) in
                codebook.elements(vector.index).iter().zip(values).zip(weights)
            {
                let element = element + shift;
                let difference = value - scale * element;
                chosen.error += weight * difference * difference;
                chosen.product += weight * element * value;
                chosen.square += weight * element * element;
            }
        }
        chosen
    }
}
