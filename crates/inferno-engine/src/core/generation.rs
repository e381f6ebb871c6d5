//! One generation: from rows of logits to tokens and their text.

use std::time::Instant;

use inferno_tokenizer::Detokenizer;

use super::constraint::Constraint;
use super::drafter::Drafter;
use super::event::{Event, PromptEvent, TokenEvent};
use super::event_sender::EventSender;
use super::model_info::ModelInfo;
use super::prompt_logprobs::PromptLogprobs;
use super::text_stream::TextStream;
use crate::scheduler::Continuation;
use crate::{
    ConstraintState, EngineError, FinishReason, GenerationParams, Released, Row, SampledToken,
    Sampler, StopChecker,
};

/// A generation that has not ended.
pub(crate) struct GenerationTask {
    pub(super) sender: EventSender,
    sampler: Sampler,
    text: TextStream,
    constraint: Option<Constraint>,
    /// Present while the constraint delays the generation.
    held: Option<Held>,
    /// Present until they are sent, if they were requested.
    prompt_logprobs: Option<PromptLogprobs>,
    /// Ends when the prompt is computed.
    only_scores_prompt: bool,
    drafter: Drafter,
    context_length: usize,
}

/// What waits for the constraint.
enum Held {
    /// The row of logits to sample from.
    Row(Vec<f32>),
    /// The token that was sampled.
    Token(SampledToken),
}

/// What sampling from a row led to.
enum Sampled {
    /// The token to continue with.
    Next(u32),
    /// The generation has ended.
    End,
    /// Nothing yet: the constraint is not ready.
    Held,
}

impl Sampled {
    fn next(&self) -> Option<u32> {
        match *self {
            Self::Next(token) => Some(token),
            Self::End | Self::Held => None,
        }
    }
}

impl GenerationTask {
    /// Creates a generation after `prompt`, which `detokenizer` has read.
    ///
    /// **Errors**: parameters out of range.
    pub(crate) fn new(
        info: &ModelInfo,
        sender: EventSender,
        prompt: &[u32],
        params: &GenerationParams,
        detokenizer: Detokenizer,
    ) -> Result<Self, EngineError> {
        let mut sampler = info.sampler(&params.sampling)?;
        sampler.add_prompt(prompt);
        let stop = StopChecker::new(
            params.stop.clone(),
            info.vocab_size,
            &info.end_of_generation,
            &info.suppressed,
        )?;
        Ok(Self {
            sender,
            sampler,
            text: TextStream::new(stop, detokenizer),
            constraint: None,
            held: None,
            prompt_logprobs: None,
            only_scores_prompt: false,
            drafter: Drafter::new(params.num_speculative_tokens),
            context_length: info.context_length,
        })
    }

    /// Restricts the tokens that may be sampled.
    pub(crate) fn constrain(&mut self, constraint: Constraint) {
        self.constraint = Some(constraint);
    }

    /// Sends the log-probabilities of the prompt too; nothing else if `only_scores_prompt`.
    pub(crate) fn score_prompt(&mut self, logprobs: PromptLogprobs, only_scores_prompt: bool) {
        self.prompt_logprobs = Some(logprobs);
        self.only_scores_prompt = only_scores_prompt;
    }

    /// The seed of its random draws.
    pub(crate) fn seed(&self) -> u64 {
        self.sampler.seed()
    }

    /// Whether [`look_up`](Self::look_up) can return anything.
    pub(super) fn may_look_up(&self) -> bool {
        self.drafter.is_enabled()
    }

    /// Maximum number of drafts before the generation ends; 0 before the first token was sampled.
    pub(super) fn max_num_drafts(&self) -> usize {
        let num_generated = self.sender.num_generated();
        if num_generated == 0 {
            return 0;
        }
        let num_left = self.text.stop().num_tokens_left().unwrap_or(usize::MAX);
        let num_left =
            num_left.min(self.context_length - self.sender.prompt_tokens() - num_generated);
        // One more token follows the last draft.
        num_left.saturating_sub(1)
    }

    /// Returns at most `room` tokens that followed the end of `tokens` earlier.
    pub(super) fn look_up(&mut self, tokens: &[u32], room: usize) -> &[u32] {
        self.drafter.draft(tokens, room)
    }

    /// Replaces the drafts of the current pass, of which there are none, by those of a draft model.
    pub(super) fn set_drafts(&mut self, drafts: &[u32]) {
        self.drafter.set_drafts(drafts);
    }

    /// The sampler of the next token.
    pub(super) fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// Tokens that may not be sampled next.
    pub(super) fn banned(&self) -> &[u32] {
        self.text.stop().banned()
    }

    /// Returns the number of candidates per row that are enough in most cases; `None` if whole rows are needed.
    pub(super) fn num_candidates(&self) -> Option<usize> {
        if self.prompt_logprobs.is_some() || self.constraint.is_some() {
            return None;
        }
        self.sampler.num_candidates(self.text.stop().banned().len())
    }

