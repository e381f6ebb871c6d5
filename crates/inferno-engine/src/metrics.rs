//! Times, rates and memory of a generation.

mod memory;
mod report;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::FinishReason;
pub use memory::{peak_resident_bytes, resident_bytes};

/// Measurements of one call of [`Session::generate`](crate::Session::generate) or
/// [`Session::extend`](crate::Session::extend).
///
/// Only time spent in the engine counts, not what the caller does between two steps. Prints as a
/// few lines for people; serializes with all durations in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(into = "report::Report")]
pub struct Metrics {
    /// Descriptions of the devices that compute, in the order of the layers.
    pub devices: Vec<String>,
    /// Duration of loading the model, if known.
    pub load_time: Option<Duration>,
    /// Tokens before the first generated one, including those that the session held.
    pub prompt_tokens: usize,
    /// Tokens that were generated.
    pub generated_tokens: usize,
    /// Tokens that were drafted by speculative decoding.
    pub drafted_tokens: usize,
    /// Drafted tokens that were accepted.
    pub accepted_tokens: usize,
    /// Why the generation ended; `None` before its last step, and after an error.
    pub finish_reason: Option<FinishReason>,
    /// Duration of the call and of the step that returned the first token.
    pub time_to_first_token: Option<Duration>,
    /// Duration of the steps after the first token.
    pub decode_time: Duration,
    /// Forward passes before the first token.
    pub prefill_passes: Passes,
    /// Forward passes after it.
    pub decode_passes: Passes,
}

impl Metrics {
    /// Returns the prompt tokens computed per second of their forward passes; `None` before there were any.
    pub fn prefill_tokens_per_second(&self) -> Option<f64> {
        rate(self.prefill_passes.num_tokens, self.prefill_passes.total())
    }

    /// Returns the tokens generated per second after the first; `None` before the second one.
    pub fn decode_tokens_per_second(&self) -> Option<f64> {
        rate(self.generated_tokens.saturating_sub(1), self.decode_time)
    }
}

fn rate(count: usize, time: Duration) -> Option<f64> {
    (count > 0 && !time.is_zero()).then(|| count as f64 / time.as_secs_f64())
}

/// The durations of a number of forward passes; serializes in seconds, with the percentiles.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(into = "report::PassesReport")]
pub struct Passes {
    num_tokens: usize,
    durations: Vec<Duration>,
}

impl Passes {
    /// The reported percentiles, with their names.
    pub const PERCENTILES: [(&'static str, f64); 4] =
        [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("max", 100.0)];

    /// Adds one pass over `num_tokens` tokens.
    pub fn record(&mut self, num_tokens: usize, duration: Duration) {
        self.num_tokens += num_tokens;
        self.durations.push(duration);
    }

    /// Returns the number of tokens computed by all of them.
    pub fn num_tokens(&self) -> usize {
        self.num_tokens
    }

    /// Returns the duration of each pass, in order.
    pub fn durations(&self) -> &[Duration] {
        &self.durations
    }

    /// Returns the total duration.
    pub fn total(&self) -> Duration {
        self.durations.iter().sum()
    }

    /// Returns the shortest duration that at least `percent` of the passes did not exceed (nearest rank);
    /// `None` without passes.
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        percentile(&self.durations, percent)
    }
}

/// Returns the shortest of `durations` that at least `percent` of them do not exceed (nearest rank);
/// `None` for none.
pub fn percentile(durations: &[Duration], percent: f64) -> Option<Duration> {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
        let per_second = |rate: Option<f64>| match rate {
            Some(rate) => format!(", {rate:.1} tokens/s"),
            None => String::new(),
        };
        if !self.devices.is_empty() {
            writeln!(f, "device       {}", self.devices.join(", "))?;
        }
        if let Some(time) = self.load_time {
            writeln!(f, "load         {}", seconds(time))?;
        }
        let prefill = &self.prefill_passes;
        let computed = prefill.num_tokens();
        write!(
            f,
            "prompt       {}, {computed} computed",
            count(self.prompt_tokens, "token", "tokens")
        )?;
        write!(f, " in {}", seconds(prefill.total()))?;
        writeln!(f, "{}", per_second(self.prefill_tokens_per_second()))?;
        if let Some(time) = self.time_to_first_token {
            writeln!(f, "first token  after {}", seconds(time))?;
        }
        write!(f, "generated    {}", count(self.generated_tokens, "token", "tokens"))?;
        writeln!(f, "{}", per_second(self.decode_tokens_per_second()))?;
        if self.drafted_tokens > 0 {
            let drafted = count(self.drafted_tokens, "token", "tokens");
            writeln!(f, "drafted      {drafted}, {} accepted", self.accepted_tokens)?;
        }
        if let Some(reason) = self.finish_reason {
            writeln!(f, "finished     {}", reason.name())?;
        }
        for (name, passes) in [("prefill", prefill), ("decode", &self.decode_passes)] {
            write!(f, "{name:<12} {}", count(passes.durations().len(), "pass", "passes"))?;
            for (name, percent) in Passes::PERCENTILES {
                if let Some(time) = passes.percentile(percent) {
                    write!(f, ", {name} {:.2} ms", time.as_secs_f64() * 1e3)?;
                }
            }
            writeln!(f)?;
        }
        match peak_resident_bytes() {
            Some(bytes) => write!(f, "peak memory  {:.1} MiB", bytes as f64 / f64::from(1 << 20)),
            None => write!(f, "peak memory  unknown on this system"),
        }
    }
}

