//! One conversation with a model, computed in the caller's thread.
//!
//! Invariant: the session's tokens are what the model has read and generated, and the core computed a
//! prefix of them. A call that fails or is stopped before its first token leaves them unchanged;
//! after the first token, the generated tokens stay.

mod cancel;
mod generation;
mod prompt;
mod saved_state;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::core::{EventQueue, EventSender, ModelInfo, PassRecord, SequenceTask};
use crate::scheduler::SequenceId;
use crate::state_file;
use crate::{EngineError, Event, GenerationCore, GenerationParams, Metrics, TokenConstraint};

pub use cancel::CancelHandle;
pub use generation::{Completion, Generation, GenerationStep};
pub use prompt::Prompt;

/// Configures a [`Session`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionOptions {
    /// Whether keys and values are cached between steps. Without them every step computes the whole
    /// sequence again, with the same result. Used as the baseline of `inferno bench --ladder`.
    pub kv_cache: bool,
    /// How long loading the model took, for the metrics.
    pub load_time: Option<Duration>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { kv_cache: true, load_time: None }
    }
}

/// A conversation: tokens, their keys and values, and the model that continues them.
///
/// Sessions of one [`GenerationCore`] may be used from several threads: they share batches and the
/// prefix cache, and each generates what it would alone.
///
/// ```no_run
/// use inferno_engine::{
///     EngineError, GenerationCore, GenerationParams, SamplingParams, Session, SessionOptions,
/// };
///
/// # fn chat(core: GenerationCore) -> Result<(), EngineError> {
/// let mut session = Session::new(core, SessionOptions::default())?;
/// let params = GenerationParams { sampling: SamplingParams::greedy(), ..Default::default() };
/// for step in session.generate("Once upon a time", &params)? {
///     print!("{}", step?.text);
/// }
/// // The model has read and generated all of that; the next prompt continues it.
/// let answer = session.generate(" And then", &params)?.complete()?;
/// println!("{} ({:?})", answer.text, answer.finish_reason);
/// eprintln!("{}", session.metrics());
/// # Ok(())
/// # }
/// ```
pub struct Session {
    core: GenerationCore,
    /// The sequence in the core; its tokens follow those below when it is used.
    sequence: SequenceId,
    tokens: Vec<u32>,
    kv_cache: bool,
    metrics: Metrics,
}

impl Session {
    /// Creates an empty session.
    ///
    /// **Errors**: [`EngineError::CacheTooSmall`] when the KV cache does not hold one context,
    /// [`EngineError::EngineStopped`].
    pub fn new(core: GenerationCore, options: SessionOptions) -> Result<Self, EngineError> {
        core.info().check_logits()?;
        core.info().check_cache()?;
        let sequence = core.lock()?.open(options.kv_cache);
        let devices = core.info().devices.clone();
        Ok(Self {
            core,
            sequence,
            tokens: Vec::new(),
            kv_cache: options.kv_cache,
            metrics: Metrics { devices, load_time: options.load_time, ..Metrics::default() },
        })
    }

    /// Returns all tokens that the model has read and generated.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns the maximum number of tokens of the session.
    pub fn context_length(&self) -> usize {
        self.info().context_length
    }

    /// Returns the number of tokens that can be sampled.
    pub fn vocab_size(&self) -> usize {
        self.info().vocab_size
    }

