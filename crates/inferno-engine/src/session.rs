//! One conversation with a model.
//!
//! Invariant: the session's tokens are what the model has read and said, and the KV cache holds a
//! prefix of them. A call that fails or is stopped before its first token leaves them as they were;
//! after the first token, what was said stays.

mod cancel;
mod context;
mod generation;
mod prompt;
mod saved_state;
mod speculation;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::sampler::check_tokens;
use crate::state_file;
use crate::{EngineError, Metrics, Runner, SamplingParams, StopParams};
use context::Context;

pub use cancel::CancelHandle;
pub use generation::{Completion, Generation, Step};
pub use prompt::Prompt;

/// How a [`Session`] is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionOptions {
    /// Whether keys and values are kept between steps. Without them every step computes the whole
    /// sequence again, with the same result: the first rung of the ladder.
    pub kv_cache: bool,
    /// What loading the model took, for the metrics.
    pub load_time: Option<Duration>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { kv_cache: true, load_time: None }
    }
}

/// What is asked of one generation.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationParams {
    /// How tokens are chosen.
    pub sampling: SamplingParams,
    /// When to end.
    pub stop: StopParams,
    /// Leaves control tokens out of the text.
    pub skip_special_tokens: bool,
    /// Drafts at most so many tokens a step from what was written before, and computes them in one
    /// pass; 0 drafts none. The text is the same with any number. The runner's batches must take one
    /// token and one row of logits more than that.
    pub num_speculative_tokens: usize,
}

impl Default for GenerationParams {
    fn default() -> Self {
        Self {
            sampling: SamplingParams::default(),
            stop: StopParams::default(),
            skip_special_tokens: true,
            num_speculative_tokens: 0,
        }
    }
}

/// A conversation: tokens, their keys and values, and the model that goes on with them.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use inferno_engine::{EngineError, GenerationParams, Runner, SamplingParams, Session, SessionOptions};
/// use inferno_tokenizer::Tokenizer;
///
/// # fn chat(runner: Box<dyn Runner>, tokenizer: Arc<Tokenizer>) -> Result<(), EngineError> {
/// let mut session = Session::new(runner, tokenizer, SessionOptions::default())?;
/// let params = GenerationParams { sampling: SamplingParams::greedy(), ..Default::default() };
/// for step in session.generate("Once upon a time", &params)? {
///     print!("{}", step?.text);
/// }
/// // The model has read and said all of that; the next prompt comes after it.
/// let answer = session.generate(" And then", &params)?.complete()?;
/// println!("{} ({:?})", answer.text, answer.finish_reason);
/// eprintln!("{}", session.metrics());
/// # Ok(())
/// # }
/// ```
pub struct Session {
    context: Context,
    tokenizer: Arc<Tokenizer>,
    end_of_generation: Vec<u32>,
    vocab_size: usize,
    metrics: Metrics,
}

impl Session {
    /// An empty session.
    ///
    /// **Errors**: [`EngineError::CacheTooSmall`] when the runner's cache does not hold its context.
    pub fn new(
        runner: Box<dyn Runner>,
        tokenizer: Arc<Tokenizer>,
        options: SessionOptions,
    ) -> Result<Self, EngineError> {
        let vocab_size = known_tokens(&*runner, &tokenizer);
        Ok(Self {
            context: Context::new(runner, options.kv_cache)?,
            end_of_generation: end_of_generation(&tokenizer, vocab_size),
            vocab_size,
            tokenizer,
            metrics: Metrics { load_time: options.load_time, ..Metrics::default() },
        })
    }

    /// Everything that the model has read and said, in tokens.
    pub fn tokens(&self) -> &[u32] {
        self.context.tokens()
    }

    /// The most tokens that the session can hold.
    pub fn context_length(&self) -> usize {
        self.context.context_length()
    }

