//! How other threads speak with the engine's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use inferno_tokenizer::Tokenizer;
use tokio::sync::{Semaphore, mpsc};

use super::choice::{Choice, Constraint, Progress};
use super::prompt_scores::PromptScores;
use super::worker::{Message, Submission};
use super::{EngineSnapshot, EventStream, Request};
use crate::answer::Answer;
use crate::sampler::check_tokens;
use crate::{EngineError, Rows, Sampler, SamplingParams, StopChecker, StopParams};

/// Choices that one request may ask for.
const MAX_NUM_CHOICES: usize = 128;

/// What the engine's thread and those who speak with it know of each other.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) end_of_generation: Vec<u32>,
    /// Tokens that both model and tokenizer have.
    pub(super) vocab_size: usize,
    /// Tokens that a prompt and its answer may have together.
    pub(super) context_length: usize,
    pub(super) max_num_waiting: usize,
    /// Places for requests that wait.
    pub(super) queue: Arc<Semaphore>,
    /// Held by each choice that has not ended, and here.
    pub(super) open: Arc<()>,
    pub(super) is_draining: AtomicBool,
    pub(super) snapshot: Mutex<EngineSnapshot>,
}

impl Shared {
    /// The numbers that are shown. They are plain data, sound whoever stopped while writing them.
    pub(super) fn snapshot(&self) -> MutexGuard<'_, EngineSnapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands requests to an engine, from any thread.
#[derive(Debug, Clone)]
pub struct EngineHandle {
    pub(super) shared: Arc<Shared>,
    pub(super) messages: Sender<Message>,
    /// Alive as long as the thread is.
    pub(super) thread: std::sync::Weak<()>,
}

/// Why a request was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// As many requests wait as may.
    #[error("{limit} requests are waiting already, which is as many as may; try again later")]
    QueueFull {
        /// Requests that may wait.
        limit: usize,
    },
    /// The engine takes no more requests before it stops.
    #[error("the engine is finishing its last requests and takes no more")]
    Draining,
    /// The engine's thread has ended.
    #[error("the engine has stopped")]
    Stopped,
    /// The request is not one that can be answered.
    #[error(transparent)]
    Refused(Box<EngineError>),
}

impl From<EngineError> for SubmitError {
    fn from(error: EngineError) -> Self {
        Self::Refused(Box::new(error))
    }
}

impl EngineHandle {
    /// Hands in a request. Never waits for a pass in progress.
    ///
    /// **Errors**: [`SubmitError::Refused`] with [`EngineError::EmptyPrompt`],
    /// [`EngineError::PromptTooLong`], [`EngineError::TokenOutOfRange`],
    /// [`EngineError::NumChoices`] or what is wrong with the parameters;
    /// [`SubmitError::QueueFull`], [`SubmitError::Draining`], [`SubmitError::Stopped`].
    pub fn submit(&self, request: Request) -> Result<EventStream, SubmitError> {
        let submitted = Instant::now();
        self.check(&request)?;
        let (events, receiver) = mpsc::unbounded_channel();
        let mut choices = self.choices(&request, &events, submitted)?;
        let stream = EventStream::new(receiver, choices.len(), choices[0].sampler.seed());
        if self.is_draining() {
            return Err(SubmitError::Draining);
        }
        let queue = Arc::clone(&self.shared.queue);
        let limit = self.shared.max_num_waiting;
        let place = queue.try_acquire_owned().map_err(|_| SubmitError::QueueFull { limit })?;
        choices[0].queue_place = Some(place);
        let Request { prompt, prompt_logprobs, priority, deadline, .. } = request;
        let rows = if prompt_logprobs.is_some() { Rows::All } else { Rows::Last };
        let submission = Submission { prompt, rows, priority, deadline, choices };
        let message = Message::Submit(submission);
        self.messages.send(message).map_err(|_| SubmitError::Stopped)?;
        Ok(stream)
    }

