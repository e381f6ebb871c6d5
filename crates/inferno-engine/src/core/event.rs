//! What comes back from the engine, request by request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{EngineError, FinishReason, SampledToken, TokenLogprobs};

/// Something that happened to a request.
#[derive(Debug, Clone)]
pub enum Event {
    /// The prompt was read, and its log-probabilities were asked for: once for each choice, before
    /// anything else of it.
    Prompt(PromptEvent),
    /// The vector of a text, if it was asked for; its end comes after it.
    Embedding(Vec<f32>),
    /// A choice has one more token.
    Token(TokenEvent),
    /// A choice has ended: once for each choice, unless the request failed.
    Finished(Finished),
    /// The request failed, with all choices that had not ended; nothing comes after it.
    Failed(Arc<EngineError>),
}

/// The log-probabilities of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptEvent {
    /// Which choice, from 0.
    pub choice: usize,
    /// Those of all tokens but the first, which nothing comes before.
    pub logprobs: Vec<TokenLogprobs>,
}

/// One more token of a choice.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenEvent {
    /// Which choice, from 0.
    pub choice: usize,
    /// The token.
    pub token: SampledToken,
    /// The text that may be shown because of it: whole characters, often none.
    pub text: String,
    /// When it was sampled.
    pub time: Instant,
}

/// The end of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Which choice, from 0.
    pub choice: usize,
    /// Why it ended.
    pub reason: FinishReason,
    /// Text that was held back, and that may be shown as no token follows. None where a token ended
    /// the choice: its own event has all the text.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Those of them that were computed before, for another request.
    pub cached_tokens: usize,
    /// Tokens that were generated; one that ended the choice is among them.
    pub generated_tokens: usize,
    /// What it took.
    pub timings: Timings,
}

/// The times of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// From the request to its first computation; to its end, if there was none.
    pub queued: Duration,
    /// From the request to the first token; `None` before there is one.
    pub time_to_first_token: Option<Duration>,
    /// From the first token to the last.
    pub decode: Duration,
    /// From the request to the end.
    pub total: Duration,
    /// How often its blocks went to another sequence.
    pub num_preemptions: usize,
}
