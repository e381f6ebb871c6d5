//! The log-probabilities of a continuation, as its rows of logits arrive.

use std::sync::Arc;

use super::event::{Event, PromptEvent};
use super::event_sender::EventSender;
use super::prompt_logprobs::PromptLogprobs;
use crate::{EngineError, FinishReason, Row, Sampler};

/// A sequence whose last tokens are scored. The very last one is not computed, since nothing follows it.
pub(crate) struct ScoringTask {
    pub(super) sender: EventSender,
    logprobs: PromptLogprobs,
    sampler: Sampler,
}

impl ScoringTask {
    /// Creates the task that scores `tokens` from index `first` on, which is at least 1 and below their number. The prompt
    /// of `sender` is all of them but the last.
    pub(crate) fn new(
        sender: EventSender,
        tokens: Arc<[u32]>,
        first: usize,
        sampler: Sampler,
    ) -> Self {
        Self { sender, logprobs: PromptLogprobs::of_continuation(tokens, first), sampler }
    }

    /// Reads logits, of which the first row belongs to `position`.
    ///
    /// **Errors**: [`EngineError::NonFiniteLogit`], a device that fails.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = Row<'r>>,
    ) -> Result<(), EngineError> {
        for (position, row) in (position..).zip(rows) {
            self.logprobs.read(position, &row.values()?, &mut self.sampler)?;
        }
        if self.logprobs.is_complete() {
            let logprobs = self.logprobs.take();
            self.sender.send(Event::Prompt(PromptEvent { choice: 0, logprobs }));
            self.sender.finish(FinishReason::EndOfGeneration, String::new());
        }
        Ok(())
    }
}
