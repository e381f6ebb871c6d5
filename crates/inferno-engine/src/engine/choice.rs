//! One answer that is being generated: from rows of logits to events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedSender;

use super::event::{Event, Finished, PromptEvent, Timings, TokenEvent};
use super::prompt_scores::PromptScores;
use super::{ConstraintState, TokenConstraint};
use crate::answer::Answer;
use crate::{EngineError, FinishReason, Released, Sampler, TokenMask};

/// A place among the requests that wait; it is free again when this is dropped.
pub(super) type QueuePlace = OwnedSemaphorePermit;

/// A choice of a request that has not ended.
pub(super) struct Choice {
    pub(super) index: usize,
    pub(super) sampler: Sampler,
    pub(super) answer: Answer,
    pub(super) constraint: Option<Constraint>,
    /// Where they are asked for, until they are told.
    pub(super) prompt_scores: Option<PromptScores>,
    /// Ends when the prompt is read.
    pub(super) only_reads: bool,
    pub(super) events: UnboundedSender<Event>,
    /// Shared by the choices of a request: whether one of them failed.
    pub(super) failed: Arc<AtomicBool>,
    /// Shared by all choices that have not ended, so that they can be counted.
    pub(super) _open: Arc<()>,
    /// Kept by the first choice until it runs.
    pub(super) queue_place: Option<QueuePlace>,
    pub(super) prompt_tokens: usize,
    pub(super) context_length: usize,
    pub(super) progress: Progress,
}

/// A constraint, and the mask that it fills.
pub(super) struct Constraint {
    rules: Box<dyn TokenConstraint>,
    mask: TokenMask,
}

/// How far a choice has come, and when.
#[derive(Debug)]
pub(super) struct Progress {
    submitted: Instant,
    admitted: Option<Instant>,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
    cached_tokens: usize,
    generated_tokens: usize,
    num_preemptions: usize,
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

impl Progress {
    pub(super) fn new(submitted: Instant) -> Self {
        Self {
            submitted,
            admitted: None,
            first_token: None,
            last_token: None,
            cached_tokens: 0,
            generated_tokens: 0,
            num_preemptions: 0,
        }
    }

    fn timings(&self) -> Timings {
        let total = self.submitted.elapsed();
        let since_submitted = |time: Instant| time - self.submitted;
        let decode = self.first_token.zip(self.last_token).map(|(first, last)| last - first);
        Timings {
            queued: self.admitted.map_or(total, since_submitted),
            time_to_first_token: self.first_token.map(since_submitted),
            decode: decode.unwrap_or(Duration::ZERO),
            total,
            num_preemptions: self.num_preemptions,
        }
    }
}

impl Choice {
    /// Whether nobody listens any more, or the request has failed.
    pub(super) fn is_abandoned(&self) -> bool {
        self.events.is_closed() || self.failed.load(Ordering::Relaxed)
    }

    /// Notes that it runs from now on.
    pub(super) fn admit(&mut self, cached_tokens: usize) {
        self.queue_place = None;
        self.progress.admitted = Some(Instant::now());
        self.progress.cached_tokens = cached_tokens;
    }

    /// Notes that it lost its blocks.
    pub(super) fn preempt(&mut self) {
        self.progress.num_preemptions += 1;
    }

    /// Tokens that were sampled.
    pub(super) fn generated_tokens(&self) -> usize {
        self.progress.generated_tokens
    }

    /// Takes the rows of logits of a chunk, of which the first stands at `position`. Gives the token
    /// to go on with where the last one stands at the end, and `None` where nothing is to follow.
    ///
    /// **Errors**: as [`Sampler::sample`], and of the constraint.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = &'r [f32]>,
    ) -> Result<Option<u32>, EngineError> {
        for (position, row) in (position..).zip(rows) {
            if let Some(scores) = &mut self.prompt_scores {
                scores.read(position, row, &mut self.sampler)?;
            }
            if position + 1 >= self.prompt_tokens {
                self.tell_prompt_scores();
                return match self.only_reads {
                    true => {
                        self.tell_end(FinishReason::Length, String::new());
                        Ok(None)
                    }
                    false => self.step(row),
                };
            }
        }
        Ok(None)
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
        let progress = &mut self.progress;
        progress.generated_tokens += 1;
        let is_full = self.prompt_tokens + progress.generated_tokens == self.context_length;
        let Released { mut text, mut finish_reason } = self.answer.push(id, is_full)?;
        if state == ConstraintState::Complete && finish_reason.is_none() {
            let rest = self.answer.finish(FinishReason::EndOfGeneration);
            text.push_str(&rest.text);
            finish_reason = rest.finish_reason;
        }
        let time = Instant::now();
        progress.first_token.get_or_insert(time);
        progress.last_token = Some(time);
        self.tell(Event::Token(TokenEvent { choice: self.index, token, text, time }));
        match finish_reason {
            None => Ok(Some(id)),
            Some(reason) => {
                self.tell_end(reason, String::new());
                Ok(None)
            }
        }
    }

    /// Ends it without a further token.
    pub(super) fn end(mut self, reason: FinishReason) {
        let Released { text, finish_reason } = self.answer.finish(reason);
        self.tell_end(finish_reason.unwrap_or(reason), text);
    }

    /// Ends the whole request.
    pub(super) fn fail(self, error: Arc<EngineError>) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            self.tell(Event::Failed(error));
        }
    }

    fn tell_prompt_scores(&mut self) {
        if let Some(scores) = self.prompt_scores.take() {
            let logprobs = scores.into_logprobs();
            self.tell(Event::Prompt(PromptEvent { choice: self.index, logprobs }));
        }
    }

    fn tell_end(&self, reason: FinishReason, text: String) {
        self.tell(Event::Finished(Finished {
            choice: self.index,
            reason,
            text,
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.progress.cached_tokens,
            generated_tokens: self.progress.generated_tokens,
            timings: self.progress.timings(),
        }));
    }

    /// Sends an event. Where nobody listens, the choice is taken out before the next step.
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }
}
