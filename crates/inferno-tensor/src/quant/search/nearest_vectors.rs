//! Codebooks of the IQ1, IQ2 and IQ3 formats, and which of their vectors are nearest to others.

/// Number of vectors that are compared with a vector of weights.
const NUM_NEIGHBORS: usize = 24;

/// A codebook of vectors with `V` elements.
///
/// Finding the best of up to 2048 vectors for every 8 weights and every scale that is tried would take too long. Each
/// weight is therefore rounded to a level of the codebook first, and only the vectors nearest to the rounded ones, which
/// are found once for all combinations of levels, are compared by their weighted error.
pub(in crate::quant) struct Codebook<const V: usize> {
    vectors: Vec<[f32; V]>,
    /// The values of an element, ascending.
    levels: Vec<f32>,
    /// The values halfway between adjacent levels.
    borders: Vec<f32>,
    /// For each combination of levels, with that of the first element as the lowest digit: the nearest vectors.
    neighbors: Vec<[u16; NUM_NEIGHBORS]>,
}

/// The vector chosen for some weights.
#[derive(Clone, Copy)]
pub(super) struct ChosenVector {
    pub(super) index: u16,
    /// The weighted squared distance.
    pub(super) error: f32,
}

impl<const V: usize> Codebook<V> {
    /// Prepares a codebook that is stored as words of four elements. `zero` is the element that stands for zero.
    pub(in crate::quant) fn new(words: &[[u8; 4]], zero: u8) -> Codebook<V> {
        let elements: Vec<i32> = words
            .as_flattened()
            .iter()
            .map(|&element| i32::from(element) - i32::from(zero))
            .collect();
        let mut levels = elements.clone();
        levels.sort_unstable();
        levels.dedup();
        let vectors: Vec<[i32; V]> =
            elements.chunks_exact(V).map(|vector| std::array::from_fn(|at| vector[at])).collect();
        let combinations = 0..levels.len().pow(V as u32);
        let neighbors = combinations.map(|combination| {
            let digit = |i: usize| combination / levels.len().pow(i as u32) % levels.len();
            nearest(&vectors, &std::array::from_fn(|i| levels[digit(i)]))
        });
        Codebook {
            neighbors: neighbors.collect(),
            borders: levels.windows(2).map(|pair| (pair[0] + pair[1]) as f32 / 2.0).collect(),
            vectors: vectors.iter().map(|vector| vector.map(|element| element as f32)).collect(),
            levels: levels.iter().map(|&level| level as f32).collect(),
        }
    }

    /// Returns the elements of a vector.
    pub(super) fn elements(&self, index: u16) -> &[f32; V] {
        &self.vectors[usize::from(index)]
    }

    /// The largest element.
    pub(super) fn last_level(&self) -> f32 {
        self.levels.last().copied().unwrap_or_default()
    }

    /// Number of values that an element can have.
    pub(super) fn num_levels(&self) -> usize {
        self.levels.len()
    }

    /// Chooses the vector with the least weighted squared distance from `values`, of those that are compared.
    pub(super) fn choose(&self, values: &[f32; V], weights: &[f32; V]) -> ChosenVector {
        let level = |value: &f32| self.borders.iter().filter(|border| value > border).count();
        let combination =
            values.iter().rev().fold(0, |digits, value| digits * self.levels.len() + level(value));
        let mut best = ChosenVector { index: 0, error: f32::INFINITY };
        for &index in &self.neighbors[combination] {
            let vector = self.elements(index);
            let terms: [f32; V] = std::array::from_fn(|i| {
                let difference = vector[i] - values[i];
                weights[i] * difference * difference
            });
            let error = terms.iter().sum();
            if error < best.error {
                best = ChosenVector { index, error };
            }
        }
        best
    }
}

/// The vectors with the least distance from `values`, nearest first; of several with the same distance, the first.
fn nearest<const V: usize>(vectors: &[[i32; V]], values: &[i32; V]) -> [u16; NUM_NEIGHBORS] {
    let mut keys: Vec<u64> = (0..)
        .zip(vectors)
        .map(|(index, vector)| {
            let square = |i: usize| (vector[i] - values[i]).pow(2) as u64;
            (0..V).map(square).sum::<u64>() << 16 | index
        })
        .collect();
    let (nearest, ..) = keys.select_nth_unstable(NUM_NEIGHBORS);
    // Selection leaves them in an order that depends on the version of the standard library, and of vectors with equal
    // errors the first is chosen.
    nearest.sort_unstable();
    std::array::from_fn(|i| nearest[i] as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::codebook_elements;

    #[test]
    fn neighbors_are_in_order_of_distance_and_then_of_index() {
        let codebook = Codebook::<8>::new(&codebook_elements::IQ2_S, 0);
        for (combination, neighbors) in codebook.neighbors.iter().enumerate() {
            let values: [f32; 8] = std::array::from_fn(|i| {
                let digit = combination / codebook.levels.len().pow(i as u32);
                codebook.levels[digit % codebook.levels.len()]
            });
            let key = |index: u16| {
                let differences = codebook.elements(index).iter().zip(values);
                let distance: f32 = differences.map(|(a, b)| (a - b) * (a - b)).sum();
                (distance as u32, index)
            };
            assert!(neighbors.map(key).is_sorted(), "{values:?}: {neighbors:?}");
        }
    }
}
