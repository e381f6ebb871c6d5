//! The times of requests, simulated or measured.

use std::ops::Range;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::workload::Workload;

/// Significant digits of the recorded times.
const DIGITS: u8 = 3;
/// The longest time that is distinguished, one day in microseconds.
const LONGEST: u64 = 24 * 3600 * 1_000_000;

/// Collects the times of the requests that arrive after the warm-up.
#[derive(Debug, Clone)]
pub struct Recorder {
    warm_up: Duration,
    end: Duration,
    /// In microseconds, as the next one.
    first_token: Histogram<u64>,
    between_tokens: Histogram<u64>,
    num_requests: usize,
    prompt_tokens: usize,
    cached_tokens: usize,
    generated_tokens: usize,
}

/// The times of one request so far.
#[derive(Debug, Clone, Copy)]
pub struct RequestTimes {
    arrival: Duration,
    last_token: Option<Duration>,
    prompt_tokens: usize,
    /// Tokens of the prompt that were in the prefix cache.
    pub cached_tokens: usize,
}

impl RequestTimes {
    /// Creates the times of a request with a prompt of `prompt_tokens` tokens.
    pub fn new(arrival: Duration, prompt_tokens: usize) -> Self {
        Self { arrival, last_token: None, prompt_tokens, cached_tokens: 0 }
    }
}

impl Recorder {
    /// Creates a recorder for one run of `workload`.
    pub fn new(workload: &Workload) -> Self {
        let histogram = || Histogram::new_with_max(LONGEST, DIGITS).expect("constants in range");
        let Range { start: warm_up, end } = workload.measured_time();
        Self {
            warm_up,
            end,
            first_token: histogram(),
            between_tokens: histogram(),
            num_requests: 0,
            prompt_tokens: 0,
            cached_tokens: 0,
            generated_tokens: 0,
        }
    }

    /// Records a token that was generated at `now`.
    pub fn token(&mut self, request: &mut RequestTimes, now: Duration) {
        self.tokens(request, now, 1);
    }

    /// Records tokens that arrived together at `now`: the time since the last ones is divided by their number.
    pub fn tokens(&mut self, request: &mut RequestTimes, now: Duration, count: usize) {
        let last = request.last_token.replace(now);
        if now >= self.warm_up && now < self.end {
            self.generated_tokens += count;
        }
        if request.arrival < self.warm_up {
            return;
        }
        let microseconds = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        match last {
            None => self.first_token.saturating_record(microseconds(now - request.arrival)),
            Some(last) => {
                let each = microseconds((now - last) / count.max(1) as u32);
                (0..count).for_each(|_| self.between_tokens.saturating_record(each));
            }
        }
    }

    /// Records a request that has ended.
    pub fn finished(&mut self, request: &RequestTimes) {
        if request.arrival >= self.warm_up {
            self.num_requests += 1;
            self.prompt_tokens += request.prompt_tokens;
            self.cached_tokens += request.cached_tokens;
        }
    }

    /// Returns the number of measured requests.
    pub fn num_requests(&self) -> usize {
        self.num_requests
    }

    /// Returns a percentile of the time to the first token, in seconds.
    pub fn first_token(&self, percent: f64) -> f64 {
        self.first_token.value_at_percentile(percent) as f64 / 1e6
    }

    /// Returns a percentile of the time between tokens, in seconds.
    pub fn between_tokens(&self, percent: f64) -> f64 {
        self.between_tokens.value_at_percentile(percent) as f64 / 1e6
    }

    /// Returns the share of prompt tokens that were in the prefix cache, from 0 to 1.
    pub fn hit_rate(&self) -> f64 {
        self.cached_tokens as f64 / self.prompt_tokens.max(1) as f64
    }

    /// Returns the number of tokens that were generated per second after the warm-up.
    pub fn tokens_per_second(&self) -> f64 {
        let seconds = self.end.saturating_sub(self.warm_up).as_secs_f64();
        if seconds > 0.0 { self.generated_tokens as f64 / seconds } else { 0.0 }
    }
}
