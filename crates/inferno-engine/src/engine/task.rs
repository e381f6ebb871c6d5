//! What a sequence is computed for.

use super::choice::Choice;
use super::event::Event;
use super::ticket::Ticket;
use crate::pooling::Pooler;
use crate::scheduler::Continuation;
use crate::{EngineError, FinishReason};

/// What a sequence is computed for.
pub(super) enum Task {
    /// An answer.
    Choice(Box<Choice>),
    /// A vector.
    Embedding(Embedding),
}

/// A text of which the hidden states are pooled.
pub(super) struct Embedding {
    pub(super) ticket: Ticket,
    pub(super) pooler: Pooler,
}

impl Task {
    pub(super) fn ticket(&self) -> &Ticket {
        match self {
            Self::Choice(choice) => &choice.ticket,
            Self::Embedding(embedding) => &embedding.ticket,
        }
    }

    pub(super) fn ticket_mut(&mut self) -> &mut Ticket {
        match self {
            Self::Choice(choice) => &mut choice.ticket,
            Self::Embedding(embedding) => &mut embedding.ticket,
        }
    }

    /// At most `room` tokens that may follow `tokens`.
    pub(super) fn draft(&mut self, tokens: &[u32], room: usize) -> &[u32] {
        match self {
            Self::Choice(choice) => choice.draft(tokens, room),
            Self::Embedding(_) => &[],
        }
    }

    /// Takes the rows of a chunk, of which the first stands at `position`: logits for an answer,
    /// hidden states for a vector. What it says of how to go on counts where the last row stands at
    /// the sequence's end.
    ///
    /// **Errors**: as [`Choice::read`]; hidden states that are not finite.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = &'r [f32]>,
    ) -> Result<Continuation, EngineError> {
        match self {
            Self::Choice(choice) => choice.read(position, rows),
            Self::Embedding(embedding) => {
                embedding.read(position, rows)?;
                Ok(Continuation::default())
            }
        }
    }

    /// Ends it before its time.
    pub(super) fn end(self, reason: FinishReason) {
        match self {
            Self::Choice(choice) => choice.end(reason),
            Self::Embedding(embedding) => embedding.ticket.tell_end(reason, String::new()),
        }
    }
}

impl Embedding {
    fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = &'r [f32]>,
    ) -> Result<(), EngineError> {
        let mut num_read = position;
        for row in rows {
            self.pooler.push(num_read, row)?;
            num_read += 1;
        }
        if num_read == self.ticket.prompt_tokens {
            self.ticket.tell(Event::Embedding(self.pooler.normalized()));
            self.ticket.tell_end(FinishReason::EndOfGeneration, String::new());
        }
        Ok(())
    }
}
