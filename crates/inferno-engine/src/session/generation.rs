//! A generation in progress.

use std::time::{Duration, Instant};

use super::{CancelHandle, Session};
use crate::core::{EventQueue, EventSender, GenerationTask, QueuedEvent, SequenceTask};
use crate::{
    EngineError, Event, FinishReason, GenerationParams, Metrics, SampledToken, TokenConstraint,
    TokenLogprobs,
};

/// One step of a generation.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationStep {
    /// The token that was sampled; `None` when the step only reports that the generation was cancelled.
    pub token: Option<SampledToken>,
    /// The text that can now be shown: complete characters, often none.
    pub text: String,
    /// Why this is the last step, if it is.
    pub finish_reason: Option<FinishReason>,
}

/// All steps of a generation, put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Tokens that were sampled, including the one that ended the generation.
    pub tokens: Vec<u32>,
    /// Their text, without a character that the end cut in half.
    pub text: String,
    /// Log-probabilities, one entry per token, if they were requested.
    pub logprobs: Vec<TokenLogprobs>,
    /// Why the generation ended.
    pub finish_reason: FinishReason,
}

/// The steps of one generation: an iterator that computes each of them on demand.
///
/// The last step has the finish reason; after it, and after an error, the iterator ends.
/// Dropping the iterator stops the generation. If that, a cancellation or an error comes before the
/// first token, the session is left as if there had been no prompt.
pub struct Generation<'s> {
    session: &'s mut Session,
    /// Events of the core that were not returned yet.
    queue: EventQueue,
    /// The text that was held back after the last step.
    held_back: String,
    seed: u64,
    cancel: CancelHandle,
    /// Receives the number of prompt tokens computed so far.
    on_prompt: Option<Box<dyn FnMut(usize) + Send + 's>>,
    /// Duration of the call that began the generation.
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
        constraint: Option<Box<dyn TokenConstraint>>,
        started: Instant,
    ) -> Result<Self, EngineError> {
        let rollback_to = session.tokens.len();
        session.tokens.extend_from_slice(prompt);
        let seed = Self::begin(session, params, constraint)
            .inspect_err(|_| session.tokens.truncate(rollback_to))?;
        session.start_metrics();
        Ok(Self {
            session,
            queue: EventQueue::default(),
            held_back: String::new(),
            seed,
            cancel: CancelHandle::new(),
            on_prompt: None,
            setup_time: started.elapsed(),
            rollback_to: Some(rollback_to),
            ended: false,
        })
    }

    /// Prepares the generation after the session's tokens, and returns its seed.
    fn begin(
        session: &mut Session,
        params: &GenerationParams,
        constraint: Option<Box<dyn TokenConstraint>>,
    ) -> Result<u64, EngineError> {
        let (info, tokens) = (session.core.info(), &session.tokens);
        let detokenizer = info.detokenizer(tokens, params.skip_special_tokens)?;
        let sender = EventSender::to_queue(tokens.len());
        let mut task = GenerationTask::new(info, sender, tokens, params, detokenizer)?;
        if let Some(constraint) = constraint {
            task.constrain(session.core.constraint(constraint)?);
        }
        let seed = task.seed();
        session.begin(SequenceTask::Generation(Box::new(task)))?;
        Ok(seed)
    }

    /// Returns a handle that stops this generation, from any thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Calls `on_prompt` between the forward passes that read the prompt, with the number of its tokens computed so
    /// far. Tokens in the prefix cache are not computed.
    pub fn on_prompt(&mut self, on_prompt: impl FnMut(usize) + Send + 's) {
        self.on_prompt = Some(Box::new(on_prompt));
    }

    /// Returns the measurements of the generation so far.
    pub fn metrics(&self) -> &Metrics {
        &self.session.metrics
    }

    /// Returns the seed of the random draws, which reproduces this text.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns why the generation ended; `None` before its last step, and after an error.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.session.metrics.finish_reason
    }

    /// Runs to the end, and returns the remaining steps put together.
    ///
    /// **Errors**: the first error of a step, and [`EngineError::GenerationFailed`] after an earlier
    /// one.
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

    fn step(&mut self) -> Result<GenerationStep, EngineError> {
        let step_started = Instant::now();
        let Some(QueuedEvent { event, held_back }) = self.next_event()? else {
            let text = std::mem::take(&mut self.held_back);
            return Ok(GenerationStep {
                token: None,
                text,
                finish_reason: Some(FinishReason::Cancelled),
            });
        };
        let token = match event {
            Event::Token(token) => token,
            Event::Failed(error) => return Err(EngineError::from_shared(error)),
            // A session's generation sends nothing else before its last token.
            _ => return Err(EngineError::EngineStopped),
        };
        self.held_back = held_back;
        let finish_reason = match self.queue.events.front().map(|queued| &queued.event) {
            Some(Event::Finished(finished)) => Some(finished.reason),
            _ => None,
        };
        self.session.tokens.push(token.token.id);
        let metrics = &mut self.session.metrics;
        metrics.generated_tokens += 1;
        if self.rollback_to.take().is_some() {
            metrics.time_to_first_token = Some(self.setup_time + step_started.elapsed());
        } else {
            metrics.decode_time += step_started.elapsed();
        }
        Ok(GenerationStep { token: Some(token.token), text: token.text, finish_reason })
    }

    /// The next event, which is computed if no earlier pass led to it; `None` when cancelled.
    fn next_event(&mut self) -> Result<Option<QueuedEvent>, EngineError> {
        if self.queue.events.is_empty() && !self.cancel.is_cancelled() {
            let Self { session, queue, cancel, on_prompt, .. } = self;
            session.core.next_events(session.sequence, queue, |computed_tokens| {
                if let Some(on_prompt) = on_prompt {
                    on_prompt(computed_tokens);
                }
                cancel.is_cancelled()
            })?;
            if !queue.events.is_empty() {
                *on_prompt = None;
            }
            for pass in queue.passes.drain(..) {
                session.record_pass(pass);
            }
        }
        match self.cancel.is_cancelled() {
            true => Ok(None),
            false => Ok(self.queue.events.pop_front()),
        }
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.session.core.finish(self.session.sequence);
        }
        if let Some(len) = self.rollback_to.take() {
            self.session.tokens.truncate(len);
        }
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<GenerationStep, EngineError>;

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
