//! A generation in progress.

use std::time::{Duration, Instant};

use super::speculation::Speculation;
use super::{CancelHandle, GenerationParams, Session};
use crate::answer::Answer;
use crate::{
    EngineError, FinishReason, Metrics, Released, SampledToken, Sampler, StopChecker, TokenLogprobs,
};

/// One step of a generation.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The token that was sampled; none when the step only says that the generation was cancelled.
    pub token: Option<SampledToken>,
    /// The text that may be shown now: whole characters, often none.
    pub text: String,
    /// Why this is the last step, if it is.
    pub finish_reason: Option<FinishReason>,
}

/// All steps of a generation, put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Tokens that were sampled; the one that ended the generation is among them.
    pub tokens: Vec<u32>,
    /// Their text, without a character that the end cut in half.
    pub text: String,
    /// Log-probabilities, one a token, if they were asked for.
    pub logprobs: Vec<TokenLogprobs>,
    /// Why the generation ended.
    pub finish_reason: FinishReason,
}

/// The steps of one generation: an iterator that computes each as it is asked for.
///
/// The last step carries the finish reason; after it, and after an error, comes nothing more.
/// Dropping the iterator stops the generation. If that, a cancellation or an error comes before the
/// first token, the session is as if the prompt had not been given.
pub struct Generation<'s> {
    session: &'s mut Session,
    sampler: Sampler,
    answer: Answer,
    speculation: Speculation,
    cancel: CancelHandle,
    /// What the call took that began the generation.
    setup_time: Duration,
    /// The session's length before the prompt, until there is a first token.
    rollback_to: Option<usize>,
    ended: bool,
}

impl<'s> Generation<'s> {
    pub(super) fn start(
        session: &'s mut Session,
        prompt: &[u32],
        params: &GenerationParams,
        started: Instant,
    ) -> Result<Self, EngineError> {
        session.context.check_speculation(params.num_speculative_tokens)?;
        let mut sampler = Sampler::new(params.sampling.clone(), session.vocab_size)?;
        let end_of_generation = &session.end_of_generation;
        let stop = StopChecker::new(params.stop.clone(), session.vocab_size, end_of_generation)?;

        // The text goes on from what is there already: spaces, and characters cut in half, depend on
        // what came before.
        let mut detokenizer = session.tokenizer.detokenizer(params.skip_special_tokens);
        for &token in session.tokens().iter().chain(prompt) {
            detokenizer.push(token)?;
        }
        let rollback_to = session.tokens().len();
        session.context.extend(prompt);
        session.start_metrics(prompt.len());
        sampler.add_prompt(session.tokens());
        Ok(Self {
            session,
            sampler,
            answer: Answer::new(stop, detokenizer),
            speculation: Speculation::new(params.num_speculative_tokens),
            cancel: CancelHandle::new(),
            setup_time: started.elapsed(),
            rollback_to: Some(rollback_to),
            ended: false,
        })
    }

    /// Something that stops this generation, from any thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// What the generation has taken so far.
    pub fn metrics(&self) -> &Metrics {
        &self.session.metrics
    }

    /// The seed of the random draws, with which this text can be had again.
    pub fn seed(&self) -> u64 {
        self.sampler.seed()
    }

    /// Why the generation ended; `None` before its last step, and after an error.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.session.metrics.finish_reason
    }

    /// Runs to the end, and gives the steps that are left.
    ///
    /// **Errors**: the first error of a step, and [`EngineError::GenerationFailed`] when an earlier
    /// step gave one.
    pub fn complete(mut self) -> Result<Completion, EngineError> {
        let (mut tokens, mut text, mut logprobs) = (Vec::new(), String::new(), Vec::new());
        for step in self.by_ref() {
            let step = step?;
            if let Some(token) = step.token {
                tokens.push(token.id);
                logprobs.extend(token.logprobs);
            }
            text.push_str(&step.text);
        }
        let finish_reason = self.finish_reason().ok_or(EngineError::GenerationFailed)?;
        Ok(Completion { tokens, text, logprobs, finish_reason })
    }

    fn step(&mut self) -> Result<Step, EngineError> {
        let step_started = Instant::now();
        let token = self.next_token()?;
        let Released { text, finish_reason } = match &token {
            Some(token) => self.release(token.id)?,
            None => self.answer.finish(FinishReason::Cancelled),
        };
        if token.is_some() {
            let metrics = &mut self.session.metrics;
            metrics.generated_tokens += 1;
            if self.rollback_to.take().is_some() {
                metrics.time_to_first_token = Some(self.setup_time + step_started.elapsed());
            } else {
                metrics.decode_time += step_started.elapsed();
            }
        }
        Ok(Step { token, text, finish_reason })
    }

    /// Adds `token` to the session, and gives the text that may be shown because of it.
    fn release(&mut self, token: u32) -> Result<Released, EngineError> {
        let context = &mut self.session.context;
        let is_full = context.tokens().len() + 1 == context.context_length();
        let released = self.answer.push(token, is_full)?;
        context.say(token);
        Ok(released)
    }

    /// The next token, of the last pass if it gave more than one; `None` when cancelled.
    fn next_token(&mut self) -> Result<Option<SampledToken>, EngineError> {
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        match self.speculation.next_drawn() {
            Some(token) => Ok(Some(token)),
            None => self.compute_and_sample(),
        }
    }

    /// Computes what is left up to the last token, with drafts of what may follow, and samples;
    /// `None` when cancelled.
    fn compute_and_sample(&mut self) -> Result<Option<SampledToken>, EngineError> {
        let Session { context, metrics, vocab_size, .. } = &mut *self.session;
        let passes = match self.rollback_to {
            Some(_) => &mut metrics.prefill_passes,
            None => &mut metrics.decode_passes,
        };
        context.want_logits();
        if self.rollback_to.is_none() {
            let left = self.answer.stop().num_tokens_left().unwrap_or(usize::MAX);
            let room = context.room_for_drafts().min(left.saturating_sub(1));
            let drafts = self.speculation.draft(context.tokens(), room);
            metrics.drafted_tokens += drafts.len();
            context.draft(drafts);
        }
        loop {
            if self.cancel.is_cancelled() {
                return Ok(None);
            }
            let Some(pass) = context.run_chunk()? else {
                return Err(EngineError::LogitsLength { expected: *vocab_size, found: 0 });
            };
            passes.record(pass.num_tokens, pass.duration);
            if !pass.logits.is_empty() {
                // What the tokenizer has no text for cannot be said.
                let rows = pass.logit_rows().map(|row| &row[..row.len().min(*vocab_size)]);
                let num_accepted =
                    self.speculation.draw(rows, &mut self.sampler, self.answer.stop())?;
                context.accept(num_accepted);
                metrics.accepted_tokens += num_accepted;
                return Ok(self.speculation.next_drawn());
            }
        }
    }

    fn end(&mut self) {
        self.ended = true;
        // What was drafted beyond the last token that was said goes too.
        self.session.context.truncate(self.rollback_to.take().unwrap_or(usize::MAX));
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<Step, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let step = self.step();
        let finish_reason = step.as_ref().ok().and_then(|step| step.finish_reason);
        self.session.metrics.finish_reason = finish_reason;
        if step.is_err() || finish_reason.is_some() {
            self.end();
        }
        Some(step)
    }
}

impl std::iter::FusedIterator for Generation<'_> {}

impl Drop for Generation<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