    /// The tokenizer of the model.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    /// What the last call of [`generate`](Self::generate) or [`extend`](Self::extend) took.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Appends `prompt` and goes on from there, one token a step of the iterator.
    ///
    /// At the start of the session a text gets the tokens that the file wants before a text, such as
    /// BOS; control tokens spelled out in a text are read as such. An empty prompt goes on from what
    /// the session holds.
    ///
    /// **Errors**: parameters out of range; [`EngineError::TooManyDrafts`] and
    /// [`EngineError::SpeculationWithoutCache`]; [`EngineError::PromptTooLong`] with all counts,
    /// [`EngineError::EmptyPrompt`], [`EngineError::TokenOutOfRange`]. The session is unchanged then.
    pub fn generate<'s, 'p>(
        &'s mut self,
        prompt: impl Into<Prompt<'p>>,
        params: &GenerationParams,
    ) -> Result<Generation<'s>, EngineError> {
        let started = Instant::now();
        let prompt = self.encode(prompt.into())?;
        self.check_fits(&prompt, 1)?;
        if self.tokens().is_empty() && prompt.is_empty() {
            return Err(EngineError::EmptyPrompt);
        }
        Generation::start(self, &prompt, params, started)
    }

    /// Appends `prompt` and computes it, without generating.
    ///
    /// **Errors**: as [`generate`](Self::generate) gives for the prompt, and a runner that fails. The
    /// session is unchanged then.
    pub fn extend<'p>(&mut self, prompt: impl Into<Prompt<'p>>) -> Result<(), EngineError> {
        let prompt = self.encode(prompt.into())?;
        self.check_fits(&prompt, 0)?;
        self.start_metrics(prompt.len());
        let len = self.tokens().len();
        self.context.extend(&prompt);
        let prefilled = self.prefill();
        if prefilled.is_err() {
            self.context.truncate(len);
        }
        prefilled
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.truncate(0);
    }

    /// Forgets all but the first `num_tokens` tokens; keeps all when there are no more.
    pub fn truncate(&mut self, num_tokens: usize) {
        self.context.truncate(num_tokens);
    }

    /// Writes the conversation with its keys and values to a file, whole or not at all. On Unix only
    /// its owner may read it. A saved session that is there already is replaced, nothing else.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`], and a device that
    /// fails.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), EngineError> {
        saved_state::save(&self.context, path.as_ref())
    }

    /// Checks that [`save`](Self::save) may write to `path`, before there is anything to lose.
    ///
    /// **Errors**: [`EngineError::StateNotReplaced`], [`EngineError::StateIo`].
    pub fn check_save(path: impl AsRef<Path>) -> Result<(), EngineError> {
        state_file::check_write(path.as_ref(), &saved_state::SAVED_SESSION)
    }

    /// Goes on from a file that [`save`](Self::save) wrote, in place of what the session holds.
    ///
    /// **Errors**: [`EngineError::StateIo`]; [`EngineError::StateDamaged`] and
    /// [`EngineError::StateTruncated`]; [`EngineError::StateVersion`];
    /// [`EngineError::StateOfAnotherModel`]; [`EngineError::StateTooLong`] for this context. The
    /// session is unchanged by these. A file or device that fails while blocks are copied leaves it
    /// empty.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), EngineError> {
        saved_state::load(&mut self.context, self.vocab_size, path.as_ref())
    }

    fn encode(&self, prompt: Prompt<'_>) -> Result<Vec<u32>, EngineError> {
        let tokens = match prompt {
            Prompt::Text(text) => {
                let add_special = self.tokens().is_empty();
                let options = EncodeOptions { add_special, parse_special: true };
                self.tokenizer.encode(text, options)
            }
            Prompt::Tokens(tokens) => tokens.to_vec(),
        };
        check_tokens("the prompt", tokens.iter().copied(), self.vocab_size)?;
        Ok(tokens)
    }

    /// Refuses a prompt after which fewer than `room` tokens fit.
    fn check_fits(&self, prompt: &[u32], room: usize) -> Result<(), EngineError> {
        let (session_tokens, prompt_tokens) = (self.tokens().len(), prompt.len());
        let context_length = self.context_length();
        if session_tokens + prompt_tokens + room > context_length {
            return Err(EngineError::PromptTooLong {
                prompt_tokens,
                session_tokens,
                room,
                context_length,
            });
        }
        Ok(())
    }

    fn prefill(&mut self) -> Result<(), EngineError> {
        while let Some(pass) = self.context.run_chunk()? {
            self.metrics.prefill_passes.record(pass.num_tokens, pass.duration);
        }
        Ok(())
    }

    fn start_metrics(&mut self, prompt_tokens: usize) {
        let load_time = self.metrics.load_time;
        self.metrics = Metrics { load_time, prompt_tokens, ..Metrics::default() };
    }
}

/// Tokens that both model and tokenizer have. Models often have more, to fill up rows.
pub(crate) fn known_tokens(runner: &dyn Runner, tokenizer: &Tokenizer) -> usize {
    runner.vocab_size().min(tokenizer.vocab_size())
}

/// Those of the first `vocab_size` tokens that end a text.
pub(crate) fn end_of_generation(tokenizer: &Tokenizer, vocab_size: usize) -> Vec<u32> {
    let known = 0..u32::try_from(vocab_size).unwrap_or(u32::MAX);
    known.filter(|&id| tokenizer.is_end_of_generation(id)).collect()
}
