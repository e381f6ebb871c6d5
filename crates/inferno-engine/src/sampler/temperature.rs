//! Scales the remaining logits by temperature and converts them to sampling weights.
//!
//! **Source**: Ackley, Hinton and Sejnowski, A Learning Algorithm for Boltzmann Machines, section 2.

use super::candidates::Candidates;
use super::softmax::exp_of_negative;

/// Fills `weights` with `exp((logit - max) / temperature)`, one per candidate, and returns their sum.
///
/// The best candidate weighs 1 at any temperature, so that the sum is never zero.
pub(super) fn weigh(temperature: f32, candidates: &Candidates, weights: &mut Vec<f32>) -> f64 {
    let max = candidates.max_logit();
    weights.clear();
    weights.extend(
        candidates
            .as_slice()
            .iter()
            .map(|entry| exp_of_negative((entry.logit - max) / temperature)),
    );
    weights.iter().map(|&weight| f64::from(weight)).sum()
}
