//! Requests to an engine.

use std::time::Instant;

use crate::{EmbeddingForm, GenerationParams, Pooling, TokenConstraint};

/// A prompt to continue.
pub struct Request {
    /// The prompt, in tokens.
    pub prompt: Vec<u32>,
    /// How tokens are sampled and when the generation ends. `max_tokens` may be 0 if the prompt's
    /// log-probabilities are requested: nothing is generated then. The number of speculative tokens is
    /// ignored; [`EngineOptions`](crate::EngineOptions) sets it, and it changes no output.
    pub generation: GenerationParams,
    /// Returns the log-probability of each token of the prompt, and those of this many most probable tokens
    /// at its position. None of the prompt comes from the prefix cache then.
    pub prompt_logprobs: Option<usize>,
    /// Sends [`Event::Progress`](crate::Event::Progress) while the prompt of the first choice is processed.
    pub reports_progress: bool,
    /// Number of choices to generate, at least 1. They share the prompt's blocks; each uses the seed of the
    /// previous one plus one.
    pub num_choices: usize,
    /// Lower values are scheduled first, if the engine [honors](crate::EngineOptions::honor_priority) priorities. One
    /// level, from -16 to 16, is equivalent to 64 places in the queue, so that no request starves.
    pub priority: i32,
    /// The request ends at this time at the latest.
    pub deadline: Option<Instant>,
    /// Restricts the tokens that may be sampled.
    pub constraint: Option<Box<dyn TokenConstraint>>,
}

/// An input to embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingRequest {
    /// The text, in tokens.
    pub prompt: Vec<u32>,
    /// The position from which on tokens belong to the second of two segments; see
    /// [`SequenceChunk::second_segment`](inferno_backend::SequenceChunk::second_segment).
    pub second_segment: Option<usize>,
    /// How its hidden states are pooled into one vector.
    pub pooling: Pooling,
    /// How the pooled state becomes an embedding.
    pub form: EmbeddingForm,
    /// As in a [`Request`].
    pub priority: i32,
    /// The request ends at this time at the latest.
    pub deadline: Option<Instant>,
}

/// A continuation whose tokens are scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoringRequest {
    /// The tokens before it; at least one. Whole blocks of them may come from the prefix cache.
    pub context: Vec<u32>,
    /// The tokens to score; at least one.
    pub continuation: Vec<u32>,
}

impl EmbeddingRequest {
    /// Creates a request for a vector of length 1, without a deadline.
    pub fn new(prompt: Vec<u32>, pooling: Pooling) -> Self {
        let form = EmbeddingForm::default();
        Self { prompt, second_segment: None, pooling, form, priority: 0, deadline: None }
    }
}

impl Request {
    /// Whether only the log-probabilities of the prompt are requested, and nothing is generated.
    pub(super) fn only_scores_prompt(&self) -> bool {
        self.prompt_logprobs.is_some() && self.generation.stop.max_tokens == Some(0)
    }

    /// Creates a request for one choice, without a deadline or a constraint.
    pub fn new(prompt: Vec<u32>, generation: GenerationParams) -> Self {
        Self {
            prompt,
            generation,
            prompt_logprobs: None,
            reports_progress: false,
            num_choices: 1,
            priority: 0,
            deadline: None,
            constraint: None,
        }
    }
}
