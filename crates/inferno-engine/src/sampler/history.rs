//! The tokens so far, in the forms that the penalties need.

use std::sync::Arc;

use super::dry::Dry;
use super::penalties::SeenTokens;
use super::{SamplingParams, SequenceBreakers};

/// The tokens of prompt and output, stored only for penalties that are enabled.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    seen: SeenTokens,
    dry: Dry,
}

impl History {
    /// Whether logits depend on it.
    pub(super) fn is_needed(params: &SamplingParams) -> bool {
        params.has_penalties() || params.dry.is_enabled()
    }

    pub(super) fn set_sequence_breakers(&mut self, breakers: Arc<SequenceBreakers>) {
        self.dry.set_sequence_breakers(breakers);
    }

    pub(super) fn add_prompt(&mut self, params: &SamplingParams, tokens: &[u32]) {
        if params.has_penalties() {
            self.seen.add_prompt(tokens);
        }
        if params.dry.is_enabled() {
            self.dry.add(tokens);
        }
    }

    pub(super) fn add_generated(&mut self, params: &SamplingParams, token: u32) {
        if params.has_penalties() {
            self.seen.add_generated(token);
        }
        if params.dry.is_enabled() {
            self.dry.add(&[token]);
        }
    }

    /// Penalizes the logits of seen tokens, and of those that would extend a repetition.
    pub(super) fn penalize(&mut self, params: &SamplingParams, logits: &mut [f32]) {
        if params.has_penalties() {
            self.seen.penalize(params, logits);
        }
        if params.dry.is_enabled() {
            self.dry.penalize(&params.dry, logits);
        }
    }
}
