//! The logits of a prompt, collected as its rows arrive.

use super::event::Event;
use super::event_sender::EventSender;
use crate::scheduler::RowRequest;
use crate::{EngineError, FinishReason, Row};

/// A sequence whose logits are returned unchanged.
pub(crate) struct LogitsTask {
    pub(super) sender: EventSender,
    vocab_size: usize,
    /// Position of the next row.
    next: usize,
    logits: Vec<f32>,
}

impl LogitsTask {
    /// Creates the task of a prompt that is not empty; `rows` is [`RowRequest::All`] or [`RowRequest::Last`].
    pub(crate) fn new(sender: EventSender, rows: RowRequest, vocab_size: usize) -> Self {
        let next = match rows {
            RowRequest::All => 0,
            _ => sender.prompt_tokens() - 1,
        };
        Self { sender, vocab_size, next, logits: Vec::new() }
    }

    /// Reads logits, of which the first row belongs to `position`. A row that was read before, as happens when a sequence
    /// is computed again, is ignored.
    ///
    /// **Errors**: [`EngineError::NonFiniteLogit`], a device that fails.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = Row<'r>>,
    ) -> Result<(), EngineError> {
        for (position, row) in (position..).zip(rows) {
            if position != self.next {
                continue;
            }
            let row = row.values()?;
            if let Some(token) = row.iter().position(|logit| !logit.is_finite()) {
                return Err(EngineError::NonFiniteLogit { token, value: row[token] });
            }
            self.logits.extend_from_slice(&row[..self.vocab_size]);
            self.next += 1;
        }
        if self.next == self.sender.prompt_tokens() {
            self.sender.send(Event::Logits(std::mem::take(&mut self.logits)));
            self.sender.finish(FinishReason::EndOfGeneration, String::new());
        }
        Ok(())
    }
}
