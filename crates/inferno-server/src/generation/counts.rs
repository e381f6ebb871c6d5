//! Tokens and choices of a running request, counted in this one place.

use std::time::Duration;

use inferno_engine::{Finished, ProgressEvent, Timings};

/// What a request has taken so far.
#[derive(Debug, Clone)]
pub(crate) struct TokenCounts {
    pub prompt_tokens: usize,
    /// Prompt tokens whose keys and values are in the KV cache, and the time since the first of them was computed, if the
    /// request reports it.
    pub processed: Option<(usize, Duration)>,
    pub choices: Vec<ChoiceCounts>,
}

/// What one choice of a request has taken so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChoiceCounts {
    /// Prompt tokens that came from the prefix cache; known when the choice has finished, or while progress is reported.
    pub cached_tokens: usize,
    pub generated_tokens: usize,
    /// Generated tokens that were reasoning.
    pub reasoning_tokens: usize,
    /// While the choice is running, those of its tokens so far; the time in the queue is known if progress is reported.
    pub timings: Timings,
    pub is_finished: bool,
}

impl TokenCounts {
    pub fn new(prompt_tokens: usize, num_choices: usize) -> Self {
        let choices = vec![ChoiceCounts::default(); num_choices];
        Self { prompt_tokens, processed: None, choices }
    }

    /// Records the progress of the prompt, this long after the request arrived.
    pub(super) fn add_progress(&mut self, progress: &ProgressEvent, elapsed: Duration) {
        if let Some(first) = self.choices.first_mut() {
            first.cached_tokens = progress.cached_tokens;
            if self.processed.is_none() {
                first.timings.queued = elapsed;
            }
            let time = elapsed.saturating_sub(first.timings.queued);
            self.processed = Some((progress.processed_tokens, time));
        }
    }

    /// Adds a token that was sampled this long after the request arrived.
    pub(super) fn add_token(&mut self, choice: usize, elapsed: Duration) {
        if let Some(choice) = self.choices.get_mut(choice) {
            choice.generated_tokens += 1;
            let first = *choice.timings.time_to_first_token.get_or_insert(elapsed);
            choice.timings.decode = elapsed.saturating_sub(first);
        }
    }

    pub(super) fn finish(&mut self, finished: &Finished) {
        if let Some(choice) = self.choices.get_mut(finished.choice) {
            choice.cached_tokens = finished.cached_tokens;
            choice.generated_tokens = finished.generated_tokens;
            choice.timings = finished.timings;
            choice.is_finished = true;
        }
    }

    /// Choices that have not finished.
    pub fn num_unfinished(&self) -> usize {
        self.choices.iter().filter(|choice| !choice.is_finished).count()
    }

    pub fn generated_tokens(&self) -> usize {
        self.choices.iter().map(|choice| choice.generated_tokens).sum()
    }

    pub fn reasoning_tokens(&self) -> usize {
        self.choices.iter().map(|choice| choice.reasoning_tokens).sum()
    }

    /// Generated tokens of the longest choice.
    pub(super) fn max_generated_tokens(&self) -> usize {
        self.choices.iter().map(|choice| choice.generated_tokens).max().unwrap_or(0)
    }

    /// Cached tokens of the choice that had the most of them.
    pub(super) fn max_cached_tokens(&self) -> usize {
        self.choices.iter().map(|choice| choice.cached_tokens).max().unwrap_or(0)
    }
}
