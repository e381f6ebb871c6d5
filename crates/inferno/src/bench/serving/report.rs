//! The results of a load test, as Markdown tables and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use inferno_engine::{Passes, percentile};
use serde_json::{Map, Value, json};

use super::{Arrivals, CompletedRequest, DraftAcceptance, ServingWorkload, seconds};
use crate::plural::count;

/// The results of all rounds.
#[derive(Debug, Clone)]
pub struct ServingReport {
    /// Base URL of the server.
    pub url: String,
    /// The requested model.
    pub model: String,
    /// The workload.
    pub workload: ServingWorkload,
    /// The rounds, in order.
    pub rounds: Vec<RoundReport>,
    /// The acceptance of speculative decoding over all rounds, if the server drafted tokens and reports it.
    pub drafts: Option<DraftAcceptance>,
}

/// The results of one round.
#[derive(Debug, Clone)]
pub struct RoundReport {
    /// The arrival process.
    pub arrivals: Arrivals,
    /// Time from the first request to the last response.
    pub duration: Duration,
    /// Completed requests, in order of completion.
    pub completed: Vec<CompletedRequest>,
    /// Number of failed requests by reason.
    pub failures: BTreeMap<String, usize>,
}

impl RoundReport {
    pub(super) fn new(
        arrivals: Arrivals,
        duration: Duration,
        outcomes: Vec<Result<CompletedRequest, String>>,
    ) -> Self {
        let mut report =
            Self { arrivals, duration, completed: Vec::new(), failures: BTreeMap::new() };
        for outcome in outcomes {
            match outcome {
                Ok(request) => report.completed.push(request),
                Err(reason) => *report.failures.entry(reason).or_default() += 1,
            }
        }
        report
    }

    /// Returns the number of failed requests.
    pub fn num_failed(&self) -> usize {
        self.failures.values().sum()
    }

    /// Returns the throughput in generated tokens per second.
    pub fn tokens_per_second(&self) -> f64 {
        self.sum(|request| request.completion_tokens) as f64 / self.duration.as_secs_f64()
    }

    /// Returns the times to first token of requests with (`cached`) or without a prefix cache hit.
    pub fn first_tokens(&self, cached: bool) -> Vec<Duration> {
        let requests =
            self.completed.iter().filter(|request| (request.cached_tokens > 0) == cached);
        requests.map(|request| request.first_token).collect()
    }

    fn sum(&self, of: impl Fn(&CompletedRequest) -> usize) -> usize {
        self.completed.iter().map(of).sum()
    }

    /// Returns the reported times by name.
    fn times(&self) -> [(&'static str, Vec<Duration>); 5] {
        let of_all =
            |of: fn(&CompletedRequest) -> Duration| self.completed.iter().map(of).collect();
        let between =
            self.completed.iter().flat_map(|request| request.between_tokens.iter().copied());
        [
            ("time to first token", of_all(|request| request.first_token)),
            ("time to first token, cached prompt", self.first_tokens(true)),
            ("time to first token, new prompt", self.first_tokens(false)),
            ("time between tokens", between.collect()),
            ("total time", of_all(|request| request.total)),
        ]
    }

    fn load(&self) -> String {
        match self.arrivals {
            Arrivals::Closed { num_clients } => count(num_clients, "client"),
            Arrivals::Poisson { rate } => format!("{rate} requests/s"),
        }
    }

    fn json(&self) -> Value {
        let (num_clients, rate) = match self.arrivals {
            Arrivals::Closed { num_clients } => (Some(num_clients), None),
            Arrivals::Poisson { rate } => (None, Some(rate)),
        };
        let times = self.times().map(|(name, times)| {
            let percentiles = Passes::PERCENTILES.map(|(name, percent)| {
                (name.to_owned(), json!(seconds(percentile(&times, percent))))
            });
            (name.replace(", ", "_").replace(' ', "_"), Value::from(Map::from_iter(percentiles)))
        });
        json!({
            "concurrency": num_clients,
            "rate": rate,
            "seconds": self.duration.as_secs_f64(),
            "requests": self.completed.len(),
            "failed": self.num_failed(),
            "failures": self.failures,
            "requests_per_second": self.completed.len() as f64 / self.duration.as_secs_f64(),
            "output_tps": self.tokens_per_second(),
            "prompt_tokens": self.sum(|request| request.prompt_tokens),
            "cached_tokens": self.sum(|request| request.cached_tokens),
            "completion_tokens": self.sum(|request| request.completion_tokens),
            "times_seconds": Map::from_iter(times),
        })
    }
}

impl ServingReport {
    /// Returns everything as JSON.
    ///
    /// **Units**: seconds, and tokens per second (`_tps`).
    pub fn json(&self) -> Value {
        let workload = &self.workload;
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "url": self.url,
            "model": self.model,
            "prompt_tokens": workload.prompt_tokens,
            "shared_prefix_tokens": workload.shared_prefix_tokens,
            "max_tokens": workload.max_tokens,
            "temperature": workload.temperature,
            "seed": workload.seed,
            "drafts": self.drafts.as_ref().map(DraftAcceptance::json),
            "rounds": self.rounds.iter().map(RoundReport::json).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for ServingReport {
    /// Writes Markdown tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServingWorkload { prompt_tokens, shared_prefix_tokens, max_tokens, seed, .. } =
            self.workload;
        write!(f, "{} at {}; about {prompt_tokens} prompt tokens", self.model, self.url)?;
        if shared_prefix_tokens > 0 {
            write!(f, ", {shared_prefix_tokens} of them shared")?;
        }
        writeln!(f, "; up to {max_tokens} generated tokens; seed {seed}\n")?;
        writeln!(
            f,
            "| load | tokens/s | requests/s | completed | failed | prompt tokens | cached | generated tokens |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for round in &self.rounds {
            writeln!(
                f,
                "| {} | {:.1} | {:.2} | {} | {} | {} | {} | {} |",
                round.load(),
                round.tokens_per_second(),
                round.completed.len() as f64 / round.duration.as_secs_f64(),
                round.completed.len(),
                round.num_failed(),
                round.sum(|request| request.prompt_tokens),
                round.sum(|request| request.cached_tokens),
                round.sum(|request| request.completion_tokens),
            )?;
        }
        write!(f, "\n| load | milliseconds |")?;
        for (name, _) in Passes::PERCENTILES {
            write!(f, " {name} |")?;
        }
        writeln!(f, "\n|---|---|{}", "---:|".repeat(Passes::PERCENTILES.len()))?;
        for round in &self.rounds {
            let times = round.times();
            let reported = times.iter().filter(|(_, times)| !times.is_empty());
            // One line is enough if all prompts are cached or none is.
            let are_mixed = !times[1].1.is_empty() && !times[2].1.is_empty();
            for (name, times) in reported.filter(|(name, _)| are_mixed || !name.ends_with("prompt"))
            {
                write!(f, "| {} | {name} |", round.load())?;
                for (_, percent) in Passes::PERCENTILES {
                    let time = percentile(times, percent).unwrap_or_default();
                    write!(f, " {:.1} |", time.as_secs_f64() * 1e3)?;
                }
                writeln!(f)?;
            }
        }
        if let Some(drafts) = &self.drafts {
            writeln!(f, "\n{drafts}")?;
        }
        for round in &self.rounds {
            for (reason, count) in &round.failures {
                writeln!(f, "\n{}: {count} failed: {reason}", round.load())?;
            }
        }
        Ok(())
    }
}
