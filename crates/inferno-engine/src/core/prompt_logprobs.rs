//! The log-probabilities of a prompt or of its end, collected as its rows of logits arrive.

use std::sync::Arc;

use crate::{EngineError, Sampler, TokenLogprobs};

/// Collects the log-probabilities of a prompt's tokens. Invariant: it holds those of the tokens from the
/// first that is scored to some later one, without gaps.
#[derive(Debug)]
pub(crate) struct PromptLogprobs {
    prompt: Arc<[u32]>,
    /// Index of the first token that is scored.
    first: usize,
    /// How many of the most probable tokens are reported at each position.
    num_top: usize,
    logprobs: Vec<TokenLogprobs>,
}

impl PromptLogprobs {
    /// Of all tokens but the first, which nothing precedes.
    pub(crate) fn new(prompt: Arc<[u32]>, num_top: usize) -> Self {
        Self { prompt, first: 1, num_top, logprobs: Vec::new() }
    }

    /// Of the tokens from index `first` on, which is at least 1.
    pub(super) fn of_continuation(prompt: Arc<[u32]>, first: usize) -> Self {
        Self { prompt, first, num_top: 0, logprobs: Vec::new() }
    }

    /// Whether every token that is scored was read.
    pub(super) fn is_complete(&self) -> bool {
        self.first + self.logprobs.len() == self.prompt.len()
    }

    /// Reads the logits after `position`, which give the probability of the next token. A row that was
    /// read before, as happens when a sequence is computed again, is ignored.
    ///
    /// **Errors**: logits that are not finite.
    pub(super) fn read(
        &mut self,
        position: usize,
        logits: &[f32],
        sampler: &mut Sampler,
    ) -> Result<(), EngineError> {
        if let Some(&next) = self.prompt.get(position + 1)
            && position + 1 == self.first + self.logprobs.len()
        {
            self.logprobs.push(sampler.logprobs(next, self.num_top, logits)?);
        }
        Ok(())
    }

    /// Takes those of the tokens that are scored.
    pub(super) fn take(&mut self) -> Vec<TokenLogprobs> {
        std::mem::take(&mut self.logprobs)
    }
}
