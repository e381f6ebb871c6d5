//! Keeps the nucleus: the smallest set of tokens whose probabilities reach `top_p`.
//!
//! **Source**: Holtzman et al., The Curious Case of Neural Text Degeneration, section 3.1.

use super::candidates::Candidates;

/// Keeps the most probable tokens until their sum reaches `top_p`; 1 keeps all.
pub(super) fn apply(top_p: f32, candidates: &mut Candidates) {
    if top_p < 1.0 {
        candidates.keep_mass(top_p, candidates.softmax(), |entry| -entry.logit);
    }
}
