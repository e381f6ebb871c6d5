//! What was measured of a server, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use inferno_engine::{Passes, percentile};
use serde_json::{Map, Value, json};

use super::{Answer, Arrivals, ServingWorkload, seconds};

/// How a server answered under each load.
#[derive(Debug, Clone)]
pub struct ServingReport {
    /// Where the server is.
    pub url: String,
    /// The model that was asked for.
    pub model: String,
    /// What was asked.
    pub workload: ServingWorkload,
    /// The rounds, in their order.
    pub rounds: Vec<RoundReport>,
}

/// How a server answered in one round.
#[derive(Debug, Clone)]
pub struct RoundReport {
    /// How requests came.
    pub arrivals: Arrivals,
    /// From the first request to the last answer.
    pub duration: Duration,
    /// The answers, in the order in which they ended.
    pub answers: Vec<Answer>,
    /// Why requests failed, and how many for each reason.
    pub failures: BTreeMap<String, usize>,
}

impl RoundReport {
    pub(super) fn new(
        arrivals: Arrivals,
        duration: Duration,
        outcomes: Vec<Result<Answer, String>>,
    ) -> Self {
        let mut report =
            Self { arrivals, duration, answers: Vec::new(), failures: BTreeMap::new() };
        for outcome in outcomes {
            match outcome {
                Ok(answer) => report.answers.push(answer),
                Err(reason) => *report.failures.entry(reason).or_default() += 1,
            }
        }
        report
    }

    /// Requests that failed.
    pub fn num_failed(&self) -> usize {
        self.failures.values().sum()
    }

    /// Tokens of all answers, a second.
    pub fn tokens_per_second(&self) -> f64 {
        self.sum(|answer| answer.completion_tokens) as f64 / self.duration.as_secs_f64()
    }

    /// The times to the first token of answers whose prompt the server had in part (`cached`) or had not.
    pub fn first_tokens(&self, cached: bool) -> Vec<Duration> {
        let answers = self.answers.iter().filter(|answer| (answer.cached_tokens > 0) == cached);
        answers.map(|answer| answer.first_token).collect()
    }

    fn sum(&self, of: impl Fn(&Answer) -> usize) -> usize {
        self.answers.iter().map(of).sum()
    }

    /// The times that are reported, by name.
    fn times(&self) -> [(&'static str, Vec<Duration>); 5] {
        let of_all = |of: fn(&Answer) -> Duration| self.answers.iter().map(of).collect();
        let between = self.answers.iter().flat_map(|answer| answer.between_tokens.iter().copied());
        [
            ("first token", of_all(|answer| answer.first_token)),
            ("first token, cached prompt", self.first_tokens(true)),
            ("first token, new prompt", self.first_tokens(false)),
            ("between tokens", between.collect()),
            ("whole answer", of_all(|answer| answer.total)),
        ]
    }

    fn load(&self) -> String {
        match self.arrivals {
            Arrivals::Closed { num_clients: 1 } => "1 client".to_owned(),
            Arrivals::Closed { num_clients } => format!("{num_clients} clients"),
            Arrivals::Poisson { rate } => format!("{rate} a second"),
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
            "requests": self.answers.len(),
            "failed": self.num_failed(),
            "failures": self.failures,
            "requests_per_second": self.answers.len() as f64 / self.duration.as_secs_f64(),
            "output_tps": self.tokens_per_second(),
            "prompt_tokens": self.sum(|answer| answer.prompt_tokens),
            "cached_tokens": self.sum(|answer| answer.cached_tokens),
            "completion_tokens": self.sum(|answer| answer.completion_tokens),
            "times_seconds": Map::from_iter(times),
        })
    }
}

impl ServingReport {
    /// Everything, a round each.
    ///
    /// **Units**: seconds, and tokens a second (`_tps`).
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
            "rounds": self.rounds.iter().map(RoundReport::json).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for ServingReport {
    /// Tables in Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServingWorkload { prompt_tokens, shared_prefix_tokens, max_tokens, seed, .. } =
            self.workload;
        write!(f, "{} at {}; prompts of about {prompt_tokens} tokens", self.model, self.url)?;
        if shared_prefix_tokens > 0 {
            write!(f, ", {shared_prefix_tokens} of them shared")?;
        }
        writeln!(f, "; up to {max_tokens} new tokens; seed {seed}\n")?;
        writeln!(
            f,
            "| load | tokens/s | answers/s | answers | failed | prompt tokens | cached | new tokens |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for round in &self.rounds {
            writeln!(
                f,
                "| {} | {:.1} | {:.2} | {} | {} | {} | {} | {} |",
                round.load(),
                round.tokens_per_second(),
                round.answers.len() as f64 / round.duration.as_secs_f64(),
                round.answers.len(),
                round.num_failed(),
                round.sum(|answer| answer.prompt_tokens),
                round.sum(|answer| answer.cached_tokens),
                round.sum(|answer| answer.completion_tokens),
            )?;
        }
        write!(f, "\n| load | milliseconds |")?;
        for (name, _) in Passes::PERCENTILES {
            write!(f, " {name} |")?;
        }
        writeln!(f, "\n|---|---|{}", "---:|".repeat(Passes::PERCENTILES.len()))?;
        for round in &self.rounds {
            let times = round.times();
            let told = times.iter().filter(|(_, times)| !times.is_empty());
            // Where all prompts are of one sort, one line says it.
            let are_mixed = !times[1].1.is_empty() && !times[2].1.is_empty();
            for (name, times) in told.filter(|(name, _)| are_mixed || !name.ends_with("prompt")) {
                write!(f, "| {} | {name} |", round.load())?;
                for (_, percent) in Passes::PERCENTILES {
                    let time = percentile(times, percent).unwrap_or_default();
                    write!(f, " {:.1} |", time.as_secs_f64() * 1e3)?;
                }
                writeln!(f)?;
            }
        }
        for round in &self.rounds {
            for (reason, count) in &round.failures {
                writeln!(f, "\n{}: {count} failed: {reason}", round.load())?;
            }
        }
        Ok(())
    }
}
