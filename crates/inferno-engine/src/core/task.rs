//! The task of a sequence.

use std::time::Instant;

use super::embedding::EmbeddingTask;
use super::event_sender::EventSender;
use super::generation::GenerationTask;
use super::logits::LogitsTask;
use super::scoring::ScoringTask;
use crate::scheduler::Continuation;
use crate::{EngineError, FinishReason, Row};

/// The task of a sequence.
pub(crate) enum SequenceTask {
    /// Tokens that continue a prompt.
    Generation(Box<GenerationTask>),
    /// The embedding of a text.
    Embedding(EmbeddingTask),
    /// The logits of a prompt.
    Logits(LogitsTask),
    /// The log-probabilities of a continuation.
    Scoring(Box<ScoringTask>),
    /// Keys and values alone.
    Prefill(EventSender),
}

impl SequenceTask {
    pub(crate) fn sender(&self) -> &EventSender {
        match self {
            Self::Generation(task) => &task.sender,
            Self::Embedding(task) => &task.sender,
            Self::Logits(task) => &task.sender,
            Self::Scoring(task) => &task.sender,
            Self::Prefill(sender) => sender,
        }
    }

    pub(crate) fn sender_mut(&mut self) -> &mut EventSender {
        match self {
            Self::Generation(task) => &mut task.sender,
            Self::Embedding(task) => &mut task.sender,
            Self::Logits(task) => &mut task.sender,
            Self::Scoring(task) => &mut task.sender,
            Self::Prefill(sender) => sender,
        }
    }

    /// The generation, if it is one: only generations have drafts.
    pub(super) fn generation_mut(&mut self) -> Option<&mut GenerationTask> {
        match self {
            Self::Generation(task) => Some(task),
            Self::Embedding(_) | Self::Logits(_) | Self::Scoring(_) | Self::Prefill(_) => None,
        }
    }

    /// Returns the number of candidates per row that are enough in most cases; `None` if whole rows are needed.
    pub(super) fn num_candidates(&self) -> Option<usize> {
        match self {
            Self::Generation(task) => task.num_candidates(),
            Self::Embedding(_) | Self::Logits(_) | Self::Scoring(_) => None,
            Self::Prefill(_) => Some(1),
        }
    }

    /// Reads the rows of a chunk, of which the first belongs to `position`: hidden states for an
    /// embedding, logits otherwise. The continuation counts if the last row is the sequence's last. Waits for a
    /// constraint until `deadline` at most; if that is not enough, the task [is held](Self::is_held).
    ///
    /// **Errors**: as [`GenerationTask::read`], [`EmbeddingTask::read`], [`LogitsTask::read`] and [`ScoringTask::read`].
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = Row<'r>>,
        deadline: Instant,
    ) -> Result<Continuation, EngineError> {
        match self {
            Self::Generation(task) => return task.read(position, rows, deadline),
            Self::Embedding(task) => task.read(position, rows)?,
            Self::Logits(task) => task.read(position, rows)?,
            Self::Scoring(task) => task.read(position, rows)?,
            Self::Prefill(sender) => {
                if position + rows.count() == sender.prompt_tokens() {
                    sender.finish(FinishReason::Length, String::new());
                }
            }
        }
        Ok(Continuation::default())
    }

    /// Whether it waits for its constraint.
    pub(super) fn is_held(&self) -> bool {
        matches!(self, Self::Generation(task) if task.is_held())
    }

    /// Continues a task that [is held](Self::is_held), as [`GenerationTask::resume`] does.
    ///
    /// **Errors**: as [`GenerationTask::read`].
    pub(super) fn resume(&mut self, deadline: Instant) -> Result<Option<u32>, EngineError> {
        match self {
            Self::Generation(task) => task.resume(deadline),
            Self::Embedding(_) | Self::Logits(_) | Self::Scoring(_) | Self::Prefill(_) => Ok(None),
        }
    }

    /// Ends it early.
    pub(super) fn end(self, reason: FinishReason) {
        match self {
            Self::Generation(task) => task.end(reason),
            Self::Scoring(mut task) => task.sender.finish(reason, String::new()),
            Self::Embedding(EmbeddingTask { mut sender, .. })
            | Self::Logits(LogitsTask { mut sender, .. })
            | Self::Prefill(mut sender) => {
                sender.finish(reason, String::new());
            }
        }
    }
}