    /// Returns the tokenizer of the model.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        self.core.tokenizer()
    }

    /// Returns the measurements of the last call of [`generate`](Self::generate) or
    /// [`extend`](Self::extend).
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Appends `prompt` and continues it, one token for each step of the iterator.
    ///
    /// At the start of the session, text is preceded by the tokens that the file requires, such as
    /// BOS; control tokens spelled out in text are parsed as such. An empty prompt continues the
    /// tokens of the session.
    ///
    /// **Errors**: parameters out of range; [`EngineError::TooManyDrafts`] and
    /// [`EngineError::SpeculationWithoutCache`]; [`EngineError::PromptTooLong`] with all counts,
    /// [`EngineError::EmptyPrompt`], [`EngineError::TokenOutOfRange`]. The session is unchanged then.
    pub fn generate<'s, 'p>(
        &'s mut self,
        prompt: impl Into<Prompt<'p>>,
        params: &GenerationParams,
    ) -> Result<Generation<'s>, EngineError> {
        self.start(prompt.into(), params, None)
    }

    /// Generates as [`generate`](Self::generate) does, only tokens that `constraint` allows.
    ///
    /// **Errors**: as [`generate`](Self::generate). A constraint that fails ends the generation with
    /// [`EngineError::Constraint`].
    pub fn generate_constrained<'s, 'p>(
        &'s mut self,
        prompt: impl Into<Prompt<'p>>,
        params: &GenerationParams,
        constraint: Box<dyn TokenConstraint>,
    ) -> Result<Generation<'s>, EngineError> {
        self.start(prompt.into(), params, Some(constraint))
    }

    fn start(
        &mut self,
        prompt: Prompt<'_>,
        params: &GenerationParams,
        constraint: Option<Box<dyn TokenConstraint>>,
    ) -> Result<Generation<'_>, EngineError> {
        let started = Instant::now();
        let prompt = self.encode(prompt)?;
        self.info().check_fits(self.tokens.len(), prompt.len(), 1)?;
        if self.tokens.is_empty() && prompt.is_empty() {
            return Err(EngineError::EmptyPrompt);
        }
        self.check_speculation(params.num_speculative_tokens)?;
        Generation::start(self, &prompt, params, constraint, started)
    }

    /// Appends `prompt` and computes it, without generating.
    ///
    /// **Errors**: as [`generate`](Self::generate) for the prompt, and a runner that fails. The session
    /// is unchanged then.
    pub fn extend<'p>(&mut self, prompt: impl Into<Prompt<'p>>) -> Result<(), EngineError> {
        self.extend_unless_cancelled(prompt, |_| false).map(drop)
    }

    /// Appends `prompt` and computes it, as [`extend`](Self::extend) does. Between the forward passes, `is_cancelled`
    /// receives the number of prompt tokens computed so far; if it returns true, no further pass starts. Returns whether
    /// the whole prompt was computed; if not, the session is unchanged.
    ///
    /// **Errors**: as [`extend`](Self::extend).
    pub fn extend_unless_cancelled<'p>(
        &mut self,
        prompt: impl Into<Prompt<'p>>,
        is_cancelled: impl FnMut(usize) -> bool,
    ) -> Result<bool, EngineError> {
        let prompt = self.encode(prompt.into())?;
        let len = self.tokens.len();
        self.info().check_fits(len, prompt.len(), 0)?;
        self.tokens.extend(prompt);
        self.start_metrics();
        let prefilled = match self.tokens.is_empty() {
            true => Ok(true),
            false => self.prefill(is_cancelled),
        };
        if !matches!(prefilled, Ok(true)) {
            self.tokens.truncate(len);
        }
        prefilled
    }

    /// Removes all tokens.
    pub fn reset(&mut self) {
        self.truncate(0);
    }

    /// Removes all but the first `num_tokens` tokens; no effect if there are no more.
    pub fn truncate(&mut self, num_tokens: usize) {
        self.tokens.truncate(num_tokens);
        // A core that has stopped holds nothing that could be released.
        if let Ok(mut state) = self.core.lock() {
            state.set_tokens(self.sequence, &self.tokens);
        }
    }

    /// Writes the conversation with its keys and values to a file, whole or not at all. On Unix only
    /// its owner may read it. An existing saved session is replaced, no other file.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`],
    /// [`EngineError::EngineStopped`], a device that fails.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), EngineError> {
        self.core.observed(saved_state::save(self, path.as_ref()))
    }

    /// Checks that [`save`](Self::save) may write to `path`, before there is anything to lose.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`].
    pub fn check_save(path: impl AsRef<Path>) -> Result<(), EngineError> {
        state_file::check_write(path.as_ref(), &saved_state::SAVED_SESSION)
    }

    /// Replaces the conversation with one that [`save`](Self::save) wrote.
    ///
    /// **Errors**: [`EngineError::StateIo`]; [`EngineError::StateDamaged`] and
    /// [`EngineError::StateTruncated`]; [`EngineError::StateVersion`];
    /// [`EngineError::StateOfAnotherModel`]; [`EngineError::StateOfAnotherFormat`]; [`EngineError::StateTooLong`] for this context. The
    /// session is unchanged by these. A file or device that fails while blocks are copied leaves it
    /// empty.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), EngineError> {
        let loaded = saved_state::load(self, path.as_ref());
        self.core.observed(loaded)
    }

    fn info(&self) -> &ModelInfo {
        self.core.info()
    }

    fn encode(&self, prompt: Prompt<'_>) -> Result<Vec<u32>, EngineError> {
        let tokens = match prompt {
            Prompt::Text(text) => {
                let add_special = self.tokens.is_empty();
                let options = EncodeOptions { add_special, parse_special: true };
                self.tokenizer().encode(text, options)
            }
            Prompt::Tokens(tokens) => tokens.to_vec(),
        };
        self.info().check_known(&tokens)?;
        Ok(tokens)
    }

    /// Checks that passes may have `num_drafts` drafts.
    fn check_speculation(&self, num_drafts: usize) -> Result<(), EngineError> {
        let limits = self.info().limits;
        let limit = limits.max_num_tokens.min(limits.max_num_logit_rows).saturating_sub(1);
        match num_drafts {
            _ if !self.kv_cache && self.core.draft_options().is_some() => {
                Err(EngineError::SpeculationWithoutCache)
            }
            0 => Ok(()),
            _ if !self.kv_cache => Err(EngineError::SpeculationWithoutCache),
            asked_for if asked_for > limit => Err(EngineError::TooManyDrafts { asked_for, limit }),
            _ => Ok(()),
        }
    }

    /// Prepares `task` for all tokens of the session.
    fn begin(&mut self, task: SequenceTask) -> Result<(), EngineError> {
        self.sequence = self.core.lock()?.begin(self.sequence, &self.tokens, task);
        Ok(())
    }

    /// Computes the session's tokens, and returns whether it was not cancelled.
    fn prefill(&mut self, is_cancelled: impl FnMut(usize) -> bool) -> Result<bool, EngineError> {
        self.begin(SequenceTask::Prefill(EventSender::to_queue(self.tokens.len())))?;
        let mut queue = EventQueue::default();
        let stepped = self.core.next_events(self.sequence, &mut queue, is_cancelled);
        self.core.finish(self.sequence);
        for pass in queue.passes.drain(..) {
            self.metrics.prefill_passes.record(pass.num_tokens, pass.duration);
        }
        match queue.events.pop_front().map(|queued| queued.event) {
            Some(Event::Failed(error)) => Err(EngineError::from_shared(error)),
            event => stepped.map(|()| event.is_some()),
        }
    }

    /// Starts the measurements of a call whose prompt are all tokens of the session.
    fn start_metrics(&mut self) {
        let prompt_tokens = self.tokens.len();
        let Metrics { devices, load_time, .. } = std::mem::take(&mut self.metrics);
        self.metrics = Metrics { devices, load_time, prompt_tokens, ..Metrics::default() };
    }

    fn record_pass(&mut self, pass: PassRecord) {
        let metrics = &mut self.metrics;
        let passes = match metrics.generated_tokens {
            0 => &mut metrics.prefill_passes,
            _ => &mut metrics.decode_passes,
        };
        passes.record(pass.num_tokens, pass.duration);
        metrics.drafted_tokens += pass.num_drafts;
        metrics.accepted_tokens += pass.num_accepted;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Ok(mut state) = self.core.lock() {
            state.close(self.sequence);
        }
    }
}
