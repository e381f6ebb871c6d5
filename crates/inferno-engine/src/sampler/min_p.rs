//! Drops tokens that are improbable compared with the most probable one.
//!
//! **Source**: Nguyen et al., Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM
//! Outputs, section 3.

use super::candidates::Candidates;

/// Keeps tokens at least `min_p` times as probable as the most probable one; 0 keeps all.
pub(super) fn apply(min_p: f32, candidates: &mut Candidates) {
    if min_p > 0.0 {
        // A ratio of probabilities is a difference of logits.
        let lowest = candidates.max_logit() + libm::logf(min_p);
        candidates.retain(|entry| entry.logit >= lowest);
    }
}
