//! `inferno batch`: answers the requests of a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use inferno_engine::EngineOptions;
use inferno_server::{Limits, LocalServer, ServerOptions};

use crate::Error;
use crate::batch::{
    BatchCounts, BatchProgress, BatchRequests, BatchRun, BatchStream, FailureCount, Failures,
    OtherModel, resume,
};
use crate::cli::arguments::served_model::{PreparedModel, ServedModelArgs};
use crate::cli::failure::Failure;
use crate::cli::input::STDIN_PATH;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable;
use crate::cli::terminal::progress::DelayedBar;
use crate::output_file::{ensure_creatable, ensure_not_read};
use crate::plural::count;

/// Requests that are prepared at least while others are computed.
const MIN_PREPARED: usize = 16;
/// Time for the preparation of a request, in which it may wait for all others: no client waits for it.
const PREPARATION_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Answer the requests of a file in OpenAI's batch format
///
/// Each line of IN is a request such as
/// {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": […]}}
/// with the url /v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings, /v1/messages, /v1/rerank or
/// /v1/score. Line N of OUT answers request N of IN: {"id": …, "custom_id": …, "response": {"status_code": 200, "request_id": …,
/// "body": {…}}, "error": null}. A request that cannot be sent has an error and no response.
///
/// Many requests are computed at once (--max-num-seqs). If OUT exists, answers that it already contains are not computed again,
/// so an interrupted command is continued by repeating it. The exit status is 0 if all requests in OUT succeeded, 1 if one
/// failed, and 130 after Ctrl-C.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno batch requests.jsonl answers.jsonl
  inferno batch -m qwen3:0.6b requests.jsonl answers.jsonl --max-num-seqs 128
  generate_requests | inferno batch -m model.gguf - - \\
    | jq .response.body.choices[0].message.content")]
pub(crate) struct BatchArgs {
    /// File with one request per line; - reads standard input
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,
    /// File to write one answer per line to, or to continue; - writes to standard output
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,
    /// Same as the argument IN
    #[arg(short, long, value_name = "FILE", conflicts_with = "input")]
    input_file: Option<PathBuf>,
    /// Same as the argument OUT
    #[arg(short, long, value_name = "FILE", conflicts_with = "output")]
    output_file: Option<PathBuf>,
    /// Answer requests with unknown fields with an error instead of ignoring the fields
    #[arg(long)]
    strict_fields: bool,
    #[command(flatten)]
    model: ServedModelArgs,
}

type Requests = Peekable<BatchRequests<Box<dyn BufRead + Send>>>;

impl BatchArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (Some(input), Some(output)) = (
            self.input.as_ref().or(self.input_file.as_ref()),
            self.output.as_ref().or(self.output_file.as_ref()),
        ) else {
            return Err(Failure::Usage(
                "expected an input and an output, for example inferno batch requests.jsonl answers.jsonl"
                    .to_owned(),
            ));
        };
        let (input, output) = (stream(input), stream(output));
        let options = self.server_options();
        self.model.check()?;
        let model = self.model.open(None)?;
        if self.model.is_dry_run() {
            return self.model.report_memory(&model);
        }
        let (reader, input_bytes) = open_input(&input)?;
        let mut requests = BatchRequests::new(reader, options.limits.max_body_bytes).peekable();
        let name = self.model.name(model.checkpoint());
        let (mut writer, earlier) = open_output(&input, &output, &name, &mut requests)?;
        if earlier.num_requests > 0 && requests.peek().is_none() {
            return report(BatchProgress::default(), earlier, &output, None);
        }
        let model = self.model.prepare(model)?;
        let server = self.server(model, options)?;
        let run = BatchRun {
            server: &server,
            input: &input,
            output: &output,
            max_in_flight: self.max_in_flight(),
        };
        let started = Instant::now();
        let progress = answer(&run, requests, &mut *writer, input_bytes)?;
        let work = Work::since(started, &server);
        report(progress, earlier, &output, Some(work))
    }

    /// The number of requests at once. Sequences of the same length end in the same step, and then as many others are ready.
    fn max_in_flight(&self) -> usize {
        let num_computed = self.model.max_num_seqs();
        num_computed.saturating_add(num_computed.max(MIN_PREPARED))
    }

    /// The options of a server that rejects none of these requests because there are others.
    fn server_options(&self) -> ServerOptions {
        let limits = Limits {
            max_num_preparing: self.max_in_flight(),
            preparation_timeout: PREPARATION_TIMEOUT,
            ..Limits::default()
        };
        ServerOptions { strict_fields: self.strict_fields, limits, ..ServerOptions::default() }
    }

    /// Loads the model and starts a server for it.
    fn server(&self, model: PreparedModel, options: ServerOptions) -> Result<LocalServer, Error> {
        // A request with several choices waits in as many places.
        let max_num_waiting = self.max_in_flight().saturating_mul(options.limits.max_num_choices);
        let engine = EngineOptions { max_num_waiting, ..EngineOptions::default() };
        Ok(LocalServer::start(options, self.model.load(model, engine)?)?)
    }
}

fn stream(path: &Path) -> BatchStream {
    match path.as_os_str() == STDIN_PATH {
        true => BatchStream::Standard,
        false => BatchStream::File(path.to_owned()),
    }
}