    /// What the engine does, as of its last step.
    pub fn snapshot(&self) -> EngineSnapshot {
        *self.shared.snapshot()
    }

    /// Whether the engine's thread runs; false after it was shut down, or panicked.
    pub fn is_alive(&self) -> bool {
        self.thread.strong_count() > 0
    }

    /// Takes no more requests from now on. What waits or runs goes on.
    pub fn drain(&self) {
        self.shared.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether [`drain`](Self::drain) was called.
    pub fn is_draining(&self) -> bool {
        self.shared.is_draining.load(Ordering::Relaxed)
    }

    /// Whether every request that was taken has ended.
    pub fn is_idle(&self) -> bool {
        Arc::strong_count(&self.shared.open) == 1
    }

    /// The tokenizer of the model.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.shared.tokenizer
    }

    /// The most tokens that a prompt and its answer may have together: the model's context, or the
    /// KV cache where that is smaller.
    pub fn context_length(&self) -> usize {
        self.shared.context_length
    }

    /// Tokens that both model and tokenizer have.
    pub fn vocab_size(&self) -> usize {
        self.shared.vocab_size
    }

    fn check(&self, request: &Request) -> Result<(), EngineError> {
        let Shared { vocab_size, context_length, .. } = *self.shared;
        let prompt_tokens = request.prompt.len();
        if prompt_tokens == 0 {
            return Err(EngineError::EmptyPrompt);
        }
        if prompt_tokens >= context_length {
            return Err(EngineError::PromptTooLong {
                prompt_tokens,
                session_tokens: 0,
                room: 1,
                context_length,
            });
        }
        if !(1..=MAX_NUM_CHOICES).contains(&request.num_choices) {
            let asked_for = request.num_choices;
            return Err(EngineError::NumChoices { asked_for, limit: MAX_NUM_CHOICES });
        }
        check_tokens("the prompt", request.prompt.iter().copied(), vocab_size)
    }

    fn choices(
        &self,
        request: &Request,
        events: &mpsc::UnboundedSender<super::Event>,
        submitted: Instant,
    ) -> Result<Vec<Choice>, EngineError> {
        let shared = &*self.shared;
        let Request { prompt, generation, num_choices, constraint, .. } = request;
        let mut detokenizer = shared.tokenizer.detokenizer(generation.skip_special_tokens);
        for &token in prompt {
            detokenizer.push(token)?;
        }
        let failed = Arc::new(AtomicBool::new(false));
        let mut sampling = generation.sampling.clone();
        let mut stop = generation.stop.clone();
        let only_reads = request.prompt_logprobs.is_some() && stop.max_tokens == Some(0);
        if only_reads {
            stop = StopParams::default();
        }
        let scored: Arc<[u32]> = prompt.as_slice().into();
        let mut choices = Vec::with_capacity(*num_choices);
        for index in 0..*num_choices {
            let mut sampler = Sampler::new(sampling.clone(), shared.vocab_size)?;
            sampler.add_prompt(prompt);
            let seed = Some(sampler.seed().wrapping_add(1));
            sampling = SamplingParams { seed, ..sampling };
            let end_of_generation = &shared.end_of_generation;
            let stop = StopChecker::new(stop.clone(), shared.vocab_size, end_of_generation)?;
            let rules = constraint.as_ref().map(|constraint| constraint.fork());
            choices.push(Choice {
                index,
                sampler,
                answer: Answer::new(stop, detokenizer.clone()),
                constraint: rules.map(|rules| Constraint::new(rules, shared.vocab_size)),
                prompt_scores: request
                    .prompt_logprobs
                    .map(|count| PromptScores::new(Arc::clone(&scored), count)),
                only_reads,
                events: events.clone(),
                failed: Arc::clone(&failed),
                _open: Arc::clone(&shared.open),
                queue_place: None,
                prompt_tokens: prompt.len(),
                context_length: shared.context_length,
                progress: Progress::new(submitted),
            });
        }
        Ok(choices)
    }
}
