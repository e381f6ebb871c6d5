//! The generation core: the one loop from tokens to events, shared by engines and sessions.
//!
//! A [`GenerationCore`] owns a runner, its KV cache and all sequences that are computed on it. Its drivers lock
//! and step it: an engine's thread for its requests, a session in its caller's thread. A step advances
//! every runnable sequence of every driver, so that all of them share batches, blocks and the prefix
//! cache.
//!
//! Invariant: a sequence of a session is runnable only while its caller waits for a token.

mod constraint;
mod constraint_workers;
mod draft_model;
mod drafter;
mod embedding;
mod event;
mod event_sender;
mod generation;
mod logits;
mod model_info;
mod params;
mod pooling;
mod prefill_pacing;
mod prompt_logprobs;
mod prompt_lookup;
mod saved_prefixes;
mod scoring;
mod snapshot;
mod state;
mod task;
mod text_stream;
mod thread_time;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inferno_tokenizer::Tokenizer;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::mpsc;

use crate::{
    CacheEvent, EngineError, FinishReason, Runner, Scheduler, SchedulerLimits, SequenceId,
    TokenConstraint, state_file,
};
use constraint::Constraint;
use constraint_workers::ConstraintWorkers;
use state::CoreState;

pub use draft_model::{DraftCounts, DraftModel, DraftOptions};
pub use event::{Event, Finished, ProgressEvent, PromptEvent, Timings, TokenEvent};
pub use params::GenerationParams;
pub use pooling::{EmbeddingForm, Pooling};
pub use prefill_pacing::PrefillPacing;
pub use snapshot::{EngineSnapshot, StepTokens};

pub(crate) use embedding::EmbeddingTask;
pub(crate) use event_sender::{EventQueue, EventSender, PassRecord, QueuedEvent, RequestChannel};
pub(crate) use generation::GenerationTask;
pub(crate) use logits::LogitsTask;
pub(crate) use model_info::ModelInfo;
pub(crate) use prompt_logprobs::PromptLogprobs;
pub(crate) use scoring::ScoringTask;
pub(crate) use task::SequenceTask;

/// Configures a [`GenerationCore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreOptions {
    /// Maximum number of sequences computed together; `None` for as many as the runner's batches hold.
    pub max_num_sequences: Option<usize>,
    /// Whether prompts reuse the blocks of earlier ones that begin with the same tokens.
    pub prefix_cache: bool,
    /// Target for the time between two tokens of running streams while prompts are computed, which are then
    /// computed in smaller chunks; `None` for the largest chunks. Outputs are the same with any value.
    pub target_itl: Option<Duration>,
}

impl Default for CoreOptions {
    fn default() -> Self {
        Self { max_num_sequences: None, prefix_cache: true, target_itl: None }
    }
}

/// A model on a device with its scheduler, KV blocks and prefix cache, shared by any number of
/// [`Session`](crate::Session)s and [`Engine`](crate::Engine)s. Cloning it is cheap.
#[derive(Clone)]
pub struct GenerationCore {
    shared: Arc<Shared>,
}

struct Shared {
    info: ModelInfo,
    options: CoreOptions,
    draft_options: Option<DraftOptions>,
    has_prediction_head: bool,
    constraint_workers: ConstraintWorkers,
    state: Mutex<CoreState>,
    /// A copy for readers that must not wait for a forward pass.
    snapshot: Mutex<EngineSnapshot>,
    /// A step panicked, so what the state holds can no longer be relied on; or the device is lost.
    is_broken: AtomicBool,
}

impl GenerationCore {
    /// Creates a core that owns `runner`.
    ///
    /// **Errors**: [`EngineError::BatchLimits`] when the runner's batches do not hold
    /// `max_num_sequences`.
    pub fn new(
        runner: Box<dyn Runner>,
        tokenizer: Arc<Tokenizer>,
        options: CoreOptions,
    ) -> Result<Self, EngineError> {
        Self::with_draft_model(runner, tokenizer, options, None)
    }

