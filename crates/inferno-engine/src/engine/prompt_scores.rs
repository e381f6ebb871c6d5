//! The log-probabilities of a prompt, as its rows of logits come.

use std::sync::Arc;

use crate::{EngineError, Sampler, TokenLogprobs};

/// Collects the log-probabilities of a prompt's tokens. Invariant: those of the tokens from the
/// second on are there, one after another, up to some token.
#[derive(Debug)]
pub(super) struct PromptScores {
    prompt: Arc<[u32]>,
    /// Rivals of each token that are told.
    count: usize,
    logprobs: Vec<TokenLogprobs>,
}

impl PromptScores {
    pub(super) fn new(prompt: Arc<[u32]>, count: usize) -> Self {
        Self { prompt, count, logprobs: Vec::new() }
    }

    /// Reads the logits after `position`, which say how likely the next token was. A row that came
    /// before, as it does where a sequence is computed again, is passed over.
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
            self.logprobs.push(sampler.logprobs(next, self.count, logits)?);
        }
        Ok(())
    }

    /// Those of all tokens but the first, which nothing comes before.
    pub(super) fn into_logprobs(self) -> Vec<TokenLogprobs> {
        self.logprobs
    }
}
