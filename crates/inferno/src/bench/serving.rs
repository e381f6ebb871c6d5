//! How a server answers many clients at once: a load generator for any address that speaks OpenAI's API.
//!
//! The server may be ours or another. It counts the tokens (`usage`), so none of them needs its vocabulary here: the
//! lengths of the prompts are fitted to its own counts before the first round. Every request streams, and its times are taken where
//! a client sees them. In a round with a rate, time counts from when a request was due, not from when
//! a client was free to send it: a server that falls behind cannot hide it.

mod client;
mod prompts;
mod report;
mod round;

pub use client::{Answer, Endpoint, Server};
pub use report::{RoundReport, ServingReport};
pub use round::Arrivals;

use std::time::Duration;

use crate::Error;
use prompts::Prompts;
use round::Round;

/// The load that a server is put under, round by round.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingWorkload {
    /// Tokens of each prompt, about, those that all share included.
    pub prompt_tokens: usize,
    /// Tokens at the beginning of each prompt that all requests of a round share, about.
    pub shared_prefix_tokens: usize,
    /// Tokens that each answer may have.
    pub max_tokens: usize,
    /// Whether to ask, by the field `ignore_eos`, for answers that are no shorter. Not every server knows it.
    pub ignore_eos: bool,
    /// How the server is to choose tokens.
    pub temperature: f32,
    /// Requests of each round; four for each client, and at least eight, where it is not given.
    pub num_requests: Option<usize>,
    /// How requests come, a round each.
    pub rounds: Vec<Arrivals>,
    /// What the prompts are drawn with. A server that has answered the same seed before may know its prompts.
    pub seed: u64,
}

impl Default for ServingWorkload {
    /// One client and sixteen, prompts of 60 tokens, answers of 128.
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
    /// Requests of one of the rounds.
    pub fn num_requests(&self, arrivals: Arrivals) -> usize {
        self.num_requests.unwrap_or((4 * arrivals.num_clients()).max(8))
    }

    /// Requests of all rounds.
    pub fn total_requests(&self) -> usize {
        self.rounds.iter().map(|&arrivals| self.num_requests(arrivals)).sum()
    }
}

/// Puts `server` under `workload`, and calls `on_answer` after each request.
///
/// **Errors**: [`Error::ServerNotMeasured`] where the server cannot be reached, refuses the first request or does not count tokens.
/// Requests that fail later are counted in the report.
pub fn measure(
    server: &Server,
    workload: &ServingWorkload,
    on_answer: &(dyn Fn() + Sync),
) -> Result<ServingReport, Error> {
    let model = server.model()?;
    let prompts = Prompts::fit(server, &model, workload)?;
    let rounds = workload.rounds.iter().enumerate().map(|(index, &arrivals)| {
        let round = Round { server, model: &model, workload, prompts: &prompts, arrivals, index };
        round.run(on_answer)
    });
    Ok(ServingReport {
        url: server.url().to_owned(),
        model: model.clone(),
        workload: workload.clone(),
        rounds: rounds.collect(),
    })
}

/// Seconds, for reports.
fn seconds(duration: Option<Duration>) -> Option<f64> {
    duration.map(|duration| duration.as_secs_f64())
}
