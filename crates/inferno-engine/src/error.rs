//! Errors of the engine.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use inferno_backend::{BackendError, KvDType};
use inferno_gguf::GgufError;
use inferno_model::ModelError;
use inferno_tokenizer::TokenizerError;

use crate::{ConstraintError, StageError, StoredLogitsError};

/// The names of outputs after their number, if there are any.
fn in_parentheses(labels: &[String]) -> String {
    match labels {
        [] => String::new(),
        labels => format!(" ({})", labels.join(", ")),
    }
}

/// Explains how much of the context is left, and what to do.
fn context_usage(session_tokens: usize, room: usize) -> String {
    let output = if room > 0 { ", including the output" } else { "" };
    match session_tokens {
        0 => format!("{output}; shorten the prompt or use a larger context"),
        used => format!(
            "{output}, of which the session uses {used}; shorten the prompt, reset the session or use a larger context"
        ),
    }
}

/// Checks the length of a list that every choice of a request stores and searches at each token.
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

/// Why a request was rejected, or a step failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A sampling parameter is outside its range.
    #[error("{field} must be {range}, but is {value}")]
    ParamOutOfRange {
        /// The parameter.
        field: &'static str,
        /// The allowed range.
        range: &'static str,
        /// What it was.
        value: f32,
    },
    /// The model's file recommends a sampling parameter that is outside its range.
    #[error("the model's file recommends {value} in its key {key}, expected {range}")]
    RecommendationOutOfRange {
        /// The key.
        key: &'static str,
        /// The allowed range.
        range: &'static str,
        /// What it is.
        value: f32,
    },
    /// A request names a token outside the vocabulary.
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
    /// A forward pass returned the wrong number of values.
    #[error("the model returned {found} values, expected {expected}")]
    LogitsLength {
        /// Number of values in all rows that were requested.
        expected: usize,
        /// Number of values that were returned.
        found: usize,
    },
    /// The model computed a logit that is not finite.
    #[error(
        "the model computed the logit {value} for token {token}; its weights may be damaged, or overflow in this format"
    )]
    NonFiniteLogit {
        /// The token.
        token: usize,
        /// Its logit.
        value: f32,
    },
    /// The model computed a hidden state that is not finite.
    #[error(
        "the hidden state of token {position} is not finite; the weights may be damaged, or overflow in this format"
    )]
    NonFiniteState {
        /// Position of the token, from 0.
        position: usize,
    },
    /// The model's file requires an unknown pooling type.
    #[error(
        "the model file specifies pooling type {found}, but only 1 (mean), 2 (CLS), 3 (last) and 4 (rank) are supported; choose the pooling explicitly"
    )]
    Pooling {
        /// The number in the file.
        found: u32,
    },
    /// Text was requested of a model that computes embeddings or scores.
    #[error(
        "this model computes {}, not text; {}", if *is_reranker { "relevance scores" } else { "embeddings" },
        if *is_reranker { "use /v1/rerank or `inferno embed --query`, or load a generative model" } else { "use /v1/embeddings or `inferno embed`, or load a generative model" }
    )]
    NoLogits {
        /// Whether it has a classifier.
        is_reranker: bool,
    },
    /// Scores were requested of a model without a classifier.
    #[error("the model has no classifier to score inputs with; load a reranker")]
    NoClassifier,
    /// Scores were requested of a model with a classifier for another purpose.
    #[error(
        "this model's classifier has {num_outputs} outputs{} instead of one score; use /v1/embeddings or `inferno embed` \
         without --query for all of them",
        in_parentheses(labels)
    )]
    SeveralOutputs {
        /// Number of outputs.
        num_outputs: usize,
        /// Their names, if the file has them.
        labels: Vec<String>,
    },
    /// The requested size of embeddings is not between 1 and that of the model's.
    #[error(
        "dimensions must be between 1 and {limit}, the size of this model's embeddings, but is {asked_for}"
    )]
    Dimensions {
        /// The requested size.
        asked_for: usize,
        /// The size of the model's embeddings.
        limit: usize,
    },
    /// Every token of the vocabulary is banned or masked at this position.
    #[error("every token is banned or masked at this position")]
    NoCandidates,
    /// A request allows no output tokens.
    #[error(
        "max_tokens must be 1 or more, but is 0; to compute a prompt without generating, extend the session"
    )]
    MaxTokensZero,
    /// A request requires more tokens than it allows.
    #[error("min_tokens is {min_tokens}, which is more than max_tokens, {max_tokens}")]
    MinTokensAboveMax {
        /// The minimum number of tokens.
        min_tokens: usize,
        /// The maximum number of tokens.
        max_tokens: usize,
    },
    /// A stop string is empty.
    #[error("stop string {index} is empty; leave it out")]
    EmptyStopString {
        /// Its index in the list, from 0.
        index: usize,
    },
    /// A list in a request is too long.
    #[error("{field} has {given} {unit}, but {limit} is the most")]
    ListTooLong {
        /// The list.
        field: &'static str,
        /// What is counted.
        unit: &'static str,
        /// Number in the request.
        given: usize,
        /// Maximum number.
        limit: usize,
    },
    /// The prompt does not fit the context.
    #[error(
        "the prompt has {prompt_tokens} token{}, but the context holds {context_length}{}",
        if *prompt_tokens == 1 { "" } else { "s" },
        context_usage(*session_tokens, *room)
    )]
    PromptTooLong {
        /// Tokens of the prompt.
        prompt_tokens: usize,
        /// Tokens of the session before the prompt.
        session_tokens: usize,
        /// Tokens that must fit after the prompt: 1 if something is to be generated.
        room: usize,
        /// Context length in tokens.
        context_length: usize,
    },
    /// A generation was continued after it had failed.
    #[error("the generation failed at an earlier step and cannot continue")]
    GenerationFailed,
    /// Speculative decoding was requested without a KV cache.
    #[error(
        "speculative decoding requires the KV cache; enable the cache, or use neither speculative tokens nor a draft model"
    )]
    SpeculationWithoutCache,
    /// A pass with hidden states was requested of a runner that is not a prediction head.
    #[error("the model is not a prediction head")]
    NoHiddenRows,
    /// More speculative tokens were requested than a batch can hold.
    #[error(
        "num_speculative_tokens is {asked_for}, but must be between 0 and {limit} for these batch limits"
    )]
    TooManyDrafts {
        /// Requested number.
        asked_for: usize,
        /// Maximum for the tokens and rows of logits of a batch.
        limit: usize,
    },
    /// Neither the prompt nor the session has any tokens.
    #[error("the prompt is empty; at least one token is required")]
    EmptyPrompt,
    /// The requested context length is 0 or exceeds the model's maximum.
    #[error("the context length is {asked_for}, but this model supports 1 to {limit} tokens")]
    ContextTooLong {
        /// Requested length in tokens.
        asked_for: usize,
        /// Maximum length in tokens.
        limit: usize,
    },
    /// The KV cache is smaller than one context.
    #[error("the KV cache holds {cache_tokens} tokens, fewer than the context of {context_length}")]
    CacheTooSmall {
        /// Capacity of the cache in tokens.
        cache_tokens: usize,
        /// Context length in tokens.
        context_length: usize,
    },
    /// The KV cache has fewer free blocks than are needed.
    #[error("not enough KV blocks: {needed} needed, {free} free")]
    OutOfBlocks {
        /// Number of blocks needed.
        needed: usize,
        /// Number of free blocks.
        free: usize,
    },
    /// More sequences were to be computed together than a batch can hold.
    #[error(
        "max_num_sequences is {asked_for}, but must be from 1 to {limit} for these batch limits"
    )]
    BatchLimits {
        /// Requested number.
        asked_for: usize,
        /// Maximum for the tokens and rows of logits of a batch.
        limit: usize,
    },
    /// The queue for waiting requests has no places.
    #[error("max_num_waiting must be at least 1, but is 0")]
    NoQueue,
    /// A request has an invalid number of choices.
    #[error("the number of choices must be between 1 and {limit}, but is {asked_for}")]
    NumChoices {
        /// Requested number.
        asked_for: usize,
        /// Maximum number.
        limit: usize,
    },
    /// The constraint on tokens failed.
    #[error("the grammar cannot continue: {0}")]
    Constraint(#[from] ConstraintError),
    /// A step failed for several sequences at once.
    #[error(transparent)]
    Shared(Arc<EngineError>),
    /// The engine was shut down, or its runner panicked.
    #[error("the engine has stopped")]
    EngineStopped,
    /// The engine's thread could not be started.
    #[error("failed to start the engine's thread: {0}")]
    Thread(#[source] io::Error),
    /// The window or stride for perplexity is invalid.
    #[error(
        "windows of {window} tokens every {stride} cannot be scored: the window must have between 3 and {context_length} tokens (the context length), and the stride must be at least 1"
    )]
    Window {
        /// Tokens in a window.
        window: usize,
        /// Tokens from the start of one window to the next.
        stride: usize,
        /// Context length in tokens.
        context_length: usize,
    },
    /// The text does not fill one window.
    #[error(
        "the text has {found} tokens, but a window requires {window}; use a longer text or a smaller window"
    )]
    TextTooShort {
        /// Tokens in the text.
        found: usize,
        /// Tokens in a window.
        window: usize,
    },
    /// Two models have vocabularies of different sizes.
    #[error(
        "the model's vocabulary has {found} tokens, but that of the base has {expected}; only models with the same vocabulary can be compared"
    )]
    VocabularySize {
        /// Tokens in the vocabulary of the base.
        expected: usize,
        /// Tokens in the model's vocabulary.
        found: usize,
    },
    /// Stored log-probabilities could not be read or written.
    #[error(transparent)]
    StoredLogits(#[from] StoredLogitsError),
    /// A saved state could not be read or written.
    #[error("failed to {action} the saved state {path:?}: {source}")]
    StateIo {
        /// The file.
        path: PathBuf,
        /// `read` or `write`.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a saved state.
    #[error("{path:?} is not {kind}")]
    StateUnknown {
        /// The file.
        path: PathBuf,
        /// The expected kind of file.
        kind: &'static str,
    },
    /// The path for a saved state is occupied by another file.
    #[error("{path:?} exists and is not {kind}; choose another path or remove the file")]
    StateNotReplaced {
        /// The file.
        path: PathBuf,
        /// The expected kind of file.
        kind: &'static str,
    },
    /// The saved state has an unsupported format version.
    #[error(
        "the saved state {path:?} has format version {found}, but this program supports version {known}"
    )]
    StateVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The supported version.
        known: u32,
    },
    /// The saved state is shorter than its header states.
    #[error("the saved state {path:?} has {found} bytes, expected {expected}; it is truncated")]
    StateTruncated {
        /// The file.
        path: PathBuf,
        /// Expected size in bytes.
        expected: u64,
        /// Actual size in bytes.
        found: u64,
    },
    /// The saved state is damaged.
    #[error("the saved state {path:?} is damaged: {what}")]
    StateDamaged {
        /// The file.
        path: PathBuf,
        /// What is inconsistent.
        what: &'static str,
    },
    /// The saved state belongs to another model or KV cache format.
    #[error(
        "the saved state {path:?} belongs to a different model or KV cache format (fingerprint {found:016x}, expected {expected:016x}); load it with the model and KV cache format that it was saved with"
    )]
    StateOfAnotherModel {
        /// The file.
        path: PathBuf,
        /// Fingerprint of this runner.
        expected: u64,
        /// Fingerprint in the file.
        found: u64,
    },
    /// The saved state has another KV cache format.
    #[error(
        "the saved state {path:?} has a KV cache in {found}, but the model was loaded with one in {expected}; use --kv-dtype {found} (the default is i16 on a CPU and f16 on a GPU)"
    )]
    StateOfAnotherFormat {
        /// The file.
        path: PathBuf,
        /// Format of this runner.
        expected: KvDType,
        /// Format in the file.
        found: KvDType,
    },
    /// The saved state is longer than the context.
    #[error(
        "the saved state {path:?} has {num_tokens} tokens, but the context holds {context_length}"
    )]
    StateTooLong {
        /// The file.
        path: PathBuf,
        /// Number of tokens in the file.
        num_tokens: u64,
        /// Context length in tokens.
        context_length: usize,
    },
    /// A metadata key of the model's file is invalid.
    #[error(transparent)]
    Metadata(#[from] GgufError),
    /// The model's file was overwritten or truncated while it was in use.
    #[error(transparent)]
    ModelFileChanged(GgufError),
    /// The tokenizer failed.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A stage in another process could not be used.
    #[error(transparent)]
    Stage(#[from] StageError),
}

impl EngineError {
    /// Whether a device has failed for good.
    pub(crate) fn is_device_lost(&self) -> bool {
        match self {
            Self::Backend(error) | Self::Model(ModelError::Backend(error)) => {
                matches!(error, BackendError::DeviceLost { .. })
            }
            _ => false,
        }
    }

    /// Unwraps an error that several sequences may share.
    pub(crate) fn from_shared(error: Arc<Self>) -> Self {
        Arc::try_unwrap(error).unwrap_or_else(Self::Shared)
    }
}
