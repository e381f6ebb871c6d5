//! One round: so many requests, as clients or as a rate send them.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::prompts::{Draw, Prompts};
use super::report::RoundReport;
use super::{Server, ServingWorkload};

/// Requests that may be under way at once where a rate sends them.
const MAX_OPEN_REQUESTS: usize = 512;

/// How requests come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// So many clients, each of which sends its next request when it has its answer.
    Closed {
        /// The clients.
        num_clients: usize,
    },
    /// So many requests a second on average, at random and whether earlier ones are answered or not (a Poisson process).
    Poisson {
        /// Requests a second.
        rate: f64,
    },
}

impl Arrivals {
    /// Requests that may be under way at once.
    pub(super) fn num_clients(self) -> usize {
        match self {
            Self::Closed { num_clients } => num_clients,
            Self::Poisson { .. } => MAX_OPEN_REQUESTS,
        }
    }

    /// When each of `num_requests` is due, after the beginning; at once where clients send them.
    fn due_times(self, num_requests: usize, seed: u64) -> Vec<Option<Duration>> {
        let Self::Poisson { rate } = self else {
            return vec![None; num_requests];
        };
        let mut draw = Draw::new(seed, u64::MAX, u64::MAX);
        let mut at = 0.0;
        let mut next = || {
            at += -draw.unit().ln() / rate;
            Some(Duration::from_secs_f64(at))
        };
        (0..num_requests).map(|_| next()).collect()
    }
}

/// A round that is to be run.
pub(super) struct Round<'a> {
    pub(super) server: &'a Server,
    pub(super) model: &'a str,
    pub(super) workload: &'a ServingWorkload,
    pub(super) prompts: &'a Prompts,
    pub(super) arrivals: Arrivals,
    pub(super) index: usize,
}

impl Round<'_> {
    /// Sends all requests, each from a thread that waits for its answer.
    pub(super) fn run(&self, on_answer: &(dyn Fn() + Sync)) -> RoundReport {
        let num_requests = self.workload.num_requests(self.arrivals);
        let due_times = self.arrivals.due_times(num_requests, self.workload.seed);
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Vec::with_capacity(num_requests));
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
                let answer = self.server.stream(self.model, &prompt, self.workload, due);
                answers.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
                on_answer();
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.arrivals.num_clients().min(num_requests) {
                scope.spawn(client);
            }
        });
        let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        RoundReport::new(self.arrivals, started.elapsed(), answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_on_average() {
        let due = Arrivals::Poisson { rate: 50.0 }.due_times(2000, 3);
        let due: Vec<Duration> = due.into_iter().map(|due| due.expect("a time")).collect();
        assert!(due.is_sorted());
        let seconds = due.last().expect("the last").as_secs_f64();
        assert!((36.0..44.0).contains(&seconds), "{seconds}");
    }
}