/// Opens the input; the second value is its size in bytes, or 0 if that is unknown.
fn open_input(input: &BatchStream) -> Result<(Box<dyn BufRead + Send>, u64), Error> {
    let BatchStream::File(path) = input else {
        return Ok((Box::new(BufReader::new(io::stdin())), 0));
    };
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((Box::new(BufReader::new(file)), size))
}

/// Opens the output, after the answers that it contains; warns if another model than `model` wrote some.
fn open_output(
    input: &BatchStream,
    output: &BatchStream,
    model: &str,
    requests: &mut Requests,
) -> Result<(Box<dyn Write>, BatchCounts), Error> {
    let BatchStream::File(path) = output else {
        return Ok((Box::new(io::stdout().lock()), BatchCounts::default()));
    };
    if let BatchStream::File(input) = input {
        ensure_not_read([input], path)?;
    }
    if !path.exists() {
        ensure_creatable(path)?;
    }
    let resumed = resume(path, model, requests, |error| input.unreadable(error))?;
    if let Some(other) = &resumed.other_model {
        warn_of_other_model(path, model, other);
    }
    Ok((Box::new(resumed.file), resumed.counts))
}

fn warn_of_other_model(path: &Path, model: &str, other: &OtherModel) {
    let OtherModel { name, num_answers } = other;
    print_note(&printable(&format!(
        "warning: {} contains {} of the model {name} instead of {model}; delete it or choose another output to answer all requests with {model}",
        path.display(),
        count(*num_answers, "answer"),
    )));
}

/// Answers the requests, with a progress bar.
fn answer(
    run: &BatchRun<'_>,
    requests: Requests,
    output: &mut dyn Write,
    input_bytes: u64,
) -> Result<BatchProgress, Error> {
    let interrupt = Interrupt::watch();
    let bar = DelayedBar::bytes("answering");
    let answered = run.answer(requests, output, &mut |progress| {
        if input_bytes > 0 {
            bar.show(progress.input_bytes, input_bytes);
        }
        match interrupt.is_requested() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    drop(bar);
    if let (Err(Error::Cancelled), BatchStream::File(_)) = (&answered, run.output) {
        print_note("interrupted; run the same command again to continue");
    }
    answered
}

/// What a run computed.
struct Work {
    elapsed: Duration,
    prompt_tokens: u64,
    generated_tokens: u64,
}

impl Work {
    /// Returns the work of a run whose requests are all answered.
    fn since(started: Instant, server: &LocalServer) -> Self {
        let elapsed = started.elapsed();
        let engine = server.engine();
        let mut snapshot = engine.snapshot();
        // The last answers are sent before the counts of their step are published.
        let deadline = Instant::now() + Duration::from_secs(2);
        while snapshot.num_running > 0 && engine.is_alive() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
            snapshot = engine.snapshot();
        }
        Self {
            elapsed,
            prompt_tokens: snapshot.prompt_tokens,
            generated_tokens: snapshot.generation_tokens,
        }
    }
}

/// Prints a summary.
///
/// **Errors**: [`Failure::Reported`] if a request failed, in this run or in an earlier one.
fn report(
    progress: BatchProgress,
    earlier: BatchCounts,
    output: &BatchStream,
    work: Option<Work>,
) -> Result<(), Failure> {
    for report in &progress.reports {
        print_note(&format!("warning: {}", printable(report)));
    }
    let before = match earlier.num_requests {
        0 => String::new(),
        number => format!(" ({number} in earlier runs)"),
    };
    let num_requests = progress.counts.num_requests + earlier.num_requests;
    let mut failures = earlier.failures;
    failures.extend(progress.counts.failures, earlier.num_requests);
    let failed = failures.num_requests();
    print_note(&format!(
        "{}{before}: {} succeeded, {failed} failed",
        count(num_requests, "request"),
        num_requests - failed
    ));
    if let Some(Work { elapsed, prompt_tokens, generated_tokens }) = work {
        let seconds = elapsed.as_secs_f64();
        print_note(&format!(
            "{prompt_tokens} prompt tokens and {generated_tokens} generated tokens in {seconds:.1} s: {:.1} generated tokens/s",
            generated_tokens as f64 / seconds
        ));
    }
    if failed == 0 {
        return Ok(());
    }
    report_failures(&failures, output);
    Err(Failure::Reported)
}

/// Prints how many requests failed for each reason, and how to retry them.
fn report_failures(failures: &Failures, output: &BatchStream) {
    for FailureCount { code, num_requests, first, message } in failures.counts() {
        let place = if *num_requests == 1 { "request" } else { "the first is request" };
        print_note(&printable(&format!(
            "{num_requests} failed with {code}; {place} {first}: {message}"
        )));
    }
    if let BatchStream::File(path) = output {
        print_note(&printable(&format!(
            "hint: repeating the command does not retry failed requests; write them to another input, as docs/batch.md explains, or delete {} to answer all requests again",
            path.display()
        )));
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        batch: BatchArgs,
    }

    #[test]
    fn as_many_requests_are_prepared_as_are_computed() {
        for (num_seqs, num_in_flight) in [("1", 17), ("64", 128), ("256", 512), ("512", 1024)] {
            let Program { batch } = Program::parse_from(["batch", "--max-num-seqs", num_seqs]);
            assert_eq!(batch.max_in_flight(), num_in_flight);
            let limits = batch.server_options().limits;
            assert!(limits.max_num_preparing >= num_in_flight);
            assert!(limits.preparation_timeout > Limits::default().preparation_timeout);
        }
    }
}
