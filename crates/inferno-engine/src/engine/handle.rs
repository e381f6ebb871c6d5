//! How other threads speak with the engine's.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use inferno_tokenizer::Tokenizer;
use tokio::sync::{Semaphore, mpsc};

use super::choice::{Choice, Constraint};
use super::prompt_scores::PromptScores;
use super::saved_prefixes::SAVED_PREFIXES;
use super::task::{Embedding, Task};
use super::ticket::{Progress, Ticket};
use super::worker::{FileAction, Message, Submission};
use super::{EmbeddingRequest, EngineOptions, EngineSnapshot, Event, EventStream, Request};
use crate::answer::Answer;
use crate::pooling::Pooler;
use crate::sampler::check_tokens;
use crate::speculation::Drafter;
use crate::state_file;
use crate::{EngineError, Pooling, Rows, Sampler, SamplingParams, StopChecker, StopParams};

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
    pub(super) hidden_size: usize,
    pub(super) options: EngineOptions,
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
        self.check_prompt(&request.prompt, 1)?;
        let num_choices = request.num_choices;
        if !(1..=MAX_NUM_CHOICES).contains(&num_choices) {
            let limit = MAX_NUM_CHOICES;
            return Err(EngineError::NumChoices { asked_for: num_choices, limit }.into());
        }
        let (events, receiver) = mpsc::unbounded_channel();
        let choices = self.choices(&request, &events)?;
        let stream = EventStream::new(receiver, num_choices, choices[0].sampler.seed());
        let Request { prompt, prompt_logprobs, priority, deadline, .. } = request;
        let rows = if prompt_logprobs.is_some() { Rows::All } else { Rows::Last };
        let tasks = choices.into_iter().map(|choice| Task::Choice(Box::new(choice))).collect();
        self.send(Submission { prompt, rows, priority, deadline, tasks })?;
        Ok(stream)
    }

    /// Hands in a text of which a vector is wanted, of length 1. It comes as [`Event::Embedding`], and
    /// the end after it has the reason [`EndOfGeneration`](crate::FinishReason::EndOfGeneration). Never
    /// waits for a pass in progress.
    ///
    /// **Errors**: [`SubmitError::Refused`] with [`EngineError::EmptyPrompt`],
    /// [`EngineError::PromptTooLong`] or [`EngineError::TokenOutOfRange`]; [`SubmitError::QueueFull`],
    /// [`SubmitError::Draining`], [`SubmitError::Stopped`].
    pub fn embed(&self, request: EmbeddingRequest) -> Result<EventStream, SubmitError> {
        let EmbeddingRequest { prompt, pooling, priority, deadline } = request;
        self.check_prompt(&prompt, 0)?;
        let (events, receiver) = mpsc::unbounded_channel();
        let ticket = self.tickets(&events, prompt.len())(0);
        let rows = match pooling {
            Pooling::Last => Rows::LastHidden,
            Pooling::Mean => Rows::AllHidden,
        };
        let tasks = vec![Task::Embedding(Embedding { ticket, pooler: Pooler::new(pooling) })];
        self.send(Submission { prompt, rows, priority, deadline, tasks })?;
        Ok(EventStream::new(receiver, 1, 0))
    }

    /// Takes a place in the queue, and lets the thread know.
    fn send(&self, mut submission: Submission) -> Result<(), SubmitError> {
        if self.is_draining() {
            return Err(SubmitError::Draining);
        }
        // What it leaves behind still takes messages for a moment.
        if !self.is_alive() {
            return Err(SubmitError::Stopped);
        }
        let queue = Arc::clone(&self.shared.queue);
        let limit = self.shared.options.max_num_waiting;
        let place = queue.try_acquire_owned().map_err(|_| SubmitError::QueueFull { limit })?;
        submission.tasks[0].ticket_mut().queue_place = Some(place);
        self.messages.send(Message::Submit(submission)).map_err(|_| SubmitError::Stopped)
    }

    /// Writes the prefix cache to a file, whole or not at all, between two steps, and waits for that.
    /// On Unix only its owner may read it. Gives the number of blocks; the file is smaller than the KV
    /// cache. A saved prefix cache that is there already is replaced, nothing else.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`],
    /// [`EngineError::EngineStopped`], and a device that fails.
    pub fn save_prefixes(&self, path: impl AsRef<Path>) -> Result<usize, EngineError> {
        self.prefixes(FileAction::Save, path.as_ref())
    }

    /// Checks that [`save_prefixes`](Self::save_prefixes) may write to `path`, before there is anything
    /// to lose.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`].
    pub fn check_save_prefixes(path: impl AsRef<Path>) -> Result<(), EngineError> {
        state_file::check_write(path.as_ref(), &SAVED_PREFIXES)
    }

    /// Takes in what [`save_prefixes`](Self::save_prefixes) wrote, as far as blocks are free, the most
    /// recently used first; waits for that. Gives the number of blocks.
    ///
    /// **Errors**: [`EngineError::StateIo`]; [`EngineError::StateUnknown`],
    /// [`EngineError::StateDamaged`] and [`EngineError::StateTruncated`];
    /// [`EngineError::StateVersion`]; [`EngineError::StateOfAnotherModel`], which is also that of
    /// another format of the KV cache; [`EngineError::EngineStopped`]. Nothing of the file is used then.
    pub fn load_prefixes(&self, path: impl AsRef<Path>) -> Result<usize, EngineError> {
        self.prefixes(FileAction::Load, path.as_ref())
    }

    fn prefixes(&self, action: FileAction, path: &Path) -> Result<usize, EngineError> {
        let (done, result) = std::sync::mpsc::channel();
        let message = Message::Prefixes { action, path: path.to_owned(), done };
        self.messages.send(message).map_err(|_| EngineError::EngineStopped)?;
        result.recv().map_err(|_| EngineError::EngineStopped)?
    }

    /// How the engine was set up.
    pub fn options(&self) -> EngineOptions {
        self.shared.options
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

    /// Values in a vector that [`embed`](Self::embed) gives.
    pub fn hidden_size(&self) -> usize {
        self.shared.hidden_size
    }

    /// Tokens that both model and tokenizer have.
    pub fn vocab_size(&self) -> usize {
        self.shared.vocab_size
    }

    /// Refuses a prompt after which fewer than `room` tokens fit.
    fn check_prompt(&self, prompt: &[u32], room: usize) -> Result<(), EngineError> {
        let Shared { vocab_size, context_length, .. } = *self.shared;
        let prompt_tokens = prompt.len();
        if prompt_tokens == 0 {
            return Err(EngineError::EmptyPrompt);
        }
        if prompt_tokens + room > context_length {
            return Err(EngineError::PromptTooLong {
                prompt_tokens,
                session_tokens: 0,
                room,
                context_length,
            });
        }
        check_tokens("the prompt", prompt.iter().copied(), vocab_size)
    }

    /// Makes the tickets of one request, by their index.
    fn tickets<'a>(
        &'a self,
        events: &'a mpsc::UnboundedSender<Event>,
        prompt_tokens: usize,
    ) -> impl Fn(usize) -> Ticket + use<'a> {
        let (submitted, failed) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        move |index| Ticket {
            index,
            events: events.clone(),
            failed: Arc::clone(&failed),
            _open: Arc::clone(&self.shared.open),
            queue_place: None,
            prompt_tokens,
            progress: Progress::new(submitted),
        }
    }

    fn choices(
        &self,
        request: &Request,
        events: &mpsc::UnboundedSender<Event>,
    ) -> Result<Vec<Choice>, EngineError> {
        let shared = &*self.shared;
        let ticket = self.tickets(events, request.prompt.len());
        let Request { prompt, generation, num_choices, constraint, .. } = request;
        let mut detokenizer = shared.tokenizer.detokenizer(generation.skip_special_tokens);
        for &token in prompt {
            detokenizer.push(token)?;
        }
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
                ticket: ticket(index),
                sampler,
                answer: Answer::new(stop, detokenizer.clone()),
                constraint: rules.map(|rules| Constraint::new(rules, shared.vocab_size)),
                prompt_scores: request
                    .prompt_logprobs
                    .map(|count| PromptScores::new(Arc::clone(&scored), count)),
                only_reads,
                drafter: Drafter::new(shared.options.num_speculative_tokens),
                context_length: shared.context_length,
            });
        }
        Ok(choices)
    }
}
