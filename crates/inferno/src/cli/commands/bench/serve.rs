//! `inferno bench serve`: how a server answers many clients.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;

use super::Format;
use crate::bench::serving::{Arrivals, Endpoint, Server, ServingWorkload, measure};
use crate::cli::arguments::values::{MAX_SECONDS, number_in, positive};
use crate::cli::failure::Failure;
use crate::cli::input::read_file;
use crate::cli::terminal::progress::steps_bar;

/// The most clients: each is a thread.
const MAX_CLIENTS: usize = 1024;
/// The most requests of a round: the answers are kept until its end, with the time of each token.
const MAX_REQUESTS: usize = 1_000_000;

/// Measure how a running server answers many clients at once.
///
/// The server may be inferno or any other that speaks OpenAI's API. Each number of clients is a round of requests that stream;
/// the report has tokens a second, and percentiles of the time to the first token, between tokens, and of whole answers, as
/// clients see them. Prompts are random words, fitted in length to the server's own count of tokens. A request that fails is
/// counted, with its reason.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno bench serve
  inferno bench serve --concurrency 1,4,16,64 --prompt-tokens 60 --max-tokens 128
  inferno bench serve --concurrency 1 --prompt-tokens 1100 --shared-prefix 1000 --max-tokens 16
  inferno bench serve --rate 0.5,2 --requests 100
  inferno bench serve --url http://other-host:8000 --endpoint chat --no-ignore-eos -o json")]
pub(super) struct BenchServeArgs {
    /// Where the server is.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// The name of the model to ask for [default: the first that the server lists].
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// The key to show [default: none].
    #[arg(long, value_name = "KEY", hide_env_values = true, conflicts_with = "api_key_file")]
    api_key: Option<String>,
    /// Read the key from this file.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// What to ask for.
    #[arg(long, value_enum, default_value_t = EndpointArg::Completions)]
    endpoint: EndpointArg,
    /// Clients that each wait for their answer before they ask again; several numbers are a round each [default: 1,16].
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = number_in(1..=MAX_CLIENTS))]
    concurrency: Vec<usize>,
    /// Requests a second instead, at random times and whether earlier ones are answered or not; several are a round each.
    #[arg(long, value_name = "R,…", value_delimiter = ',', value_parser = rate)]
    #[arg(conflicts_with = "concurrency")]
    rate: Vec<f64>,
    /// Requests of each round [default: four for each client, and at least eight].
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_REQUESTS))]
    requests: Option<usize>,
    /// Tokens of each prompt, about.
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = ServingWorkload::default().prompt_tokens)]
    prompt_tokens: usize,
    /// Tokens at the beginning of each prompt that all requests of a round share, about.
    #[arg(long, value_name = "N", default_value_t = 0)]
    shared_prefix: usize,
    /// Tokens of each answer.
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = ServingWorkload::default().max_tokens)]
    max_tokens: usize,
    /// Let answers end before that: for servers that do not know the field ignore_eos.
    #[arg(long)]
    no_ignore_eos: bool,
    /// How the server is to choose tokens; 0 for always the most probable.
    #[arg(long, value_name = "T", default_value_t = 0.0)]
    temperature: f32,
    /// What the prompts are drawn with [default: another each time, so that the server knows none of them].
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Seconds that a request may take.
    #[arg(long, value_name = "SECONDS", value_parser = number_in(1..=MAX_SECONDS), default_value_t = 600)]
    timeout: usize,
    /// How to print: tables in Markdown, or one JSON object.
    #[arg(short, long, value_enum, default_value_t = Format::Md)]
    output: Format,
}

/// What requests ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EndpointArg {
    /// /v1/completions
    Completions,
    /// /v1/chat/completions
    Chat,
}

impl BenchServeArgs {
    pub(super) fn run(self) -> Result<(), Failure> {
        let workload = self.workload();
        if workload.shared_prefix_tokens > workload.prompt_tokens {
            return Err(Failure::Usage(format!(
                "--shared-prefix {} is more than --prompt-tokens {}; the shared part is a part of the prompt",
                workload.shared_prefix_tokens, workload.prompt_tokens
            )));
        }
        let endpoint = match self.endpoint {
            EndpointArg::Completions => Endpoint::Completions,
            EndpointArg::Chat => Endpoint::Chat,
        };
        let api_key = match &self.api_key_file {
            Some(path) => Some(read_file(path)?.trim().to_owned()),
            None => self.api_key,
        };
        let timeout = Duration::from_secs(self.timeout as u64);
        let server = Server::new(&self.url, endpoint, self.model_name, api_key, timeout);
        let bar = steps_bar("requests", workload.total_requests() as u64);
        let report = measure(&server, &workload, &|| bar.inc(1));
        bar.finish_and_clear();
        let report = report?;
        self.output.print(&report, || report.json())?;
        match report.rounds.iter().all(|round| round.answers.is_empty()) {
            true => Err(Failure::from(crate::Error::ServerNotMeasured {
                url: self.url,
                cause: "every request failed".to_owned(),
            })),
            false => Ok(()),
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

/// Reads a number of requests a second.
fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate >= 0.001 => Ok(rate),
        _ => Err("expected a number of at least 0.001".to_owned()),
    }
}
