//! A load generator for servers that implement the OpenAI API.
//!
//! The server counts tokens (`usage`), so its vocabulary is not needed: prompt lengths are fitted to these counts before
//! the first round. Every request streams, and times are measured as the client sees them. In a round with a rate, times
//! count from when a request was due rather than from when it was sent, so a server that falls behind cannot hide it.

mod client;
mod drafts;
mod prompts;
mod report;
mod round;

pub use client::{CompletedRequest, TargetEndpoint, TargetServer};
pub use drafts::DraftAcceptance;
pub use report::{RoundReport, ServingReport};
pub use round::Arrivals;

use std::time::Duration;

use crate::Error;
use prompts::Prompts;
use round::Round;

/// The load on a server, round by round.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingWorkload {
    /// Approximate length of each prompt in tokens, including the shared prefix.
    pub prompt_tokens: usize,
    /// Approximate number of tokens at the start of the prompt that all requests of a round share.
    pub shared_prefix_tokens: usize,
    /// Maximum number of tokens to generate per request.
    pub max_tokens: usize,
    /// Whether to request the full length with the field `ignore_eos`, which not every server supports.
    pub ignore_eos: bool,
    /// Sampling temperature.
    pub temperature: f32,
    /// Number of requests per round; `None` for four per client, at least eight, and with a rate for those of 60 seconds, at least
    /// 16.
    pub num_requests: Option<usize>,
    /// The arrival process of each round.
    pub rounds: Vec<Arrivals>,
    /// Random seed of the prompts. A server that has seen a seed before may have its prompts cached.
    pub seed: u64,
}

impl Default for ServingWorkload {
    /// One client and sixteen clients, prompts of 60 tokens, 128 generated tokens.
    fn default() -> Self {
        Self {
            prompt_tokens: 60,
            shared_prefix_tokens: 0,
            max_tokens: 128,
            ignore_eos: true,
            temperature: 0.0,
            num_requests: None,
            rounds: vec![Arrivals::Closed { num_clients: 1 }, Arrivals::Closed { num_clients: 16 }],
            seed: 0,
        }
    }
}

impl ServingWorkload {
    /// The most requests per round by default, and that the command line accepts. Results, with the time of every token, stay in
    /// memory until the round ends.
    pub const MAX_REQUESTS: usize = 1_000_000;

    /// Returns the number of requests of a round.
    pub fn num_requests(&self, arrivals: Arrivals) -> usize {
        let default = || arrivals.default_num_requests().min(Self::MAX_REQUESTS);
        self.num_requests.unwrap_or_else(default)
    }

    /// Returns the number of requests of all rounds.
    pub fn total_requests(&self) -> usize {
        self.rounds.iter().map(|&arrivals| self.num_requests(arrivals)).sum()
    }
}

/// Runs `workload` against `server`, and calls `on_completion` after each request.
///
/// **Errors**: [`ServerNotMeasured`](crate::bench::BenchError::ServerNotMeasured) if the server cannot be reached, rejects the first request or does not count
/// tokens. Requests that fail later are counted in the report.
pub fn measure(
    server: &TargetServer,
    workload: &ServingWorkload,
    on_completion: &(dyn Fn() + Sync),
) -> Result<ServingReport, Error> {
    let model = server.model()?;
    let prompts = Prompts::fit(server, &model, workload)?;
    let drafts_before = server.draft_acceptance();
    let rounds = workload.rounds.iter().enumerate().map(|(index, &arrivals)| {
        let round = Round { server, model: &model, workload, prompts: &prompts, arrivals, index };
        round.run(on_completion)
    });
    let rounds = rounds.collect();
    let drafts = server.draft_acceptance().zip(drafts_before);
    Ok(ServingReport {
        url: server.url().to_owned(),
        model: model.clone(),
        workload: workload.clone(),
        rounds,
        drafts: drafts.and_then(|(now, before)| now.since(before)),
    })
}

/// Converts a duration to seconds, for reports.
fn seconds(duration: Option<Duration>) -> Option<f64> {
    duration.map(|duration| duration.as_secs_f64())
}
