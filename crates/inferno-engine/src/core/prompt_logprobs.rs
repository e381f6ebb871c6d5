//! The log-probabilities of a prompt, collected as its rows of logits arrive.

use std::sync::Arc;

use crate::{EngineError, Sampler, TokenLogprobs};

/// Collects the log-probabilities of a prompt's tokens. Invariant: it holds those of the tokens from the
/// second to some later one, without gaps.
#[derive(Debug)]
pub(crate) struct PromptLogprobs {
    prompt: Arc<[u32]>,
    /// How many of the most probable tokens are reported at each position.
    num_top: usize,
    logprobs: Vec<TokenLogprobs>,
}

impl PromptLogprobs {
    pub(crate) fn new(prompt: Arc<[u32]>, num_top: usize) -> Self {
        Self { prompt, num_top, logprobs: Vec::new() }
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
            && position == self.logprobs.len()
        {
            self.logprobs.push(sampler.logprobs(next, self.num_top, logits)?);
        }
        Ok(())
    }

    /// Those of all tokens but the first, which nothing precedes.
    pub(super) fn into_logprobs(self) -> Vec<TokenLogprobs> {
        self.logprobs
    }
}
