//! One round: a number of requests with one arrival process.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::prompts::{Prompts, RandomStream};
use super::report::RoundReport;
use super::{ServingWorkload, TargetServer};

/// Maximum number of open requests in a round with a rate.
const MAX_OPEN_REQUESTS: usize = 512;

/// How long a round with a rate sends requests by default, on average.
const DEFAULT_SECONDS: f64 = 60.0;

/// The arrival process of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// A number of clients, each of which sends its next request when the last one is complete.
    Closed {
        /// Number of clients.
        num_clients: usize,
    },
    /// Requests at random times, independent of responses (a Poisson process).
    Poisson {
        /// Average number of requests per second.
        rate: f64,
    },
}

impl Arrivals {
    /// Returns the maximum number of open requests.
    pub(super) fn num_clients(self) -> usize {
        match self {
            Self::Closed { num_clients } => num_clients,
            Self::Poisson { .. } => MAX_OPEN_REQUESTS,
        }
    }

    /// Returns the number of requests of a round by default.
    pub(super) fn default_num_requests(self) -> usize {
        match self {
            Self::Closed { num_clients } => num_clients.saturating_mul(4).max(8),
            Self::Poisson { rate } => ((rate * DEFAULT_SECONDS).ceil() as usize).max(16),
        }
    }

    /// Returns when each request is due, relative to the start; `None` for as soon as a client is free.
    fn due_times(self, num_requests: usize, seed: u64) -> Vec<Option<Duration>> {
        let Self::Poisson { rate } = self else {
            return vec![None; num_requests];
        };
        let mut draw = RandomStream::new(seed, u64::MAX, u64::MAX);
        let mut at = 0.0;
        let mut next = || {
            at += -draw.unit().ln() / rate;
            Some(Duration::from_secs_f64(at))
        };
        (0..num_requests).map(|_| next()).collect()
    }
}

/// A round to run.
pub(super) struct Round<'a> {
    pub(super) server: &'a TargetServer,
    pub(super) model: &'a str,
    pub(super) workload: &'a ServingWorkload,
    pub(super) prompts: &'a Prompts,
    pub(super) arrivals: Arrivals,
    pub(super) index: usize,
}

impl Round<'_> {
    /// Sends all requests, with one thread per client.
    pub(super) fn run(&self, on_completion: &(dyn Fn() + Sync)) -> RoundReport {
        let num_requests = self.workload.num_requests(self.arrivals);
        let due_times = self.arrivals.due_times(num_requests, self.workload.seed);
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::with_capacity(num_requests));
        let started = Instant::now();
        let client = || {
            loop {
                let request = next.fetch_add(1, Ordering::Relaxed);
                let Some(&due) = due_times.get(request) else { return };
                let prompt = self.prompts.prompt(self.index, request);
                let due = match due {
                    Some(due) => {
                        thread::sleep(due.saturating_sub(started.elapsed()));
                        started + due
                    }
                    None => Instant::now(),
                };
                let outcome = self.server.stream(self.model, &prompt, self.workload, due);
                outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                on_completion();
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.arrivals.num_clients().min(num_requests) {
                scope.spawn(client);
            }
        });
        let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        RoundReport::new(self.arrivals, started.elapsed(), outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_with_a_rate_sends_the_requests_of_a_minute() {
        let numbers = [0.1, 0.5, 2.0].map(|rate| Arrivals::Poisson { rate }.default_num_requests());
        assert_eq!(numbers, [16, 30, 120]);
        let clients = [1, 16].map(|num_clients| Arrivals::Closed { num_clients });
        assert_eq!(clients.map(Arrivals::default_num_requests), [8, 64]);
    }

    #[test]
    fn requests_arrive_at_the_average_rate() {
        let due = Arrivals::Poisson { rate: 50.0 }.due_times(2000, 3);
        let due: Vec<Duration> = due.into_iter().map(|due| due.expect("a time")).collect();
        assert!(due.is_sorted());
        let seconds = due.last().expect("the last").as_secs_f64();
        assert!((36.0..44.0).contains(&seconds), "{seconds}");
    }
}
