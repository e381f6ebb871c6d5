//! What is asked of the engine.

use std::time::Instant;

use crate::{GenerationParams, Pooling, TokenConstraint};

/// One request: a prompt, and what is to follow it.
pub struct Request {
    /// The prompt, in tokens.
    pub prompt: Vec<u32>,
    /// How tokens are chosen and when to end. `max_tokens` may be 0 where the prompt's
    /// log-probabilities are asked for: nothing follows them then. The number of speculative tokens
    /// is passed over: what is in a batch is the engine's affair, and changes no token.
    pub generation: GenerationParams,
    /// Tells the log-probability of each token of the prompt, and of so many rivals. None of the
    /// prompt is taken from the prefix cache then.
    pub prompt_logprobs: Option<usize>,
    /// How many answers to give, from 1 on. They share the prompt's blocks; each draws with the seed
    /// of the one before, plus one.
    pub num_choices: usize,
    /// The lower goes first. A level is worth 64 places in the queue, so that each request has its
    /// turn in the end.
    pub priority: i32,
    /// When to end at the latest.
    pub deadline: Option<Instant>,
    /// Which tokens may come.
    pub constraint: Option<Box<dyn TokenConstraint>>,
}

/// A text of which a vector is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingRequest {
    /// The text, in tokens.
    pub prompt: Vec<u32>,
    /// Which hidden states stand for it.
    pub pooling: Pooling,
    /// As that of a [`Request`].
    pub priority: i32,
    /// When to end at the latest.
    pub deadline: Option<Instant>,
}

impl Request {
    /// One answer, with no more than the usual conditions.
    pub fn new(prompt: Vec<u32>, generation: GenerationParams) -> Self {
        Self {
            prompt,
            generation,
            prompt_logprobs: None,
            num_choices: 1,
            priority: 0,
            deadline: None,
            constraint: None,
        }
    }
}
