//! The embedding of one text: from rows of hidden states to a vector.

use super::event::Event;
use super::event_sender::EventSender;
use super::pooling::{Pooler, Pooling};
use crate::scheduler::RowRequest;
use crate::{EngineError, FinishReason, Row};

/// A sequence whose hidden states are pooled.
pub(crate) struct EmbeddingTask {
    pub(super) sender: EventSender,
    pooling: Pooling,
    pooler: Pooler,
}

impl EmbeddingTask {
    pub(crate) fn new(sender: EventSender, pooling: Pooling) -> Self {
        Self { sender, pooling, pooler: Pooler::new(pooling) }
    }

    /// The hidden states that pooling needs.
    pub(crate) fn rows(&self) -> RowRequest {
        match self.pooling {
            Pooling::Last => RowRequest::LastHidden,
            Pooling::Mean => RowRequest::AllHidden,
        }
    }

    /// Reads hidden states, of which the first belongs to `position`.
    ///
    /// **Errors**: [`EngineError::NonFiniteState`], a device that fails.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = Row<'r>>,
    ) -> Result<(), EngineError> {
        let mut end = position;
        for row in rows {
            self.pooler.push(end, &row.values()?)?;
            end += 1;
        }
        if end == self.sender.prompt_tokens() {
            self.sender.send(Event::Embedding(self.pooler.normalized()));
            self.sender.finish(FinishReason::EndOfGeneration, String::new());
        }
        Ok(())
    }
}
