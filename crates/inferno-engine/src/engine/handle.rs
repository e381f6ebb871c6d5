//! The handle through which other threads use the engine.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

use inferno_backend::KvDType;
use inferno_tokenizer::Tokenizer;
use tokio::sync::mpsc;

use super::shared::{Lane, Message, Shared, Submission};
use super::{EmbeddingRequest, EngineOptions, EventStream, Request, ScoringRequest};
use crate::core::{
    EmbeddingTask, EventSender, GenerationTask, LogitsTask, ModelInfo, PromptLogprobs,
    RequestChannel, ScoringTask, SequenceTask,
};
use crate::{
    EngineError, EngineSnapshot, Event, GenerationCore, GenerationParams, PooledHead, RowRequest,
    SamplingParams, StopParams,
};

/// Submits requests to an engine, from any thread.
#[derive(Clone)]
pub struct EngineHandle {
    pub(super) shared: Arc<Shared>,
    /// One for each lane.
    pub(super) threads: Vec<LaneThread>,
}

/// A thread of an engine.
#[derive(Clone)]
pub(super) struct LaneThread {
    pub(super) messages: Sender<Message>,
    /// Alive as long as the thread is.
    pub(super) alive: std::sync::Weak<()>,
}

/// Why a request was not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The queue of waiting requests is full.
    #[error("the queue is full ({limit} requests are waiting); retry later")]
    QueueFull {
        /// Maximum number of waiting requests.
        limit: usize,
    },
    /// The engine accepts no more requests before it stops.
    #[error("the engine is draining and accepts no new requests")]
    Draining,
    /// The engine's thread has ended.
    #[error("the engine has stopped")]
    Stopped,
    /// The request is invalid.
    #[error(transparent)]
    Refused(Box<EngineError>),
}

impl From<EngineError> for SubmitError {
    fn from(error: EngineError) -> Self {
        Self::Refused(Box::new(error))
    }
}

impl EngineHandle {
    /// Maximum number of choices of one request.
    pub const MAX_NUM_CHOICES: usize = 128;

    /// Submits a request. Never waits for a forward pass.
    ///
    /// **Errors**: [`SubmitError::Refused`] with [`EngineError::EmptyPrompt`],
    /// [`EngineError::PromptTooLong`], [`EngineError::TokenOutOfRange`],
    /// [`EngineError::NumChoices`] or another error of the parameters;
    /// [`SubmitError::QueueFull`], [`SubmitError::Draining`], [`SubmitError::Stopped`].
    pub fn submit(&self, request: Request) -> Result<EventStream, SubmitError> {
        self.info().check_logits()?;
        // A prompt that is only scored needs no room for an answer.
        let room = usize::from(!request.only_scores_prompt());
        self.info().check_prompt(&request.prompt, room)?;
        let num_choices = request.num_choices;
        if !(1..=Self::MAX_NUM_CHOICES).contains(&num_choices) {
            let limit = Self::MAX_NUM_CHOICES;
            return Err(EngineError::NumChoices { asked_for: num_choices, limit }.into());
        }
        let (events, receiver) = mpsc::unbounded_channel();
        let lane = self.lane_for(&request.prompt);
        let choices = self.choices(&request, &events, lane)?;
        let stream = EventStream::new(receiver, num_choices, choices[0].seed());
        let Request { prompt, prompt_logprobs, priority, deadline, .. } = request;
        let rows = if prompt_logprobs.is_some() { RowRequest::All } else { RowRequest::Last };
        let tasks = choices.into_iter().map(|task| SequenceTask::Generation(Box::new(task)));
        let (second_segment, tasks) = (None, tasks.collect());
        let submission = Submission { prompt, second_segment, rows, priority, deadline, tasks };
        self.send(lane, submission)?;
        Ok(stream)
    }

