//! Keeps a fixed number of the most probable tokens.
//!
//! **Source**: Fan et al., Hierarchical Neural Story Generation, section 5.4.

use super::candidates::Candidates;

/// Keeps the `top_k` tokens with the highest logits; 0 keeps all.
pub(super) fn apply(top_k: usize, candidates: &mut Candidates) {
    if top_k != 0 && top_k <= candidates.len() {
        candidates.keep_first(top_k, |entry| -entry.logit);
    }
}
