//! DRY ("don't repeat yourself"): makes tokens that would continue a repetition less likely.
//!
//! If the last tokens occurred before, the token that followed them there would extend the repetition. Its logit is
//! lowered by an amount that grows exponentially with the length of the repetition, which sequence breakers limit.
//!
//! **Source**: llama.cpp's `dry` sampler, with which the penalties agree exactly.

mod params;
mod repetitions;
mod sequence_breakers;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

pub use params::DryParams;
pub(crate) use sequence_breakers::SequenceBreakerCache;
pub use sequence_breakers::SequenceBreakers;

/// The tokens so far, and the penalties that follow from them.
#[derive(Debug, Clone, Default)]
pub(super) struct Dry {
    breakers: Arc<SequenceBreakers>,
    tokens: Vec<u32>,
    /// By distance; the memory is reused for each token.
    lengths: Vec<usize>,
    /// Length of the longest repetition that a token would extend.
    longest: HashMap<u32, usize>,
}

impl Dry {
    pub(super) fn set_sequence_breakers(&mut self, breakers: Arc<SequenceBreakers>) {
        self.breakers = breakers;
    }

    pub(super) fn add(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }

    /// Lowers the logits of tokens that would extend a repetition. Linear in the number of tokens so far.
    pub(super) fn penalize(&mut self, params: &DryParams, logits: &mut [f32]) {
        self.find_longest(params);
        for (&token, &length) in &self.longest {
            let Some(logit) = logits.get_mut(token as usize) else {
                continue;
            };
            // A token at negative infinity remains excluded.
            if *logit > f32::NEG_INFINITY && !self.breakers.is_breaker(token) {
                *logit = (*logit - params.penalty(length)).max(f32::MIN);
            }
        }
    }

    fn find_longest(&mut self, params: &DryParams) {
        let Self { breakers, tokens, lengths, longest } = self;
        longest.clear();
        let num_searched = params.penalty_last_n.unwrap_or(usize::MAX).min(tokens.len());
        let searched = &tokens[tokens.len() - num_searched..];
        let allowed = params.allowed_length;
        if num_searched <= allowed {
            return;
        }
        let limit = breakers.tokens_after_last(searched);
        if limit < allowed {
            return;
        }
        repetitions::find_lengths(searched, lengths);
        for (distance, &length) in lengths.iter().enumerate().skip(1) {
            let length = length.min(limit);
            if length >= allowed {
                let next = searched[num_searched - distance];
                let longest = longest.entry(next).or_insert(length);
                *longest = length.max(*longest);
            }
        }
    }
}
