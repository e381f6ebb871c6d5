//! Drafts of what a sampler will draw: from the logits of another model, with the same random numbers.

use super::softmax::{self, Softmax};
use super::{History, Sampler, SamplingParams};
use crate::{EngineError, Row};

impl Sampler {
    /// A sampler that draws what this one will draw next, if it reads the same logits.
    pub(crate) fn fork(&self) -> Self {
        Self {
            params: SamplingParams { logprobs: None, ..self.params.clone() },
            vocab_size: self.vocab_size,
            seed: self.seed,
            random: self.random.clone(),
            history: self.history.clone(),
            adjusted: Vec::new(),
            candidates: Default::default(),
            whole_row: Default::default(),
            weights: Vec::new(),
        }
    }

    /// Makes a [fork](Self::fork) draw what `original` will draw next, after both drew different tokens.
    pub(crate) fn continue_as(&mut self, original: &Self) {
        self.random = original.random.clone();
        if History::is_needed(&self.params) {
            self.history.clone_from(&original.history);
        }
    }

    /// Draws from `row`, which may have fewer values than the vocabulary if a draft model has a smaller one. Returns the
    /// token with the largest probability of the row; `None` if every token is banned. `padded` is scratch memory.
    ///
    /// **Errors**: as [`sample`](Self::sample).
    pub(crate) fn draft(
        &mut self,
        row: Row<'_>,
        banned: &[u32],
        padded: &mut Vec<f32>,
    ) -> Result<Option<(u32, f64)>, EngineError> {
        let probability = match row {
            Row::Values(logits) => {
                let highest = softmax::max(logits, |logit| logit);
                Softmax::of(logits, |logit| logit).probability(highest)
            }
            Row::Candidates { best, .. } => 1.0 / best.exp_sum(),
        };
        let row = match row {
            Row::Values(logits) if logits.len() < self.vocab_size => {
                padded.clear();
                padded.extend_from_slice(logits);
                padded.resize(self.vocab_size, f32::MIN);
                Row::Values(padded)
            }
            row => row,
        };
        match self.sample_row(row, banned) {
            Ok(token) => Ok(Some((token.id, probability))),
            Err(EngineError::NoCandidates) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