    /// Creates a core that owns `runner`, for which a smaller model drafts tokens if there is one. Outputs are the same with
    /// any draft model and without one.
    ///
    /// **Errors**: as [`new`](Self::new).
    pub fn with_draft_model(
        runner: Box<dyn Runner>,
        tokenizer: Arc<Tokenizer>,
        options: CoreOptions,
        draft_model: Option<DraftModel>,
    ) -> Result<Self, EngineError> {
        let (limits, layout) = (runner.limits(), runner.kv_layout().clone());
        let limit = runner.max_num_sequences();
        let max_num_sequences = options.max_num_sequences.unwrap_or(limit);
        if max_num_sequences == 0 || max_num_sequences > limit || limits.max_num_tokens == 0 {
            return Err(EngineError::BatchLimits { asked_for: max_num_sequences, limit });
        }
        let scheduler = Scheduler::new(SchedulerLimits {
            num_blocks: layout.num_blocks,
            block_tokens: layout.block_tokens,
            max_num_sequences,
            max_num_batched_tokens: limits.max_num_tokens,
            max_num_logit_rows: limits.max_num_logit_rows,
            prefix_cache: options.prefix_cache && runner.is_causal(),
            whole_prompts: !runner.is_causal(),
            num_state_slots: runner.state_layout().map_or(0, |layout| layout.num_slots),
            window: layout.window,
        });
        let info = ModelInfo::new(&*runner, tokenizer);
        let draft_options = draft_model.as_ref().map(|model| model.options);
        let has_prediction_head =
            draft_model.as_ref().is_some_and(|model| model.runner.reads_hidden_rows());
        let target_itl = options.target_itl;
        let state = CoreState::new(runner, scheduler, info.vocab_size, target_itl, draft_model);
        let snapshot = Mutex::new(state.snapshot());
        let shared = Shared {
            info,
            options,
            draft_options,
            has_prediction_head,
            constraint_workers: ConstraintWorkers::default(),
            state: Mutex::new(state),
            snapshot,
            is_broken: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the options of the core.
    pub fn options(&self) -> CoreOptions {
        self.shared.options
    }

    /// Returns how the draft model drafts; `None` without one.
    pub fn draft_options(&self) -> Option<DraftOptions> {
        self.shared.draft_options
    }

    /// Whether a prediction head of the model drafts tokens, instead of a model of its own.
    pub fn has_prediction_head(&self) -> bool {
        self.shared.has_prediction_head
    }

    /// Returns the tokenizer of the model.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.shared.info.tokenizer
    }

    /// Returns the number of tokens that both the model and the tokenizer have.
    pub fn vocab_size(&self) -> usize {
        self.shared.info.vocab_size
    }

    /// Returns the state of the core after its last step. Never waits for a forward pass.
    pub fn snapshot(&self) -> EngineSnapshot {
        *self.shared.snapshot.lock()
    }

    /// Returns the pooling of the model if its file sets none.
    pub fn default_pooling(&self) -> Pooling {
        self.info().default_pooling()
    }

    /// Checks that the model scores inputs with a single value, as rerankers do.
    ///
    /// **Errors**: [`EngineError::NoClassifier`], [`EngineError::SeveralOutputs`].
    pub fn check_reranker(&self) -> Result<(), EngineError> {
        self.info().check_reranker()
    }

    /// Computes the embedding of `tokens`, a vector of length 1, in the caller's thread.
    ///
    /// **Errors**: [`EngineError::EmptyPrompt`], [`EngineError::PromptTooLong`],
    /// [`EngineError::TokenOutOfRange`], [`EngineError::NoClassifier`], a runner that fails.
    pub fn embed(&self, tokens: &[u32], pooling: Pooling) -> Result<Vec<f32>, EngineError> {
        self.info().check_prompt(tokens, 0)?;
        let sender = EventSender::to_queue(tokens.len());
        let task = EmbeddingTask::new(sender, pooling, EmbeddingForm::default(), self.info())?;
        let rows = task.rows();
        let id = self.lock()?.add(tokens, rows, 0, None, SequenceTask::Embedding(task));
        let mut queue = EventQueue::default();
        let stepped = self.next_events(id, &mut queue, |_| false);
        self.finish(id);
        stepped?;
        match queue.events.pop_front().map(|queued| queued.event) {
            Some(Event::Embedding(vector)) => Ok(vector),
            Some(Event::Failed(error)) => Err(EngineError::from_shared(error)),
            _ => Err(EngineError::EngineStopped),
        }
    }

    /// Writes the prefix cache to a file, whole or not at all, and returns the number of blocks. Waits for
    /// the step in progress. On Unix only the owner may read the file. An existing prefix cache is
    /// replaced, no other file.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`],
    /// [`EngineError::EngineStopped`], a device that fails.
    pub fn save_prefixes(&self, path: impl AsRef<Path>) -> Result<usize, EngineError> {
        let mut state = self.lock()?;
        self.observed(saved_prefixes::save(&mut state, path.as_ref()))
    }

    /// Checks that [`save_prefixes`](Self::save_prefixes) may write to `path`.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`].
    pub fn check_save_prefixes(path: impl AsRef<Path>) -> Result<(), EngineError> {
        state_file::check_write(path.as_ref(), &saved_prefixes::SAVED_PREFIXES)
    }

    /// Loads what [`save_prefixes`](Self::save_prefixes) wrote into free blocks, the most recently used
    /// blocks first, and returns their number. Waits for the step in progress.
    ///
    /// **Errors**: [`EngineError::StateIo`], [`EngineError::StateUnknown`],
    /// [`EngineError::StateDamaged`], [`EngineError::StateTruncated`], [`EngineError::StateVersion`],
    /// [`EngineError::StateOfAnotherModel`], [`EngineError::StateOfAnotherFormat`],
    /// [`EngineError::EngineStopped`]. Nothing of the file is used then.
    pub fn load_prefixes(&self, path: impl AsRef<Path>) -> Result<usize, EngineError> {
        let mut state = self.lock()?;
        let loaded = saved_prefixes::load(&mut state, path.as_ref());
        state.send_cache_events();
        *self.shared.snapshot.lock() = state.snapshot();
        self.observed(loaded)
    }

    /// Returns a channel that receives the changes of the prefix cache after each step, starting with the blocks that it has.
    /// There is one such channel: a later call ends it.
    ///
    /// **Errors**: [`EngineError::EngineStopped`].
    pub fn cache_events(&self) -> Result<mpsc::UnboundedReceiver<Vec<CacheEvent>>, EngineError> {
        let (observer, events) = mpsc::unbounded_channel();
        self.lock()?.observe_cache(observer);
        Ok(events)
    }

    /// Prepares a constraint for a generation.
    ///
    /// **Errors**: [`EngineError::Thread`].
    pub(crate) fn constraint(
        &self,
        constraint: Box<dyn TokenConstraint>,
    ) -> Result<Constraint, EngineError> {
        Constraint::new(constraint, self.vocab_size(), &self.shared.constraint_workers)
    }

    pub(crate) fn info(&self) -> &ModelInfo {
        &self.shared.info
    }

    /// Whether a step panicked or the device is lost.
    pub(crate) fn is_broken(&self) -> bool {
        self.shared.is_broken.load(Ordering::Relaxed)
    }

    /// Returns `result`; every later use of the core fails if the device is lost.
    pub(crate) fn observed<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if result.as_ref().is_err_and(EngineError::is_device_lost) {
            self.shared.is_broken.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Waits for the step in progress and locks the state.
    ///
    /// **Errors**: [`EngineError::EngineStopped`] after a step that panicked or lost the device.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, CoreState>, EngineError> {
        let state = self.shared.state.lock();
        if self.is_broken() { Err(EngineError::EngineStopped) } else { Ok(state) }
    }

    /// Computes one step for all runnable sequences. A panic of the runner ends every request.
    pub(crate) fn step(&self, state: &mut CoreState) {
        let stepped = catch_unwind(AssertUnwindSafe(|| state.step()));
        if let Err(panic) = stepped {
            self.shared.is_broken.store(true, Ordering::Relaxed);
            state.drop_tasks();
            resume_unwind(panic);
        }
        if state.is_device_lost() {
            self.shared.is_broken.store(true, Ordering::Relaxed);
        }
        state.send_cache_events();
        *self.shared.snapshot.lock() = state.snapshot();
    }

    /// Steps until sequence `id` has events or `is_cancelled` returns true before a step; it receives the
    /// number of tokens computed for the sequence so far. Moves the events and passes so far into `queue`, which is
    /// empty.
    ///
    /// **Errors**: as [`lock`](Self::lock).
    pub(crate) fn next_events(
        &self,
        id: SequenceId,
        queue: &mut EventQueue,
        mut is_cancelled: impl FnMut(usize) -> bool,
    ) -> Result<(), EngineError> {
        let mut state = self.lock()?;
        state.resume(id);
        while !state.has_events(id) && !is_cancelled(state.computed_tokens(id)) {
            // Waiting threads add their sequences to this step first.
            MutexGuard::bump(&mut state);
            if self.is_broken() {
                return Err(EngineError::EngineStopped);
            }
            if !state.has_events(id) {
                self.step(&mut state);
            }
        }
        state.take_events(id, queue);
        MutexGuard::unlock_fair(state);
        Ok(())
    }

    /// Cancels the work for sequence `id`; a session's sequence is parked.
    pub(crate) fn finish(&self, id: SequenceId) {
        if let Ok(mut state) = self.lock() {
            state.finish(id);
        }
    }

    /// Cancels the requests of an engine that stops.
    pub(crate) fn cancel_requests(&self, engine: &Arc<()>) {
        if let Ok(mut state) = self.lock() {
            state.end_requests(FinishReason::Cancelled, |sender| sender.belongs_to(engine));
            *self.shared.snapshot.lock() = state.snapshot();
        }
    }
}
