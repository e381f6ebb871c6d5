//! One answer that is being generated: from rows of logits to events.

use super::event::{Event, PromptEvent, TokenEvent};
use super::prompt_scores::PromptScores;
use super::ticket::Ticket;
use super::{ConstraintState, TokenConstraint};
use crate::answer::Answer;
use crate::scheduler::Continuation;
use crate::speculation::Drafter;
use crate::{EngineError, FinishReason, Released, Sampler, TokenMask};

/// A choice of a request that has not ended.
pub(super) struct Choice {
    pub(super) ticket: Ticket,
    pub(super) sampler: Sampler,
    pub(super) answer: Answer,
    pub(super) constraint: Option<Constraint>,
    /// Where they are asked for, until they are told.
    pub(super) prompt_scores: Option<PromptScores>,
    /// Ends when the prompt is read.
    pub(super) only_reads: bool,
    pub(super) drafter: Drafter,
    pub(super) context_length: usize,
}

/// A constraint, and the mask that it fills.
pub(super) struct Constraint {
    rules: Box<dyn TokenConstraint>,
    mask: TokenMask,
}

impl Constraint {
    pub(super) fn new(rules: Box<dyn TokenConstraint>, vocab_size: usize) -> Self {
        Self { rules, mask: TokenMask::new(vocab_size) }
    }

    fn mask(&mut self) -> Result<&TokenMask, EngineError> {
        self.mask.clear();
        self.rules.mask(&mut self.mask)?;
        Ok(&self.mask)
    }
}

impl Choice {
    /// At most `room` tokens that may follow `tokens`; none before the first token was sampled.
    pub(super) fn draft(&mut self, tokens: &[u32], room: usize) -> &[u32] {
        let Ticket { progress, prompt_tokens, .. } = &self.ticket;
        let num_said = progress.generated_tokens();
        // One more token follows the last draft.
        let left = self.answer.stop().num_tokens_left().unwrap_or(usize::MAX);
        let left = left.min(self.context_length - prompt_tokens - num_said).saturating_sub(1);
        self.drafter.draft(tokens, if num_said == 0 { 0 } else { room.min(left) })
    }

    /// Takes the rows of logits of a chunk, of which the first stands at `position`. What it says of
    /// how to go on counts where the last row stands at the sequence's end; rows after drafts count
    /// as long as what is sampled is what was drafted.
    ///
    /// **Errors**: as [`Sampler::sample`], and of the constraint.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = &'r [f32]>,
    ) -> Result<Continuation, EngineError> {
        let mut continuation = Continuation::default();
        let mut rows = (position..).zip(rows).peekable();
        while let Some((position, row)) = rows.next() {
            if let Some(scores) = &mut self.prompt_scores {
                scores.read(position, row, &mut self.sampler)?;
            }
            if position + 1 < self.ticket.prompt_tokens {
                continue;
            }
            self.tell_prompt_scores();
            if self.only_reads {
                self.ticket.tell_end(FinishReason::Length, String::new());
                break;
            }
            continuation.next = self.step(row)?;
            let draft = self.drafter.drafts().get(continuation.num_accepted).copied();
            if rows.peek().is_none() || continuation.next.is_none() || continuation.next != draft {
                self.drafter.judge(continuation.num_accepted);
                break;
            }
            continuation.num_accepted += 1;
        }
        Ok(continuation)
    }

    /// Samples from a row of logits and tells of it: the token to go on with, `None` at the end.
    fn step(&mut self, logits: &[f32]) -> Result<Option<u32>, EngineError> {
        let allowed = self.constraint.as_mut().map(Constraint::mask).transpose()?;
        let token = self.sampler.sample_allowed(logits, self.answer.stop().banned(), allowed)?;
        let id = token.id;
        let state = match &mut self.constraint {
            Some(constraint) => constraint.rules.accept(id)?,
            None => ConstraintState::Open,
        };
        let Ticket { progress, prompt_tokens, .. } = &mut self.ticket;
        let time = progress.token();
        let is_full = *prompt_tokens + progress.generated_tokens() == self.context_length;
        let Released { mut text, mut finish_reason } = self.answer.push(id, is_full)?;
        if state == ConstraintState::Complete && finish_reason.is_none() {
            let rest = self.answer.finish(FinishReason::EndOfGeneration);
            text.push_str(&rest.text);
            finish_reason = rest.finish_reason;
        }
        let choice = self.ticket.index;
        self.ticket.tell(Event::Token(TokenEvent { choice, token, text, time }));
        match finish_reason {
            None => Ok(Some(id)),
            Some(reason) => {
                self.ticket.tell_end(reason, String::new());
                Ok(None)
            }
        }
    }

    /// Ends it without a further token.
    pub(super) fn end(mut self, reason: FinishReason) {
        let Released { text, finish_reason } = self.answer.finish(reason);
        self.ticket.tell_end(finish_reason.unwrap_or(reason), text);
    }

    fn tell_prompt_scores(&mut self) {
        if let Some(scores) = self.prompt_scores.take() {
            let logprobs = scores.into_logprobs();
            let choice = self.ticket.index;
            self.ticket.tell(Event::Prompt(PromptEvent { choice, logprobs }));
        }
    }
}