/// Returns a number with its noun.
fn count(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> Metrics {
        let mut metrics = Metrics {
            load_time: Some(Duration::from_millis(1500)),
            prompt_tokens: 30,
            generated_tokens: 11,
            drafted_tokens: 8,
            accepted_tokens: 3,
            finish_reason: Some(FinishReason::StopString(0)),
            time_to_first_token: Some(Duration::from_millis(250)),
            decode_time: Duration::from_millis(2000),
            ..Metrics::default()
        };
        metrics.prefill_passes.record(16, Duration::from_millis(100));
        metrics.prefill_passes.record(14, Duration::from_millis(100));
        for milliseconds in [19, 11, 20, 12, 18, 13, 17, 14, 16, 15] {
            metrics.decode_passes.record(1, Duration::from_millis(milliseconds));
        }
        metrics
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let passes = metrics().decode_passes;
        let percentile = |percent| passes.percentile(percent).map(|time| time.as_millis());
        assert_eq!(percentile(50.0), Some(15));
        assert_eq!(percentile(51.0), Some(16));
        assert_eq!(percentile(90.0), Some(19));
        assert_eq!(percentile(99.0), Some(20));
        assert_eq!(percentile(0.0), Some(11));
        assert_eq!(Passes::default().percentile(50.0), None);
    }

    #[test]
    fn rates_are_tokens_by_time() {
        assert_eq!(metrics().prefill_tokens_per_second(), Some(150.0));
        assert_eq!(metrics().decode_tokens_per_second(), Some(5.0));
        assert_eq!(Metrics::default().prefill_tokens_per_second(), None);
        assert_eq!(Metrics::default().decode_tokens_per_second(), None);
    }

    #[test]
    fn the_serialized_form_is_in_seconds() {
        let json = serde_json::to_value(metrics()).expect("numbers");
        assert_eq!(json["load_seconds"], 1.5);
        assert_eq!(json["time_to_first_token_seconds"], 0.25);
        assert_eq!(json["decode_tokens_per_second"], 5.0);
        assert_eq!((&json["drafted_tokens"], &json["accepted_tokens"]), (&8.into(), &3.into()));
        assert_eq!(json["finish_reason"], "stop");
        assert_eq!(json["prefill_passes"]["num_tokens"], 30);
        assert_eq!(json["decode_passes"]["p90_seconds"], 0.019);
        assert_eq!(json["decode_passes"]["seconds"].as_array().map(Vec::len), Some(10));
    }

    #[test]
    fn the_printed_form_is_for_people() {
        let printed = metrics().to_string();
        for line in [
            "load         1.500 s",
            "prompt       30 tokens, 30 computed in 0.200 s, 150.0 tokens/s",
            "first token  after 0.250 s",
            "generated    11 tokens, 5.0 tokens/s",
            "drafted      8 tokens, 3 accepted",
            "finished     stop",
            "prefill      2 passes, p50 100.00 ms, p90 100.00 ms, p99 100.00 ms, max 100.00 ms",
            "decode       10 passes, p50 15.00 ms, p90 19.00 ms, p99 20.00 ms, max 20.00 ms",
        ] {
            assert!(printed.lines().any(|printed| printed == line), "{line}\n\n{printed}");
        }
        assert!(printed.contains("peak memory"));
    }
}
