//! The front door: a file, and conversations with the model in it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use inferno_cpu::Roofs;
use inferno_engine::{Runner, Session, SessionOptions};
use inferno_gguf::Gguf;
use inferno_model::{Config, LoadProgress};
use inferno_tokenizer::Tokenizer;

use crate::{Error, LoadEstimate, LoadOptions, embedded, load};

/// A model in a GGUF file: what the header says is read, weights are loaded when a session begins.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3.gguf");
/// use inferno::{GenerationParams, Model, SamplingParams, StopParams};
///
/// let mut session = Model::open(path)?.session()?;
/// let params = GenerationParams {
///     sampling: SamplingParams::greedy(),
///     stop: StopParams { max_tokens: Some(8), ..Default::default() },
///     ..Default::default()
/// };
/// for step in session.generate("Once upon a time", &params)? {
///     print!("{}", step?.text);
/// }
/// # assert_eq!(session.metrics().generated_tokens, 8);
/// # Ok::<(), inferno::Error>(())
/// ```
pub struct Model {
    checkpoint: Gguf,
    options: LoadOptions,
}

impl Model {
    /// Opens a GGUF file, or a split one by any of its shards.
    ///
    /// **Errors**: a file that cannot be read or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Gguf::open(path)?.into())
    }

    /// Opens Ember, the small model inside the program; it is used where it lies, with no copy on the disk or in memory.
    ///
    /// ```
    /// use inferno::{GenerationParams, Model, SamplingParams, StopParams};
    ///
    /// # if cfg!(not(feature = "embedded-model")) {
    /// #     return Ok(());
    /// # }
    /// let mut session = Model::embedded()?.session()?;
    /// let params = GenerationParams {
    ///     sampling: SamplingParams::greedy(),
    ///     stop: StopParams { max_tokens: Some(16), ..Default::default() },
    ///     ..Default::default()
    /// };
    /// for step in session.generate("Once upon a time", &params)? {
    ///     print!("{}", step?.text);
    /// }
    /// # assert_eq!(session.metrics().generated_tokens, 16);
    /// # Ok::<(), inferno::Error>(())
    /// ```
    ///
    /// **Errors**: [`Error::NoModel`] in a build without the feature `embedded-model`.
    pub fn embedded() -> Result<Self, Error> {
        Ok(embedded::checkpoint()?.into())
    }

    /// Sets how sessions are loaded.
    pub fn with_options(mut self, options: LoadOptions) -> Self {
        self.options = options;
        self
    }

    /// The file.
    pub fn checkpoint(&self) -> &Gguf {
        &self.checkpoint
    }

    /// How sessions are loaded.
    pub(crate) fn options(&self) -> &LoadOptions {
        &self.options
    }

    /// The model's hyperparameters.
    ///
    /// **Errors**: an unknown architecture, metadata that makes no sense.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        Ok(Config::from_checkpoint(&self.checkpoint)?)
    }

    /// Builds the tokenizer that the file describes.
    ///
    /// **Errors**: a file without a tokenizer, or with one that is not known.
    pub fn tokenizer(&self) -> Result<Tokenizer, Error> {
        Ok(Tokenizer::from_metadata(self.checkpoint.metadata())?)
    }

    /// Positions that a session of this model would have.
    ///
    /// **Errors**: an unknown architecture, metadata that makes no sense, a context longer than the model's.
    pub fn context_length(&self) -> Result<usize, Error> {
        load::context_length(&self.config()?, &self.options)
    }

    /// The memory that a session would take, and what it would run on. Nothing is loaded.
    ///
    /// **Errors**: as [`runner`](Self::runner), as far as the header shows it.
    pub fn estimate(&self) -> Result<LoadEstimate, Error> {
        load::estimate(&self.checkpoint, &self.options)
    }

    /// What the machine can do at most with the backend and the threads of these options; `None` where the backend
    /// does not aim at it.
    ///
    /// **Errors**: a backend that is not there; no memory for sweeps over `sweep_bytes`.
    pub(crate) fn roofs(&self, sweep_bytes: usize) -> Result<Option<Roofs>, Error> {
        load::roofs(&self.options, sweep_bytes)
    }

    /// Loads the weights, for programs that batch on their own. `on_progress` is called after each tensor.
    ///
    /// **Errors**: an unknown architecture; metadata that makes no sense; a tensor that is missing, misshapen or in a
    /// format that cannot be computed; a backend that is not there; no memory.
    pub fn runner(
        &self,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        load::runner(&self.checkpoint, &self.options, on_progress)
    }

    /// Loads the weights and begins a conversation.
    ///
    /// **Errors**: as [`runner`](Self::runner) and [`tokenizer`](Self::tokenizer).
    pub fn session(&self) -> Result<Session, Error> {
        self.session_with(true, &mut |_| {})
    }

    /// As [`session`](Self::session), with progress. Without `kv_cache` every step computes the whole text again.
    ///
    /// **Errors**: as [`session`](Self::session).
    pub fn session_with(
        &self,
        kv_cache: bool,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Session, Error> {
        let started = Instant::now();
        let tokenizer = Arc::new(self.tokenizer()?);
        let runner = self.runner(on_progress)?;
        let options = SessionOptions { kv_cache, load_time: Some(started.elapsed()) };
        Ok(Session::new(runner, tokenizer, options)?)
    }
}

impl From<Gguf> for Model {
    /// Takes a checkpoint that is open already, perhaps in memory.
    fn from(checkpoint: Gguf) -> Self {
        Self { checkpoint, options: LoadOptions::default() }
    }
}
