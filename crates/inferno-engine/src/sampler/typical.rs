//! Keeps the tokens whose information content is closest to the entropy.
//!
//! **Source**: Meister et al., Locally Typical Sampling, section 4.

use super::candidates::Candidates;

/// Keeps the tokens whose surprise is nearest to the entropy, until their sum reaches `typical_p`;
/// 1 keeps all.
pub(super) fn apply(typical_p: f32, candidates: &mut Candidates) {
    if typical_p >= 1.0 {
        return;
    }
    let softmax = candidates.softmax();
    let surprise = |logit: f32| -softmax.log_probability(logit);
    let entropy: f64 = candidates
        .as_slice()
        .iter()
        .map(|entry| (softmax.probability(entry.logit), surprise(entry.logit)))
        // A probability that underflows adds nothing, however surprising.
        .map(|(probability, surprise)| if probability > 0.0 { probability * surprise } else { 0.0 })
        .sum();
    candidates
        .keep_mass(typical_p, softmax, |entry| (surprise(entry.logit) - entropy).abs() as f32);
}
