//! The number of prompt tokens that may be computed next to running streams.
//!
//! A pass takes the time of its decoding sequences and that of its prompt tokens. Both are estimated from the last
//! passes, and the prompt tokens limited so that a pass takes about as long as the target for the time between two
//! tokens of a stream. Prompts always get at least half of the time, so that they progress with slow models, too.

use std::time::Duration;

/// Weight of the last pass in the estimates.
const WEIGHT: f64 = 0.3;
/// Minimum number of prompt tokens; fewer would hardly shorten a pass.
const MIN_TOKENS: usize = 16;
/// Prompt tokens of a pass before there is an estimate.
const FIRST_TOKENS: usize = 64;

/// Limits the prompt tokens of steps in which sequences decode, from the durations of the last steps. Time is an
/// argument, as in [`Scheduler`](crate::Scheduler), whose [`limit_prefill`](crate::Scheduler::limit_prefill) applies the limit.
///
/// ```
/// use std::time::Duration;
///
/// use inferno_engine::PrefillPacing;
///
/// let mut pacing = PrefillPacing::new(Some(Duration::from_millis(100)));
/// pacing.record(true, 0, Duration::from_millis(20));
/// pacing.record(true, 64, Duration::from_millis(84));
/// assert_eq!(pacing.max_tokens(), Some(80));
/// ```
#[derive(Debug, Default)]
pub struct PrefillPacing {
    /// Target for the time between two tokens of a stream, in seconds; `None` for no limit.
    target: Option<f64>,
    /// Duration of a pass without prompt tokens, in seconds.
    decode: Option<f64>,
    /// Time that one prompt token adds, in seconds.
    token: Option<f64>,
}

impl PrefillPacing {
    /// Creates estimates without measurements. `target` is the intended time between two tokens of a stream; `None` for no
    /// limit.
    pub fn new(target: Option<Duration>) -> Self {
        Self { target: target.map(|target| target.as_secs_f64()), ..Self::default() }
    }

    /// Records the duration of a pass: whether sequences decoded in it, and the number of its prompt tokens.
    pub fn record(&mut self, is_decoding: bool, prompt_tokens: usize, duration: Duration) {
        let duration = duration.as_secs_f64();
        if prompt_tokens == 0 {
            update(&mut self.decode, duration);
        } else {
            let decode = if is_decoding { self.decode.unwrap_or(0.0) } else { 0.0 };
            update(&mut self.token, (duration - decode).max(0.0) / prompt_tokens as f64);
        }
    }

    /// Returns the maximum number of prompt tokens of a pass in which sequences decode; `None` for no limit.
    pub fn max_tokens(&self) -> Option<usize> {
        let target = self.target?;
        let Some(token) = self.token.filter(|&token| token > 0.0) else {
            return Some(FIRST_TOKENS);
        };
        let decode = self.decode.unwrap_or(0.0);
        let time = (target - decode).max(decode);
        Some(((time / token) as usize).max(MIN_TOKENS))
    }
}

fn update(estimate: &mut Option<f64>, value: f64) {
    *estimate = Some(estimate.map_or(value, |old| old + WEIGHT * (value - old)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn passes_take_about_as_long_as_the_target() {
        let mut pacing = PrefillPacing::new(Some(100 * MILLISECOND));
        assert_eq!(pacing.max_tokens(), Some(FIRST_TOKENS));
        pacing.record(true, 0, 20 * MILLISECOND);
        for _ in 0..20 {
            let tokens = pacing.max_tokens().unwrap();
            pacing.record(true, tokens, 20 * MILLISECOND + tokens as u32 * MILLISECOND / 2);
        }
        assert!((158..=161).contains(&pacing.max_tokens().unwrap()), "{pacing:?}");
        // Tokens become slower as the context grows.
        for _ in 0..20 {
            let tokens = pacing.max_tokens().unwrap();
            pacing.record(true, tokens, 20 * MILLISECOND + tokens as u32 * 2 * MILLISECOND);
        }
        assert!((39..=41).contains(&pacing.max_tokens().unwrap()), "{pacing:?}");
    }

    #[test]
    fn prompts_get_half_of_the_time_if_decoding_exceeds_the_target() {
        let mut pacing = PrefillPacing::new(Some(50 * MILLISECOND));
        pacing.record(false, 100, 1000 * MILLISECOND);
        for _ in 0..20 {
            pacing.record(true, 0, 400 * MILLISECOND);
        }
        assert_eq!(pacing.max_tokens(), Some(40));
        let unlimited = PrefillPacing::new(None);
        assert_eq!(unlimited.max_tokens(), None);
    }
}
