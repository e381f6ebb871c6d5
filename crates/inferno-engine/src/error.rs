//! What can go wrong while generating.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use inferno_backend::BackendError;
use inferno_gguf::GgufError;
use inferno_model::ModelError;
use inferno_tokenizer::TokenizerError;

use crate::ConstraintError;

/// Why a context holds less than it could, and what to do.
fn what_is_taken(session_tokens: usize, room: usize) -> String {
    let answer = if room > 0 { ", prompt and answer together" } else { "" };
    match session_tokens {
        0 => format!("{answer}; shorten the prompt or take a larger context"),
        taken => format!(
            "{answer}, of which the session has taken {taken}; shorten the prompt, reset the session or take a larger \
             context"
        ),
    }
}

/// Checks the length of a list that every choice of a request keeps, and each of its tokens is held against.
///
/// **Errors**: [`EngineError::ListTooLong`].
pub(crate) fn check_list(
    field: &'static str,
    unit: &'static str,
    given: usize,
    limit: usize,
) -> Result<(), EngineError> {
    match given > limit {
        true => Err(EngineError::ListTooLong { field, unit, given, limit }),
        false => Ok(()),
    }
}

/// Why a request was refused, or a step failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A sampling parameter is outside its range.
    #[error("{field} must be {range}, but is {value}")]
    ParamOutOfRange {
        /// The parameter.
        field: &'static str,
        /// What it may be, in words.
        range: &'static str,
        /// What it was.
        value: f32,
    },
    /// The model's file recommends a sampling parameter that is outside its range.
    #[error("the model's file recommends {value} in its key {key}, expected {range}")]
    RecommendationOutOfRange {
        /// The key.
        key: &'static str,
        /// What it may be, in words.
        range: &'static str,
        /// What it is.
        value: f32,
    },
    /// A request names a token that the vocabulary does not have.
    #[error(
        "{field} names token {token}, but the vocabulary has {vocab_size} tokens, counted from 0"
    )]
    TokenOutOfRange {
        /// The part of the request.
        field: &'static str,
        /// The id that was given.
        token: u32,
        /// Tokens in the vocabulary.
        vocab_size: usize,
    },
    /// A row of logits does not have one value a token.
    #[error("the model gave {found} logits for a vocabulary of {expected} tokens")]
    LogitsLength {
        /// Tokens in the vocabulary.
        expected: usize,
        /// Logits that came.
        found: usize,
    },
    /// The model computed a logit that is not a number, or infinite.
    #[error(
        "the model gave {value} as the logit of token {token}; its weights may be damaged, or overflow in this format"
    )]
    NonFiniteLogit {
        /// The token.
        token: usize,
        /// Its logit.
        value: f32,
    },
    /// The model gave a hidden state that is no number.
    #[error(
        "the hidden state of token {position} is not finite; the weights may be damaged, or overflow in this format"
    )]
    NonFiniteState {
        /// The token's place in the text, from 0.
        position: usize,
    },
    /// The model's file asks for a way to pool hidden states that is not known.
    #[error(
        "the file asks for pooling type {found}, but only 1 (mean) and 3 (last) are known; choose the pooling by hand"
    )]
    Pooling {
        /// The number in the file.
        found: u32,
    },
    /// Every token of the vocabulary is forbidden at this step.
    #[error("no token may follow: all of the vocabulary is forbidden here")]
    NoCandidates,
    /// A request asks for no tokens at all.
    #[error(
        "max_tokens must be 1 or more, but is 0; to read a prompt without an answer, extend the session"
    )]
    MaxTokensZero,
    /// A request asks for more tokens than it allows.
    #[error("min_tokens is {min_tokens}, which is more than max_tokens, {max_tokens}")]
    MinTokensAboveMax {
        /// The least number of tokens.
        min_tokens: usize,
        /// The greatest.
        max_tokens: usize,
    },
    /// A stop string holds no character, and would end every text.
    #[error("stop string {index} is empty; leave it out")]
    EmptyStopString {
        /// Its place in the list, from 0.
        index: usize,
    },
    /// A list of a request is longer than any use of it.
    #[error("{field} has {given} {unit}, but {limit} is the most")]
    ListTooLong {
        /// The list.
        field: &'static str,
        /// What is counted.
        unit: &'static str,
        /// How many were given.
        given: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The prompt does not fit the context.
    #[error(
        "the prompt has {prompt_tokens} tokens, but the context holds {context_length}{}",
        what_is_taken(*session_tokens, *room)
    )]
    PromptTooLong {
        /// Tokens of the prompt.
        prompt_tokens: usize,
        /// Tokens that the session holds already.
        session_tokens: usize,
        /// Tokens that must fit after the prompt: 1 where something is to be generated.
        room: usize,
        /// Tokens that the context holds.
        context_length: usize,
    },
    /// The rest of a generation was asked for that had ended by an error.
    #[error(
        "the generation failed at an earlier step, which gave the error; nothing can follow it"
    )]
    GenerationFailed,
    /// Drafts were asked for where each step computes everything again.
    #[error("speculative decoding needs the KV cache; keep keys and values, or draft no tokens")]
    SpeculationWithoutCache,
    /// More drafts were asked for than a batch of the runner's takes.
    #[error(
        "{asked_for} speculative tokens were asked for, but the runner's batches take from 0 to {limit}"
    )]
    TooManyDrafts {
        /// Drafts asked for.
        asked_for: usize,
        /// Drafts that fit a batch, and its rows of logits.
        limit: usize,
    },
    /// There is nothing to go on from.
    #[error("the prompt is empty, and so is the session; give at least one token")]
    EmptyPrompt,
    /// The model was not made for so long a context.
    #[error("a context of {asked_for} tokens was asked for, but the model takes from 1 to {limit}")]
    ContextTooLong {
        /// Tokens asked for.
        asked_for: usize,
        /// Tokens that the model was made for.
        limit: usize,
    },
    /// The KV cache does not hold the context that the runner promises.
    #[error("the KV cache holds {cache_tokens} tokens, fewer than the context of {context_length}")]
    CacheTooSmall {
        /// Tokens that the cache holds.
        cache_tokens: usize,
        /// Tokens of the context.
        context_length: usize,
    },
    /// The KV cache has fewer free blocks than are needed.
    #[error("{needed} KV blocks are needed, but only {free} are free")]
    OutOfBlocks {
        /// Blocks needed.
        needed: usize,
        /// Blocks that are free.
        free: usize,
    },
    /// More sequences were to run together than a batch of the runner's takes.
    #[error(
        "{asked_for} sequences cannot run together: the runner's batches take from 1 to {limit}, and a token more"
    )]
    BatchLimits {
        /// Sequences asked for.
        asked_for: usize,
        /// Sequences that fit a batch, and its rows of logits.
        limit: usize,
    },
    /// No request may wait, so that none would ever be taken.
    #[error("max_num_waiting must be 1 or more, but is 0; every request waits for its first step")]
    NoQueue,
    /// A request asks for no answer, or for too many.
    #[error("{asked_for} choices were asked for, but a request has from 1 to {limit}")]
    NumChoices {
        /// Choices asked for.
        asked_for: usize,
        /// Choices that a request may have.
        limit: usize,
    },
    /// What limits the next token cannot go on.
    #[error("the grammar cannot go on: {0}")]
    Constraint(#[from] ConstraintError),
    /// A step failed for several sequences at once.
    #[error(transparent)]
    Shared(Arc<EngineError>),
    /// The engine's thread has ended, and with it what it computed.
    #[error("the engine has stopped")]
    EngineStopped,
    /// The engine's thread could not be started.
    #[error("cannot start the engine's thread: {0}")]
    Thread(#[source] io::Error),
    /// Perplexity was asked for over windows that cannot be read.
    #[error(
        "windows of {window} tokens every {stride} cannot be scored: a window takes from 3 to {context_length} tokens (the context), a stride at least 1"
    )]
    Window {
        /// Tokens in a window.
        window: usize,
        /// Tokens from one window's start to the next.
        stride: usize,
        /// Tokens that the context holds.
        context_length: usize,
    },
    /// The text does not fill one window.
    #[error(
        "the text has {found} tokens, but one window takes {window}; give more text or a smaller window"
    )]
    TextTooShort {
        /// Tokens in the text.
        found: usize,
        /// Tokens in a window.
        window: usize,
    },
    /// A saved state could not be read or written.
    #[error("cannot {action} the saved state {path:?}: {source}")]
    StateIo {
        /// The file.
        path: PathBuf,
        /// `read` or `write`.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not a saved state.
    #[error("{path:?} is not {kind}")]
    StateUnknown {
        /// The file.
        path: PathBuf,
        /// What it should be, in words.
        kind: &'static str,
    },
    /// A state was to be saved where there is something else.
    #[error("{path:?} exists and is not {kind}; choose another name, or remove it first")]
    StateNotReplaced {
        /// The file.
        path: PathBuf,
        /// What it should be, in words.
        kind: &'static str,
    },
    /// The saved state was written in a format that this version does not read.
    #[error(
        "the saved state {path:?} has format version {found}, but this program reads version {known}"
    )]
    StateVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that can be read.
        known: u32,
    },
    /// The saved state is shorter than it says.
    #[error(
        "the saved state {path:?} has {found} bytes, but should have {expected}; it was cut off"
    )]
    StateTruncated {
        /// The file.
        path: PathBuf,
        /// Bytes it should have.
        expected: u64,
        /// Bytes it has.
        found: u64,
    },
    /// The saved state is not as it was written.
    #[error("the saved state {path:?} is damaged: {what}")]
    StateDamaged {
        /// The file.
        path: PathBuf,
        /// What does not hold.
        what: &'static str,
    },
    /// The saved state belongs to another model, or to a cache of another format.
    #[error(
        "the saved state {path:?} is of another model or KV format (fingerprint {found:016x}, this one has {expected:016x}); load it with the model and the KV format that it was saved with"
    )]
    StateOfAnotherModel {
        /// The file.
        path: PathBuf,
        /// Fingerprint of this runner.
        expected: u64,
        /// Fingerprint in the file.
        found: u64,
    },
    /// The saved state does not fit the context.
    #[error(
        "the saved state {path:?} holds {num_tokens} tokens, but the context only {context_length}"
    )]
    StateTooLong {
        /// The file.
        path: PathBuf,
        /// Tokens in the file.
        num_tokens: u64,
        /// Tokens that the context holds.
        context_length: usize,
    },
    /// A metadata key of the model's file is not what it should be.
    #[error(transparent)]
    Metadata(#[from] GgufError),
    /// The tokenizer refused.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The model refused or failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The backend refused or failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl EngineError {
    /// Unwraps an error that several sequences may share.
    pub(crate) fn from_shared(error: Arc<Self>) -> Self {
        Arc::try_unwrap(error).unwrap_or_else(Self::Shared)
    }
}