    /// Submits a text to embed. The vector, of length 1, arrives as [`Event::Embedding`], followed by an
    /// end with the reason [`EndOfGeneration`](crate::FinishReason::EndOfGeneration). Never waits for a
    /// forward pass.
    ///
    /// **Errors**: [`SubmitError::Refused`] with [`EngineError::EmptyPrompt`],
    /// [`EngineError::PromptTooLong`], [`EngineError::TokenOutOfRange`], [`EngineError::NoClassifier`] or
    /// [`EngineError::Dimensions`]; [`SubmitError::QueueFull`], [`SubmitError::Draining`], [`SubmitError::Stopped`].
    pub fn embed(&self, request: EmbeddingRequest) -> Result<EventStream, SubmitError> {
        let (lane, submission, stream) = self.embedding(request)?;
        self.send(lane, submission)?;
        Ok(stream)
    }

    /// Checks an input to embed, and selects its lane.
    pub(super) fn embedding(
        &self,
        request: EmbeddingRequest,
    ) -> Result<(usize, Submission, EventStream), EngineError> {
        let EmbeddingRequest { prompt, second_segment, pooling, form, priority, deadline } =
            request;
        self.info().check_prompt(&prompt, 0)?;
        let (events, receiver) = mpsc::unbounded_channel();
        let lane = self.lane_for(&prompt);
        let sender = self.senders(&events, prompt.len(), lane)(0);
        let task = EmbeddingTask::new(sender, pooling, form, self.info())?;
        let (rows, tasks) = (task.rows(), vec![SequenceTask::Embedding(task)]);
        let submission = Submission { prompt, second_segment, rows, priority, deadline, tasks };
        Ok((lane, submission, EventStream::new(receiver, 1, 0)))
    }

    /// Submits a prompt whose logits are returned: those after its last token or, with `all_positions`, after each token.
    /// They arrive as [`Event::Logits`], followed by an end with the reason
    /// [`EndOfGeneration`](crate::FinishReason::EndOfGeneration). Never waits for a forward pass.
    ///
    /// **Errors**: as [`embed`](Self::embed).
    pub fn logits(
        &self,
        prompt: Vec<u32>,
        all_positions: bool,
    ) -> Result<EventStream, SubmitError> {
        self.info().check_logits()?;
        self.info().check_prompt(&prompt, 0)?;
        let (events, receiver) = mpsc::unbounded_channel();
        let lane = self.lane_for(&prompt);
        let sender = self.senders(&events, prompt.len(), lane)(0);
        let rows = if all_positions { RowRequest::All } else { RowRequest::Last };
        let task = SequenceTask::Logits(LogitsTask::new(sender, rows, self.vocab_size()));
        let tasks = vec![task];
        let (second_segment, priority, deadline) = (None, 0, None);
        let submission = Submission { prompt, second_segment, rows, priority, deadline, tasks };
        self.send(lane, submission)?;
        Ok(EventStream::new(receiver, 1, 0))
    }

    /// Submits a continuation to score. The log-probability of each of its tokens arrives as [`Event::Prompt`], followed by an
    /// end with the reason [`EndOfGeneration`](crate::FinishReason::EndOfGeneration). The last token is not computed, so
    /// context and continuation may have one token more than the context length. Requests with the same context share its
    /// computation through the prefix cache. Never waits for a forward pass.
    ///
    /// **Errors**: as [`embed`](Self::embed); [`EngineError::EmptyPrompt`] if the context or the continuation is empty.
    pub fn score(&self, request: ScoringRequest) -> Result<EventStream, SubmitError> {
        let ScoringRequest { context, continuation } = request;
        let Some((&last, computed)) = continuation.split_last() else {
            return Err(EngineError::EmptyPrompt.into());
        };
        let info = self.info();
        info.check_logits()?;
        info.check_known(&[last])?;
        let first = context.len();
        let mut prompt = context;
        if first > 0 {
            prompt.extend_from_slice(computed);
        }
        info.check_prompt(&prompt, 0)?;
        let sampler = info.sampler(&SamplingParams::greedy())?;
        let (events, receiver) = mpsc::unbounded_channel();
        let lane = self.lane_for(&prompt);
        let sender = self.senders(&events, prompt.len(), lane)(0);
        let tokens: Arc<[u32]> = prompt.iter().copied().chain([last]).collect();
        let task = Box::new(ScoringTask::new(sender, tokens, first, sampler));
        let (rows, tasks) = (RowRequest::From(first - 1), vec![SequenceTask::Scoring(task)]);
        let (second_segment, priority, deadline) = (None, 0, None);
        let submission = Submission { prompt, second_segment, rows, priority, deadline, tasks };
        self.send(lane, submission)?;
        Ok(EventStream::new(receiver, 1, 0))
    }

