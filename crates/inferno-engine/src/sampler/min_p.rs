//! Drops tokens that are improbable compared with the most probable one.
//!
//! **Source**: Nguyen et al., Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM
//! Outputs, section 3.

use super::candidates::Candidates;

/// Keeps tokens at least `min_p` times as probable as the most probable one; 0 keeps all.
pub(super) fn apply(min_p: f32, candidates: &mut Candidates) {
    if min_p > 0.0 {
        let lowest = lowest_logit(min_p, candidates);
        candidates.retain(|entry| entry.logit >= lowest);
    }
}

/// Whether none of the tokens that [`apply`] would keep is missing among these candidates, the most probable ones in order
/// of descending logits.
pub(super) fn is_decided(min_p: f32, candidates: &Candidates) -> bool {
    let last = candidates.as_slice().last();
    last.is_some_and(|entry| entry.logit < lowest_logit(min_p, candidates))
}

/// A ratio of probabilities is a difference of logits.
fn lowest_logit(min_p: f32, candidates: &Candidates) -> f32 {
    candidates.max_logit() + libm::logf(min_p)
}
