//! Log-probabilities of the model's unmodified distribution.

use inferno_backend::CandidateRow;

use super::candidates::Candidates;
use super::softmax::Softmax;
use super::whole_row::WholeRow;

/// Log-probabilities at one step, in the model's own distribution: before any bias, penalty,
/// temperature or truncation.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprobs {
    /// Natural logarithm of the chosen token's probability.
    pub logprob: f32,
    /// How many tokens are more probable than the chosen one, plus one.
    pub rank: usize,
    /// The requested number of most probable tokens, the most probable first.
    pub top: Vec<(u32, f32)>,
}

impl TokenLogprobs {
    /// The log-probability of `chosen`, one of the most probable tokens `best`, and of the first `count` of these.
    pub(super) fn of_best(chosen: u32, count: usize, best: CandidateRow<'_>) -> Self {
        let log_sum = best.log_sum_exp();
        let logprob = |logit: f32| (f64::from(logit) - log_sum) as f32;
        let mut all = best.iter();
        let (_, chosen) = all.find(|&(id, _)| id == chosen).expect("a candidate was chosen");
        Self {
            logprob: logprob(chosen),
            rank: 1 + best.logits().iter().filter(|&&logit| logit > chosen).count(),
            top: best.iter().take(count).map(|(id, logit)| (id, logprob(logit))).collect(),
        }
    }

    /// The log-probability of `chosen` and of the `count` most probable tokens.
    pub(super) fn of(
        chosen: u32,
        count: usize,
        logits: &[f32],
        whole_row: &mut WholeRow,
        scratch: &mut Candidates,
    ) -> Self {
        let softmax = Softmax::of(logits, |logit| logit);
        let chosen = logits[chosen as usize];
        let mut top = Vec::new();
        if count > 0 {
            whole_row.fill_best(logits, count, scratch);
            scratch.keep_first(count, |entry| -entry.logit);
            top.extend(
                scratch
                    .as_slice()
                    .iter()
                    .map(|entry| (entry.id, softmax.log_probability(entry.logit) as f32)),
            );
        }
        Self {
            logprob: softmax.log_probability(chosen) as f32,
            rank: 1 + logits.iter().filter(|&&logit| logit > chosen).count(),
            top,
        }
    }
}
