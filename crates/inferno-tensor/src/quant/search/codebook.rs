//! Vectors of a codebook, signs and scales of the IQ3 formats.

use super::{MAX_NUM_REFITS, importance};
use crate::quant::QK_K;
use crate::quant::block::block_of;
use crate::quant::nearest::inverse;

/// Number of weights in a vector.
const VECTOR_LEN: usize = 4;

/// Number of vectors in a super-block.
const NUM_VECTORS: usize = QK_K / VECTOR_LEN;

/// Number of groups, which have a scale each.
const NUM_GROUPS: usize = 8;

/// Number of weights in a group.
const GROUP_LEN: usize = QK_K / NUM_GROUPS;

/// Number of levels of an element.
const NUM_LEVELS: usize = 8;

/// The largest code of a sub-scale.
const LAST_SUB_CODE: f32 = 15.0;

/// Number of scales tried to either side of the one that maps the largest value to the last level,
/// and their distance in levels.
const NUM_STEPS: i32 = 12;
const STEP: f32 = 0.1;

/// A codebook, and which of its vectors are nearest to others.
pub(in crate::quant) struct Codebook {
    vectors: &'static [[u8; VECTOR_LEN]],
    /// The nearest vector to each combination of levels, the first one in the lowest bits.
    nearest: Vec<u16>,
}

impl Codebook {
    /// Prepares a codebook whose elements are about `unit * (2 * level + 1)`.
    pub(in crate::quant) fn new(vectors: &'static [[u8; VECTOR_LEN]], unit: f32) -> Codebook {
        let combinations = 0..NUM_LEVELS.pow(VECTOR_LEN as u32);
        let nearest = combinations.map(|levels| {
            let element = |i: usize| unit * (2 * (levels >> (3 * i) & 7) + 1) as f32;
            nearest(vectors, &std::array::from_fn(element), &[1.0; VECTOR_LEN])
        });
        Codebook { vectors, nearest: nearest.collect() }
    }

    /// Returns the elements of vector `index`.
    fn elements(&self, index: u16) -> [f32; VECTOR_LEN] {
        self.vectors[usize::from(index)].map(f32::from)
    }
}

/// The index of the vector with the least weighted squared distance.
fn nearest(
    vectors: &[[u8; VECTOR_LEN]],
    values: &[f32; VECTOR_LEN],
    weights: &[f32; VECTOR_LEN],
) -> u16 {
    let error = |vector: &[u8; VECTOR_LEN]| {
        let difference = |i: usize| f32::from(vector[i]) - values[i];
        let terms: [f32; VECTOR_LEN] =
            std::array::from_fn(|i| weights[i] * difference(i) * difference(i));
        (terms[0] + terms[1]) + (terms[2] + terms[3])
    };
    let (mut best, mut least) = (0, f32::INFINITY);
    for (index, vector) in vectors.iter().enumerate() {
        let error = error(vector);
        if error < least {
            (best, least) = (index as u16, error);
        }
    }
    best
}

/// A super-block whose weights are `scale * (2 * sub_code + 1)` times the elements, with signs.
pub(in crate::quant) struct CodebookSuperBlock {
    pub(in crate::quant) scale: f32,
    pub(in crate::quant) sub_codes: [u8; NUM_GROUPS],
    pub(in crate::quant) indices: [u16; NUM_VECTORS],
    pub(in crate::quant) signs: [u8; QK_K / 8],
}

/// Finds the scales, vectors and signs of a super-block.
///
/// `round_scale` rounds the scale to one that the format can store. With `even_signs`, the number of
/// sign bits of each 8 weights is even.
pub(in crate::quant) fn super_block(
    values: &[f32; QK_K],
    codebook: &Codebook,
    even_signs: bool,
    round_scale: impl Fn(f32) -> f32,
) -> CodebookSuperBlock {
    let importance = importance(values);
    let (magnitudes, signs) = split_signs(values, &importance, even_signs);
    let groups: [Group; NUM_GROUPS] = std::array::from_fn(|i| Group {
        magnitudes: block_of(&magnitudes[i * GROUP_LEN..][..GROUP_LEN]),
        importance: block_of(&importance[i * GROUP_LEN..][..GROUP_LEN]),
        codebook,
    });
    let scales = groups.each_ref().map(Group::fit);
    let largest = scales.iter().fold(0.0, |largest: f32, &scale| largest.max(scale));
    let mut scale = round_scale(largest / (2.0 * LAST_SUB_CODE + 1.0));
    let to_factor = inverse(scale);
    let sub_codes = scales
        .map(|scale| (0.5 * (scale * to_factor - 1.0)).round().clamp(0.0, LAST_SUB_CODE) as u8);
    let choose = |scale: f32| {
        let mut indices = [0; NUM_VECTORS];
        let chunks = indices.chunks_exact_mut(GROUP_LEN / VECTOR_LEN);
        for ((indices, group), sub_code) in chunks.zip(&groups).zip(sub_codes) {
            group.choose(scale * factor(sub_code), indices);
        }
        indices
    };
    let mut indices = choose(scale);
    for _ in 1..MAX_NUM_REFITS {
        let refitted = round_scale(refit(&groups, &sub_codes, &indices).unwrap_or(scale));
        if refitted == scale {
            break;
        }
        scale = refitted;
        indices = choose(scale);
    }
    CodebookSuperBlock { scale, sub_codes, indices, signs }
}

