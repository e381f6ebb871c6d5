//! The events of a request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{EngineError, FinishReason, SampledToken, TokenLogprobs};

/// An event of a request.
#[derive(Debug, Clone)]
pub enum Event {
    /// How much of the prompt has been processed, if that was requested.
    Progress(ProgressEvent),
    /// The log-probabilities of the prompt, if they were requested: once for each choice, before its other
    /// events. Those of a continuation that is scored; the end follows.
    Prompt(PromptEvent),
    /// The embedding of a text, if it was requested; the end follows.
    Embedding(Vec<f32>),
    /// The logits of a prompt, if they were requested, one row of `vocab_size` values after another; the end follows.
    Logits(Vec<f32>),
    /// One more token of a choice.
    Token(TokenEvent),
    /// The end of a choice: once for each choice, unless the request failed.
    Finished(Finished),
    /// The request failed, with all choices that had not ended; no event follows.
    Failed(Arc<EngineError>),
}

/// How much of a prompt has been processed. The first event of a request is sent before anything is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressEvent {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the prompt that were found in the prefix cache.
    pub cached_tokens: usize,
    /// Tokens of the prompt whose keys and values are in the KV cache, including those that were found there.
    pub processed_tokens: usize,
    /// Time at which they were.
    pub time: Instant,
}

/// The log-probabilities of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptEvent {
    /// Index of the choice, from 0.
    pub choice: usize,
    /// Those of all tokens but the first, which nothing precedes; those of the continuation, if one is scored.
    pub logprobs: Vec<TokenLogprobs>,
}

/// One more token of a choice.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenEvent {
    /// Index of the choice, from 0.
    pub choice: usize,
    /// The token.
    pub token: SampledToken,
    /// The text that can now be shown: complete characters, often none.
    pub text: String,
    /// Time at which it was sampled.
    pub time: Instant,
}

/// The end of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Index of the choice, from 0.
    pub choice: usize,
    /// Why it ended.
    pub reason: FinishReason,
    /// Text that was held back and can now be shown, because no token follows. Empty if a token ended the
    /// choice: its own event has all the text.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the prompt that were found in the prefix cache.
    pub cached_tokens: usize,
    /// Generated tokens, including one that ended the choice.
    pub generated_tokens: usize,
    /// Its timings.
    pub timings: Timings,
}

/// The times of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// Time from the request to its first computation; to its end, if there was none.
    pub queued: Duration,
    /// Time from the request to the first token; `None` before there is one.
    pub time_to_first_token: Option<Duration>,
    /// Time from the first token to the last.
    pub decode: Duration,
    /// Time from the request to the end.
    pub total: Duration,
    /// Number of times that it lost its blocks to another sequence.
    pub num_preemptions: usize,
}