    /// The index of the lane that computes a prompt.
    fn lane_for(&self, prompt: &[u32]) -> usize {
        self.shared.lane_for(prompt, self.info().layout.block_tokens)
    }

    /// Saves the prefix cache of the first core as [`GenerationCore::save_prefixes`] does.
    ///
    /// **Errors**: as [`GenerationCore::save_prefixes`].
    pub fn save_prefixes(&self, path: impl AsRef<Path>) -> Result<usize, EngineError> {
        self.core().save_prefixes(path)
    }

    /// Checks that [`save_prefixes`](Self::save_prefixes) may write to `path`.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`].
    pub fn check_save_prefixes(path: impl AsRef<Path>) -> Result<(), EngineError> {
        GenerationCore::check_save_prefixes(path)
    }

    /// Loads a prefix cache into each core as [`GenerationCore::load_prefixes`] does, and returns the number of blocks in the
    /// first.
    ///
    /// **Errors**: as [`GenerationCore::load_prefixes`].
    pub fn load_prefixes(&self, path: impl AsRef<Path>) -> Result<usize, EngineError> {
        for lane in &self.shared.lanes[1..] {
            lane.core.load_prefixes(path.as_ref())?;
        }
        self.core().load_prefixes(path)
    }

    /// Returns the options of the engine.
    pub fn options(&self) -> EngineOptions {
        self.shared.options
    }

    /// Returns the maximum number of tokens drafted per sequence and step, by prompt lookup or a draft model; 0 if neither is
    /// enabled.
    pub fn max_num_drafts(&self) -> usize {
        let model = self.core().draft_options().map_or(0, |options| options.max_num_drafts);
        self.shared.options.num_speculative_tokens.max(model)
    }

    /// Returns the first of the cores that the engine steps.
    pub fn core(&self) -> &GenerationCore {
        &self.shared.lanes[0].core
    }

    /// Returns the state of the engine's cores after their last steps, added up.
    pub fn snapshot(&self) -> EngineSnapshot {
        let snapshots = self.shared.lanes.iter().map(|lane| lane.core.snapshot());
        snapshots.reduce(EngineSnapshot::plus).unwrap_or_default()
    }

    /// Whether the engine's threads run; false after it was shut down, or after a panic.
    pub fn is_alive(&self) -> bool {
        self.threads.iter().all(|thread| thread.alive.strong_count() > 0)
            && !self.shared.lanes.iter().any(|lane| lane.core.is_broken())
    }

    /// Accepts no more requests from now on. Those that wait or run are completed.
    pub fn drain(&self) {
        self.shared.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether [`drain`](Self::drain) was called.
    pub fn is_draining(&self) -> bool {
        self.shared.is_draining.load(Ordering::Relaxed)
    }

    /// Whether every request that was submitted has ended.
    pub fn is_idle(&self) -> bool {
        self.shared.lanes.iter().all(Lane::is_idle)
    }

    /// Returns the tokenizer of the model.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        self.core().tokenizer()
    }

    /// Maximum number of tokens of a prompt and its continuation together: the model's context, or the
    /// KV cache if that is smaller.
    pub fn context_length(&self) -> usize {
        self.info().context_length
    }

    /// Number format of the KV cache.
    pub fn kv_dtype(&self) -> KvDType {
        self.info().layout.dtype
    }

