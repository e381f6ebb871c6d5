//! Keeps the nucleus: the smallest set of tokens whose probabilities reach `top_p`.
//!
//! **Source**: Holtzman et al., The Curious Case of Neural Text Degeneration, section 3.1.

use std::ops::RangeInclusive;

use super::candidates::{Candidate, Candidates};
use super::softmax::exp_of_negative;

/// Keeps the most probable tokens until their sum reaches `top_p`; 1 keeps all.
pub(super) fn apply(top_p: f32, candidates: &mut Candidates) {
    if top_p < 1.0 {
        candidates.keep_mass(top_p, candidates.softmax(), |entry| -entry.logit);
    }
}

/// Keeps what [`apply`] would keep of a whole row, whose most probable tokens the candidates are, in order of descending
/// logits. `exp_sum` are the bounds of the sum of `exp(logit - max)` over the row. Returns false if the candidates do not
/// decide it.
pub(super) fn apply_to_best(
    top_p: f32,
    exp_sum: RangeInclusive<f64>,
    candidates: &mut Candidates,
) -> bool {
    let [possible, certain] = [exp_sum.start(), exp_sum.end()].map(|sum| f64::from(top_p) * sum);
    let max = candidates.max_logit();
    let mut reached = 0.0;
    let is_reached = |entry: &Candidate| {
        reached += f64::from(exp_of_negative(entry.logit - max));
        reached >= possible
    };
    match candidates.as_slice().iter().position(is_reached) {
        Some(last) if reached >= certain => {
            candidates.truncate(last + 1);
            true
        }
        _ => false,
    }
}
