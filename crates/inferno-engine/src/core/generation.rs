//! One generation: from rows of logits to tokens and their text.

use inferno_tokenizer::Detokenizer;

use super::drafter::Drafter;
use super::event::{Event, PromptEvent, TokenEvent};
use super::event_sender::EventSender;
use super::model_info::ModelInfo;
use super::prompt_logprobs::PromptLogprobs;
use super::text_stream::TextStream;
use crate::scheduler::Continuation;
use crate::{
    ConstraintState, EngineError, FinishReason, GenerationParams, Released, Sampler, StopChecker,
    TokenConstraint, TokenMask,
};

/// A generation that has not ended.
pub(crate) struct GenerationTask {
    pub(super) sender: EventSender,
    sampler: Sampler,
    text: TextStream,
    constraint: Option<Constraint>,
    /// Present until they are sent, if they were requested.
    prompt_logprobs: Option<PromptLogprobs>,
    /// Ends when the prompt is computed.
    only_scores_prompt: bool,
    drafter: Drafter,
    context_length: usize,
}

/// A constraint, and the mask that it fills.
struct Constraint {
    rules: Box<dyn TokenConstraint>,
    mask: TokenMask,
}

impl Constraint {
    fn mask(&mut self) -> Result<&TokenMask, EngineError> {
        self.mask.clear();
        self.rules.mask(&mut self.mask)?;
        Ok(&self.mask)
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
        let mut sampler = Sampler::new(params.sampling.clone(), info.vocab_size)?;
        sampler.add_prompt(prompt);
        let stop = StopChecker::new(params.stop.clone(), info.vocab_size, &info.end_of_generation)?;
        Ok(Self {
            sender,
            sampler,
            text: TextStream::new(stop, detokenizer),
            constraint: None,
            prompt_logprobs: None,
            only_scores_prompt: false,
            drafter: Drafter::new(params.num_speculative_tokens),
            context_length: info.context_length,
        })
    }

    /// Restricts the tokens that may be sampled.
    pub(crate) fn constrain(&mut self, rules: Box<dyn TokenConstraint>, vocab_size: usize) {
        self.constraint = Some(Constraint { rules, mask: TokenMask::new(vocab_size) });
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

    /// Whether [`draft`](Self::draft) can return anything.
    pub(super) fn may_draft(&self) -> bool {
        self.drafter.is_enabled()
    }

    /// Returns at most `room` tokens that may follow `tokens`; none before the first token was sampled.
    pub(super) fn draft(&mut self, tokens: &[u32], room: usize) -> &[u32] {
        let num_generated = self.sender.num_generated();
        let num_left = self.text.stop().num_tokens_left().unwrap_or(usize::MAX);
        let num_left =
            num_left.min(self.context_length - self.sender.prompt_tokens() - num_generated);
        // One more token follows the last draft.
        let room = room.min(num_left.saturating_sub(1));
        self.drafter.draft(tokens, if num_generated == 0 { 0 } else { room })
    }

    /// Reads the rows of logits of a chunk, of which the first belongs to `position`. The continuation
    /// counts if the last row is the sequence's last; rows after drafts count as long as the sampled
    /// token is the drafted one.
    ///
    /// **Errors**: as [`Sampler::sample`], and those of the constraint.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = &'r [f32]>,
    ) -> Result<Continuation, EngineError> {
        let mut continuation = Continuation::default();
        let mut rows = (position..).zip(rows).peekable();
        while let Some((position, row)) = rows.next() {
            if let Some(logprobs) = &mut self.prompt_logprobs {
                logprobs.read(position, row, &mut self.sampler)?;
            }
            if position + 1 < self.sender.prompt_tokens() {
                continue;
            }
            self.send_prompt_logprobs();
            if self.only_scores_prompt {
                self.sender.finish(FinishReason::Length, String::new());
                break;
            }
            continuation.next = self.sample(row)?;
            let draft = self.drafter.drafts().get(continuation.num_accepted).copied();
            if rows.peek().is_none() || continuation.next.is_none() || continuation.next != draft {
                self.drafter.record_accepted(continuation.num_accepted);
                break;
            }
            continuation.num_accepted += 1;
        }
        Ok(continuation)
    }

    /// Samples from a row of logits and sends the token. Returns the token to continue with, `None` at
    /// the end.
    fn sample(&mut self, logits: &[f32]) -> Result<Option<u32>, EngineError> {
        let allowed = self.constraint.as_mut().map(Constraint::mask).transpose()?;
        let token = self.sampler.sample_allowed(logits, self.text.stop().banned(), allowed)?;
        let id = token.id;
        let state = match &mut self.constraint {
            Some(constraint) => constraint.rules.accept(id)?,
            None => ConstraintState::Open,
        };
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
            None => Ok(Some(id)),
            Some(reason) => {
                self.sender.finish(reason, String::new());
                Ok(None)
            }
        }
    }

    /// Ends it without a further token.
    pub(super) fn end(mut self, reason: FinishReason) {
        let Released { text, finish_reason } = self.text.finish(reason);
        self.sender.finish(finish_reason.unwrap_or(reason), text);
    }

    fn send_prompt_logprobs(&mut self) {
        if let Some(collected) = self.prompt_logprobs.take() {
            let (choice, logprobs) = (self.sender.choice(), collected.into_logprobs());
            self.sender.send(Event::Prompt(PromptEvent { choice, logprobs }));
        }
    }
}
