//! The time that a request took in the engine, in the format of llama-server.

use serde::Serialize;
use utoipa::ToSchema;

use crate::generation::TokenCounts;
use crate::time::milliseconds;

/// The time that a request took in the engine, without its time in the queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct RequestTimings {
    /// Prompt tokens that came from the prefix cache.
    pub cache_n: usize,
    /// Prompt tokens that were computed.
    pub prompt_n: usize,
    /// Milliseconds until the first token was generated.
    pub prompt_ms: f64,
    /// Milliseconds per computed prompt token.
    pub prompt_per_token_ms: f64,
    /// Computed prompt tokens per second.
    pub prompt_per_second: f64,
    /// Generated tokens of all choices.
    pub predicted_n: usize,
    /// Milliseconds from the first token to the last; with several choices, those of the slowest.
    pub predicted_ms: f64,
    /// Milliseconds per token after the first of each choice; 0 if there were none.
    pub predicted_per_token_ms: f64,
    /// Tokens per second after the first of each choice; 0 if there were none.
    pub predicted_per_second: f64,
}

/// How much of a prompt has been processed, in the format of llama-server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub(crate) struct PromptProgress {
    /// Tokens of the prompt.
    total: usize,
    /// Tokens that came from the prefix cache.
    cache: usize,
    /// Tokens that have been processed, including those from the prefix cache.
    processed: usize,
    /// Milliseconds since processing began.
    time_ms: f64,
}

impl PromptProgress {
    /// `None` if the request does not report it.
    pub fn of(counts: &TokenCounts) -> Option<Self> {
        let (processed, time) = counts.processed?;
        let cache = counts.choices.first()?.cached_tokens;
        Some(Self { total: counts.prompt_tokens, cache, processed, time_ms: milliseconds(time) })
    }
}

impl RequestTimings {
    /// The timings of a request so far.
    pub fn of(counts: &TokenCounts) -> Self {
        let Some(first) = counts.choices.first() else {
            return Self::default();
        };
        let (prompt_tokens, prompt) = match (first.timings.time_to_first_token, counts.processed) {
            (None, Some((processed, time))) if !first.is_finished => (processed, time),
            // Without a first token, the time until the request ended.
            (first_token, _) => {
                let waited = first_token.unwrap_or(first.timings.total);
                (counts.prompt_tokens, waited.saturating_sub(first.timings.queued))
            }
        };
        let decode = counts.choices.iter().map(|choice| choice.timings.decode).max();
        let decode = decode.unwrap_or_default();
        let prompt_n = prompt_tokens.saturating_sub(first.cached_tokens);
        let predicted_n = counts.generated_tokens();
        let after_first = counts.choices.iter().map(|it| it.generated_tokens.saturating_sub(1));
        let after_first = after_first.sum();
        let (prompt_ms, predicted_ms) = (milliseconds(prompt), milliseconds(decode));
        Self {
            cache_n: first.cached_tokens,
            prompt_n,
            prompt_ms,
            prompt_per_token_ms: per_token(prompt_n, prompt_ms),
            prompt_per_second: per_second(prompt_n, prompt_ms),
            predicted_n,
            predicted_ms,
            predicted_per_token_ms: per_token(after_first, predicted_ms),
            predicted_per_second: per_second(after_first, predicted_ms),
        }
    }
}

/// Milliseconds per token; 0 if there are no tokens. Rates agree with the rounded times that are returned next to them.
fn per_token(count: usize, milliseconds: f64) -> f64 {
    match count {
        0 => 0.0,
        count => milliseconds / count as f64,
    }
}

/// Tokens per second; 0 if no time passed.
fn per_second(count: usize, milliseconds: f64) -> f64 {
    if milliseconds > 0.0 { 1000.0 / milliseconds * count as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use inferno_engine::Timings;

    use super::*;

    /// Counts of a request with one choice for each number of generated tokens and its timings.
    fn counts(
        prompt_tokens: usize,
        cached_tokens: usize,
        choices: &[(usize, Timings)],
    ) -> TokenCounts {
        let mut counts = TokenCounts::new(prompt_tokens, choices.len());
        for (choice, (generated_tokens, timings)) in counts.choices.iter_mut().zip(choices) {
            choice.cached_tokens = cached_tokens;
            choice.generated_tokens = *generated_tokens;
            choice.timings = *timings;
        }
        counts
    }

    #[test]
    fn rates_exclude_the_queue_the_cache_and_first_tokens() {
        let timings = |decode| Timings {
            queued: Duration::from_millis(50),
            time_to_first_token: Some(Duration::from_millis(250)),
            decode: Duration::from_millis(decode),
            ..Timings::default()
        };
        let expected = RequestTimings {
            cache_n: 60,
            prompt_n: 40,
            prompt_ms: 200.0,
            prompt_per_token_ms: 5.0,
            prompt_per_second: 200.0,
            predicted_n: 17,
            predicted_ms: 500.0,
            predicted_per_token_ms: 500.0 / 15.0,
            predicted_per_second: 30.0,
        };
        let counts = counts(100, 60, &[(11, timings(500)), (6, timings(400))]);
        assert_eq!(RequestTimings::of(&counts), expected);
    }

    #[test]
    fn a_single_token_has_no_rate() {
        let first = Some(Duration::from_millis(8));
        let timings = Timings { time_to_first_token: first, ..Timings::default() };
        let timings = RequestTimings::of(&counts(4, 0, &[(1, timings)]));
        assert_eq!((timings.predicted_n, timings.predicted_per_second), (1, 0.0));
        assert_eq!((timings.prompt_n, timings.prompt_ms), (4, 8.0));
    }
}