    /// Reads the rows of logits of a chunk, of which the first belongs to `position`. The continuation
    /// counts if the last row is the sequence's last; rows after drafts count as long as the sampled
    /// token is the drafted one. Waits for the constraint until `deadline` at most; if that is not enough, the
    /// generation [is held](Self::is_held).
    ///
    /// **Errors**: as [`Sampler::sample`], and those of the constraint.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = Row<'r>>,
        deadline: Instant,
    ) -> Result<Continuation, EngineError> {
        let mut continuation = Continuation::default();
        let mut rows = (position..).zip(rows).peekable();
        while let Some((position, row)) = rows.next() {
            if let Some(logprobs) = &mut self.prompt_logprobs {
                logprobs.read(position, &row.values()?, &mut self.sampler)?;
            }
            if position + 1 < self.sender.prompt_tokens() {
                continue;
            }
            self.send_prompt_logprobs();
            if self.only_scores_prompt {
                self.sender.finish(FinishReason::Length, String::new());
                break;
            }
            continuation.next = self.sample(row, deadline)?.next();
            let draft = self.drafter.drafts().get(continuation.num_accepted).copied();
            if rows.peek().is_none() || continuation.next.is_none() || continuation.next != draft {
                self.drafter.record_accepted(continuation.num_accepted);
                break;
            }
            continuation.num_accepted += 1;
        }
        self.prepare_mask(continuation.next);
        Ok(continuation)
    }

    /// Whether it waits for its constraint.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Continues a generation that [is held](Self::is_held), unless it still is at `deadline`. Returns the token to
    /// continue with, `None` at the end and if it is still held.
    ///
    /// **Errors**: as [`read`](Self::read).
    pub(super) fn resume(&mut self, deadline: Instant) -> Result<Option<u32>, EngineError> {
        let sampled = match self.held.take() {
            Some(Held::Row(row)) => self.sample(Row::Values(&row), deadline)?,
            Some(Held::Token(token)) => self.accepted(token, deadline)?,
            None => Sampled::Held,
        };
        self.prepare_mask(sampled.next());
        Ok(sampled.next())
    }

    /// Begins to compute the mask of the token after `next`.
    fn prepare_mask(&mut self, next: Option<u32>) {
        if let (Some(constraint), Some(_)) = (&mut self.constraint, next) {
            constraint.prepare_mask();
        }
    }

    /// Samples from a row of logits and sends the token.
    fn sample(&mut self, row: Row<'_>, deadline: Instant) -> Result<Sampled, EngineError> {
        let banned = self.text.stop().banned();
        let Some(constraint) = &mut self.constraint else {
            let token = self.sampler.sample_row(row, banned)?;
            return self.send(token, ConstraintState::Open);
        };
        let Some(allowed) = constraint.mask(deadline)? else {
            self.held = Some(Held::Row(row.values()?.into_owned()));
            return Ok(Sampled::Held);
        };
        let token = self.sampler.sample_allowed(&row.values()?, banned, Some(allowed))?;
        match constraint.accept(token.id)? {
            Some(state) => self.send(token, state),
            None => self.accepted(token, deadline),
        }
    }

    /// Sends a token when the constraint has accepted it.
    fn accepted(&mut self, token: SampledToken, deadline: Instant) -> Result<Sampled, EngineError> {
        let state = match &mut self.constraint {
            Some(constraint) => constraint.state(deadline)?,
            None => Some(ConstraintState::Open),
        };
        match state {
            Some(state) => self.send(token, state),
            None => {
                self.held = Some(Held::Token(token));
                Ok(Sampled::Held)
            }
        }
    }

    /// Sends a token after which the constraint has this state.
    fn send(
        &mut self,
        token: SampledToken,
        state: ConstraintState,
    ) -> Result<Sampled, EngineError> {
        let id = token.id;
        let time = self.sender.record_token();
        let num_tokens = self.sender.prompt_tokens() + self.sender.num_generated();
        let is_full = num_tokens == self.context_length;
        let Released { mut text, mut finish_reason } = self.text.push(id, is_full)?;
        if state == ConstraintState::Complete && finish_reason.is_none() {
            let rest = self.text.finish(FinishReason::EndOfGeneration);
            text.push_str(&rest.text);
            finish_reason = rest.finish_reason;
        }
        let event = TokenEvent { choice: self.sender.choice(), token, text, time };
        self.sender.send_token(event, self.text.held_back());
        match finish_reason {
            None => Ok(Sampled::Next(id)),
            Some(reason) => {
                self.sender.finish(reason, String::new());
                Ok(Sampled::End)
            }
        }
    }

    /// Ends it without a further token.
    pub(super) fn end(mut self, reason: FinishReason) {
        let Released { text, finish_reason } = self.text.finish(reason);
        self.sender.finish(finish_reason.unwrap_or(reason), text);
    }

    fn send_prompt_logprobs(&mut self) {
        if let Some(mut collected) = self.prompt_logprobs.take() {
            let (choice, logprobs) = (self.sender.choice(), collected.take());
            self.sender.send(Event::Prompt(PromptEvent { choice, logprobs }));
        }
    }
}