    /// Values in a vector that [`embed`](Self::embed) returns.
    pub fn embedding_size(&self) -> usize {
        self.info().embedding_size()
    }

    /// Values of a hidden state, which [`Pooling::None`](crate::Pooling::None) returns for each token.
    pub fn hidden_size(&self) -> usize {
        self.info().hidden_size
    }

    /// Whether the model generates text; if not, it computes embeddings or scores.
    pub fn generates_text(&self) -> bool {
        self.check_generates().is_ok()
    }

    /// Checks that the model generates text.
    ///
    /// **Errors**: [`EngineError::NoLogits`].
    pub fn check_generates(&self) -> Result<(), EngineError> {
        self.info().check_logits()
    }

    /// Checks that the model scores inputs with a single value, as rerankers do.
    ///
    /// **Errors**: [`EngineError::NoClassifier`], [`EngineError::SeveralOutputs`].
    pub fn check_reranker(&self) -> Result<(), EngineError> {
        self.core().check_reranker()
    }

    /// What follows the pooling of hidden states.
    pub fn pooled_head(&self) -> &PooledHead {
        &self.info().pooled_head
    }

    /// Descriptions of the devices that compute, in the order of the layers: `cpu (avx2, 2 threads)`.
    pub fn devices(&self) -> &[String] {
        &self.info().devices
    }

    /// Tokens that both model and tokenizer have.
    pub fn vocab_size(&self) -> usize {
        self.info().vocab_size
    }

    fn info(&self) -> &ModelInfo {
        self.core().info()
    }

    /// Creates the senders of one request, by their choice.
    fn senders<'a>(
        &'a self,
        events: &'a mpsc::UnboundedSender<Event>,
        prompt_tokens: usize,
        lane: usize,
    ) -> impl Fn(usize) -> EventSender + use<'a> {
        let (submitted, failed) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        move |choice| {
            let channel = RequestChannel {
                events: events.clone(),
                failed: Arc::clone(&failed),
                engine: Arc::clone(&self.shared.lanes[lane].engine),
                queue_place: None,
            };
            EventSender::to_channel(choice, prompt_tokens, submitted, channel)
        }
    }

    fn choices(
        &self,
        request: &Request,
        events: &mpsc::UnboundedSender<Event>,
        lane: usize,
    ) -> Result<Vec<GenerationTask>, EngineError> {
        let info = self.info();
        let sender = self.senders(events, request.prompt.len(), lane);
        let Request { prompt, generation, num_choices, constraint, .. } = request;
        let detokenizer = info.detokenizer(prompt, generation.skip_special_tokens)?;
        let num_speculative_tokens = self.shared.options.num_speculative_tokens;
        let mut params = GenerationParams { num_speculative_tokens, ..generation.clone() };
        let only_scores_prompt = request.only_scores_prompt();
        if only_scores_prompt {
            params.stop = StopParams::default();
        }
        let scored: Arc<[u32]> = prompt.as_slice().into();
        let mut choices = Vec::with_capacity(*num_choices);
        for index in 0..*num_choices {
            let detokenizer = detokenizer.clone();
            let mut sender = sender(index);
            if request.reports_progress && index == 0 {
                sender.report_progress();
            }
            let mut choice = GenerationTask::new(info, sender, prompt, &params, detokenizer)?;
            params.sampling.seed = Some(choice.seed().wrapping_add(1));
            if let Some(constraint) = constraint {
                let core = &self.shared.lanes[lane].core;
                choice.constrain(core.constraint(constraint.fork())?);
            }
            if let Some(num_top) = request.prompt_logprobs {
                let logprobs = PromptLogprobs::new(Arc::clone(&scored), num_top);
                choice.score_prompt(logprobs, only_scores_prompt);
            }
            choices.push(choice);
        }
        Ok(choices)
    }
}

impl fmt::Debug for EngineHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineHandle").field("options", &self.options()).finish_non_exhaustive()
    }
}
