//! The time that a request took in the engine, in the format of llama-server.

use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::generation::TokenCounts;

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

impl RequestTimings {
    /// The timings of a request whose choices have finished.
    pub fn of(counts: &TokenCounts) -> Self {
        let Some(first) = counts.choices.first() else {
            return Self::default();
        };
        // Before the first token, the time until the request ended.
        let waited = first.timings.time_to_first_token.unwrap_or(first.timings.total);
        let prompt = waited.saturating_sub(first.timings.queued);
        let decode = counts.choices.iter().map(|choice| choice.timings.decode).max();
        let decode = decode.unwrap_or_default();
        let prompt_n = counts.prompt_tokens.saturating_sub(first.cached_tokens);
        let predicted_n = counts.generated_tokens();
        let after_first = counts.choices.iter().map(|it| it.generated_tokens.saturating_sub(1));
        let after_first = after_first.sum();
        Self {
            cache_n: first.cached_tokens,
            prompt_n,
            prompt_ms: milliseconds(prompt),
            prompt_per_token_ms: per_token(prompt_n, prompt),
            prompt_per_second: per_second(prompt_n, prompt),
            predicted_n,
            predicted_ms: milliseconds(decode),
            predicted_per_token_ms: per_token(after_first, decode),
            predicted_per_second: per_second(after_first, decode),
        }
    }
}

/// Rounded to microseconds.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}

/// Milliseconds; 0 if there are no tokens.
fn per_token(count: usize, duration: Duration) -> f64 {
    match count {
        0 => 0.0,
        count => duration.as_secs_f64() * 1000.0 / count as f64,
    }
}

/// 0 if no time passed.
fn per_second(count: usize, duration: Duration) -> f64 {
    match duration.is_zero() {
        true => 0.0,
        false => count as f64 / duration.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
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
