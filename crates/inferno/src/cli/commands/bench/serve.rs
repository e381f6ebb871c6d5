//! `inferno bench serve`: measures a server under load.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::bench::BenchError;
use crate::bench::serving::{Arrivals, ServingWorkload, TargetEndpoint, TargetServer, measure};
use crate::cli::arguments::api_keys::read_api_keys;
use crate::cli::arguments::report_format::ReportFormat;
use crate::cli::arguments::values::{MAX_SECONDS, number_in, positive};
use crate::cli::failure::Failure;
use crate::cli::terminal::progress::DelayedBar;

/// The largest number of clients. Each is a thread.
const MAX_CLIENTS: usize = 1024;

/// Measure a running server under load
///
/// Works with any server that implements the OpenAI API. Every number of clients is one round of streaming requests. The
/// report has the throughput in tokens per second, and percentiles of the time to first token, the time between tokens
/// and the total time, as seen by clients. Prompts are random words, fitted to the requested length by the token counts
/// that the server reports. Failed requests are counted with the reason.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno bench serve
  inferno bench serve --concurrency 1,4,16,64 --max-tokens 128
  inferno bench serve --concurrency 1 --prompt-tokens 1100 --shared-prefix 1000
  inferno bench serve --rate 0.5,2 --requests 100
  inferno bench serve --url http://other-host:8000 --endpoint chat -o json")]
pub(crate) struct BenchServeArgs {
    /// Base URL of the server
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// Model to request [default: the first model that the server lists]
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// API key to send [default: none]
    #[arg(long = "api-key", value_name = "KEY")]
    key: Option<String>,
    /// Read the API key from this file: its first line that is not empty and does not start with #
    #[arg(long = "api-key-file", value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Endpoint to send requests to
    #[arg(long, value_enum, default_value_t = TargetEndpoint::Completions)]
    endpoint: TargetEndpoint,
    /// Number of clients, each of which sends its next request when the last one is complete; a list runs one round for
    /// each number [default: 1,16]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = number_in(1..=MAX_CLIENTS))]
    concurrency: Vec<usize>,
    /// Requests per second, sent at random times (a Poisson process) without waiting for earlier ones; a list runs one
    /// round for each rate
    #[arg(long, value_name = "R,…", value_delimiter = ',', value_parser = rate)]
    rate: Vec<f64>,
    /// Number of requests per round [default: 4 per client, at least 8; with --rate those of 60 seconds, at least 16]
    #[arg(long, value_name = "N", value_parser = number_in(1..=ServingWorkload::MAX_REQUESTS))]
    requests: Option<usize>,
    /// Approximate prompt length in tokens
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = ServingWorkload::default().prompt_tokens)]
    prompt_tokens: usize,
    /// Approximate number of tokens at the start of the prompt that all requests of a round share
    #[arg(long, value_name = "N", default_value_t = 0)]
    shared_prefix: usize,
    /// Number of tokens to generate per request
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = ServingWorkload::default().max_tokens)]
    max_tokens: usize,
    /// Allow shorter outputs, for servers that do not support the field ignore_eos
    #[arg(long)]
    no_ignore_eos: bool,
    /// Sampling temperature; 0 is greedy
    #[arg(long, value_name = "T", default_value_t = 0.0)]
    temperature: f32,
    /// Random seed of the prompts [default: random, so that no prompt is in the server's cache]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Time limit per request, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = number_in(1..=MAX_SECONDS), default_value_t = 600)]
    timeout: usize,
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Md)]
    output: ReportFormat,
}

impl BenchServeArgs {
    pub(super) fn run(self) -> Result<(), Failure> {
        let workload = self.workload();
        if workload.shared_prefix_tokens > workload.prompt_tokens {
            return Err(Failure::Usage(format!(
                "--shared-prefix {} must not exceed --prompt-tokens {}; the prefix is part of the prompt",
                workload.shared_prefix_tokens, workload.prompt_tokens
            )));
        }
        self.check_exclusive()?;
        let api_key = match &self.key_file {
            Some(path) => Some(first_key(path)?),
            None => self.key,
        };
        let timeout = Duration::from_secs(self.timeout as u64);
        let server = TargetServer::new(&self.url, self.endpoint, self.model_name, api_key, timeout);
        let bar = DelayedBar::steps("requests");
        let (completed, total) = (AtomicU64::new(0), workload.total_requests() as u64);
        let report = measure(&server, &workload, &|| {
            bar.show(completed.fetch_add(1, Ordering::Relaxed) + 1, total);
        });
        drop(bar);
        let report = report?;
        self.output.print(&report, || report.json())?;
        match report.rounds.iter().all(|round| round.completed.is_empty()) {
            true => Err(Failure::from(crate::Error::Bench(BenchError::ServerNotMeasured {
                url: self.url,
                cause: "every request failed".to_owned(),
            }))),
            false => Ok(()),
        }
    }

    /// Checks options that exclude each other. One in the environment does not exclude one on the command line.
    fn check_exclusive(&self) -> Result<(), Failure> {
        let pairs = [
            ("--api-key", self.key.is_some(), "--api-key-file", self.key_file.is_some()),
            ("--concurrency", !self.concurrency.is_empty(), "--rate", !self.rate.is_empty()),
        ];
        match pairs.iter().find(|(_, first, _, second)| *first && *second) {
            Some((first, _, second, _)) => {
                Err(Failure::Usage(format!("{first} and {second} exclude each other")))
            }
            None => Ok(()),
        }
    }

    fn workload(&self) -> ServingWorkload {
        let default = ServingWorkload::default();
        let rounds = match (&self.concurrency[..], &self.rate[..]) {
            ([], []) => default.rounds,
            (clients, []) => {
                clients.iter().map(|&num_clients| Arrivals::Closed { num_clients }).collect()
            }
            (_, rates) => rates.iter().map(|&rate| Arrivals::Poisson { rate }).collect(),
        };
        ServingWorkload {
            prompt_tokens: self.prompt_tokens,
            shared_prefix_tokens: self.shared_prefix,
            max_tokens: self.max_tokens,
            ignore_eos: !self.no_ignore_eos,
            temperature: self.temperature,
            num_requests: self.requests,
            rounds,
            seed: self.seed.unwrap_or_else(|| {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                u64::from(now.subsec_nanos()) ^ now.as_secs()
            }),
        }
    }
}

/// Returns the first key in a file.
///
/// **Errors**: a file that cannot be read or has no key.
fn first_key(path: &Path) -> Result<String, Failure> {
    let first = read_api_keys(path)?.into_iter().next();
    first.ok_or_else(|| Failure::Usage(format!("{} contains no API key", path.display())))
}

/// Parses a number of requests per second.
fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate >= 0.001 => Ok(rate),
        _ => Err("expected a number of at least 0.001".to_owned()),
    }
}