/// The factor of a sub-scale's code.
fn factor(sub_code: u8) -> f32 {
    f32::from(2 * sub_code + 1)
}

/// Divides values into magnitudes and sign bits. For an even number of sign bits, the least important of
/// 8 values gets the wrong sign, and a negative magnitude.
fn split_signs(
    values: &[f32; QK_K],
    importance: &[f32; QK_K],
    even_signs: bool,
) -> ([f32; QK_K], [u8; QK_K / 8]) {
    let mut magnitudes = values.map(f32::abs);
    let mut signs = [0; QK_K / 8];
    for (octet, signs) in signs.iter_mut().enumerate() {
        let weights = octet * 8..octet * 8 + 8;
        for (i, value) in values[weights.clone()].iter().enumerate() {
            *signs |= u8::from(*value < 0.0) << i;
        }
        if even_signs && signs.count_ones() % 2 == 1 {
            let cost = |i: usize| importance[i] * values[i] * values[i];
            let least = weights.clone().reduce(|a, b| if cost(b) < cost(a) { b } else { a });
            let least = least.unwrap_or(weights.start);
            *signs ^= 1 << (least % 8);
            magnitudes[least] = -magnitudes[least];
        }
    }
    (magnitudes, signs)
}

/// The scale of the super-block that is best for the chosen vectors; `None` if they are zero.
fn refit(
    groups: &[Group<'_>; NUM_GROUPS],
    sub_codes: &[u8; NUM_GROUPS],
    indices: &[u16; NUM_VECTORS],
) -> Option<f32> {
    let (mut product, mut square) = (0.0, 0.0);
    let chunks = indices.chunks_exact(GROUP_LEN / VECTOR_LEN);
    for ((indices, group), &sub_code) in chunks.zip(groups).zip(sub_codes) {
        let [of_product, of_square] = group.products(indices.iter().copied());
        product += of_product * factor(sub_code);
        square += of_square * factor(sub_code) * factor(sub_code);
    }
    (square > 0.0 && product > 0.0).then(|| product / square)
}

/// The magnitudes of one group and the weights of their squared errors.
struct Group<'a> {
    magnitudes: &'a [f32; GROUP_LEN],
    importance: &'a [f32; GROUP_LEN],
    codebook: &'a Codebook,
}

impl Group<'_> {
    /// The scale with the least weighted squared error among those tried; zero if all are zero.
    fn fit(&self) -> f32 {
        let largest = self.magnitudes.iter().fold(0.0, |largest: f32, &value| largest.max(value));
        let last = (2 * NUM_LEVELS - 1) as f32;
        let (mut best, mut most) = (0.0, 0.0);
        for step in -NUM_STEPS..=NUM_STEPS {
            let to_units = (last + step as f32 * 2.0 * STEP) * inverse(largest);
            let indices = self.magnitudes.chunks_exact(VECTOR_LEN).map(|values| {
                let levels = values.iter().rev().fold(0, |levels, value| {
                    let level = (0.5 * value * to_units).clamp(0.0, (NUM_LEVELS - 1) as f32);
                    levels << 3 | level as usize
                });
                self.codebook.nearest[levels]
            });
            let [product, square] = self.products(indices);
            if product > 0.0 && product * product > most * square {
                most = product * product / square;
                best = product / square;
            }
        }
        best
    }

    /// The weighted sums of magnitude times element and of element squared.
    fn products(&self, indices: impl Iterator<Item = u16>) -> [f32; 2] {
        let [mut product, mut square] = [0.0; 2];
        for (vector, index) in indices.enumerate() {
            for (i, element) in (vector * VECTOR_LEN..).zip(self.codebook.elements(index)) {
                let weighted = self.importance[i] * element;
                product += weighted * self.magnitudes[i];
                square += weighted * element;
            }
        }
        [product, square]
    }

    /// Writes the nearest vectors for a scale.
    fn choose(&self, scale: f32, indices: &mut [u16]) {
        let inverse = inverse(scale);
        let vectors = self.magnitudes.chunks_exact(VECTOR_LEN);
        let weights = self.importance.chunks_exact(VECTOR_LEN);
        for ((index, values), weights) in indices.iter_mut().zip(vectors).zip(weights) {
            let values = block_of::<VECTOR_LEN>(values).map(|value| value * inverse);
            *index = nearest(self.codebook.vectors, &values, block_of(weights));
        }
    }
}
