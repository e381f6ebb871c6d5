//! `inferno bench`: measures the speed of a model or of a server.

mod serve;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use indicatif::ProgressBar;
use serde_json::Value;

use crate::bench::{BenchProgress, LadderOptions, Workload, bench, climb, fitted};
use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::model::SourceArgs;
use crate::cli::arguments::values::positive;
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::progress::{bytes_bar, steps_bar};
use crate::output_file::{ensure_not_input, ensure_writable};
use crate::{Error, LoadOptions, LoadProgress, Model};

/// Measure how fast a model runs on this machine
///
/// Measures reading a prompt (prefill) and generating tokens one by one (decode), and compares both with the memory
/// bandwidth and the arithmetic throughput of the machine, measured with the same threads. Each result is the median of
/// several runs, with minimum and maximum. Loading and sampling are excluded. Run it on an otherwise idle machine.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno bench
  inferno bench -m model.gguf -p 512 -n 64 --batch 1,4,16
  inferno bench -m model.gguf -p 0 -n 64 -d 2048
  inferno bench -m model.gguf --threads 2 --isa avx2 -o json
  inferno bench --ladder --svg ladder.svg
  inferno bench serve --concurrency 1,16")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    #[command(flatten)]
    source: SourceArgs,
    /// Prompt length in tokens; 0 skips prefill [default: 512, or 64 with --ladder]
    #[arg(short, long, value_name = "N")]
    prompt_tokens: Option<usize>,
    /// Number of tokens to generate; 0 skips decode [default: 64, or 16 with --ladder]
    #[arg(short = 'n', long, value_name = "N")]
    decode_tokens: Option<usize>,
    /// Number of tokens in the KV cache before decode starts
    #[arg(short, long, value_name = "N", default_value_t = Workload::default().depth)]
    depth: usize,
    /// Also measure decode with this many sequences at once; accepts a list
    #[arg(long, value_name = "B,…", value_delimiter = ',', value_parser = positive)]
    batch: Vec<usize>,
    /// Number of runs per measurement
    #[arg(short, long, value_name = "N", value_parser = positive)]
    #[arg(default_value_t = Workload::default().repetitions)]
    repetitions: usize,
    /// Maximum number of prompt tokens per forward pass [default: 256, as in generate]
    #[arg(long, value_name = "N", value_parser = positive)]
    batch_tokens: Option<usize>,
    /// Measure one optimization after another, starting from scalar code in FP32 without a KV cache: KV cache, SIMD,
    /// threads, and weights in Q8_0, Q4_K and INT8
    #[arg(long, conflicts_with_all = ["depth", "batch", "backend", "requantize", "dry_run"])]
    ladder: bool,
    /// Draw the ladder as an SVG file
    #[arg(long, value_name = "FILE", requires = "ladder")]
    svg: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Md)]
    output: ReportFormat,
    #[command(flatten)]
    compute: ComputeArgs,
}

/// Other measurements.
#[derive(Subcommand)]
enum BenchCommand {
    Serve(serve::BenchServeArgs),
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// Markdown tables
    Md,
    /// One JSON object
    Json,
}

impl BenchArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(BenchCommand::Serve(args)) = self.command {
            return args.run();
        }
        let checkpoint = self.source.open()?;
        let options = self.compute.options(&checkpoint, None, LoadOptions::default().limits);
        let model = Model::from(checkpoint).with_options(options);
        if self.ladder {
            return self.climb(model);
        }
        let workload = self.workload();
        if self.compute.dry_run {
            return dry_run::report(&fitted(model, &workload)?, "reduce -p, -n, -d or --batch");
        }
        let bars = Bars::new();
        let report = bench(model, &workload, &mut |progress| bars.show(progress));
        bars.finish();
        let report = report?;
        Ok(self.output.print(&report, || report.json())?)
    }

    fn workload(&self) -> Workload {
        let default = Workload::default();
        Workload {
            prompt_tokens: self.prompt_tokens.unwrap_or(default.prompt_tokens),
            decode_tokens: self.decode_tokens.unwrap_or(default.decode_tokens),
            depth: self.depth,
            batch_sizes: self.batch.clone(),
            repetitions: self.repetitions,
            pass_tokens: self.batch_tokens,
        }
    }

    fn climb(&self, model: Model) -> Result<(), Failure> {
        let default = LadderOptions::default();
        let options = LadderOptions {
            prompt_tokens: self.prompt_tokens.unwrap_or(default.prompt_tokens),
            decode_tokens: self.decode_tokens.unwrap_or(default.decode_tokens),
            repetitions: self.repetitions,
            pass_tokens: self.batch_tokens,
        };
        if options.prompt_tokens == 0 || options.decode_tokens == 0 {
            return Err(Failure::Usage(
                "--ladder measures prefill and decode; -p and -n must be at least 1".to_owned(),
            ));
        }
        if let Some(path) = &self.svg {
            ensure_not_input(model.checkpoint(), path)?;
            ensure_writable(path)?;
        }
        let bars = Bars::new();
        let ladder = climb(model, options, &mut |rung, progress| bars.show_rung(rung, progress));
        bars.finish();
        let ladder = ladder?;
        if let Some(path) = &self.svg {
            write_file(path, &ladder.svg())?;
        }
        Ok(self.output.print(&ladder, || ladder.json())?)
    }
}

impl ReportFormat {
    fn print(self, tables: &impl Display, json: impl FnOnce() -> Value) -> Result<(), Error> {
        let mut output = Output::new();
        match self {
            Self::Md => output.write(tables)?,
            Self::Json => output.line(json())?,
        }
        output.flush()
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| Error::io(path, error))
}

/// Progress bars. They are drawn between runs only, so that nothing else runs while one is timed.
struct Bars {
    loading: ProgressBar,
    running: ProgressBar,
}

impl Bars {
    fn new() -> Self {
        Self { loading: bytes_bar("loading", 0), running: steps_bar("measuring", 0) }
    }

    fn show(&self, progress: BenchProgress) {
        match progress {
            BenchProgress::Loading(progress) => self.show_loading(progress),
            BenchProgress::Running { done, total } => {
                self.loading.finish_and_clear();
                self.running.set_length(total as u64);
                self.running.set_position(done as u64);
            }
        }
    }

    fn show_rung(&self, rung: &str, progress: Option<LoadProgress>) {
        self.loading.set_message(rung.to_owned());
        if let Some(progress) = progress {
            self.show_loading(progress);
        }
    }

    fn show_loading(&self, progress: LoadProgress) {
        self.loading.set_length(progress.total_bytes as u64);
        self.loading.set_position(progress.loaded_bytes as u64);
    }

    fn finish(&self) {
        self.loading.finish_and_clear();
        self.running.finish_and_clear();
    }
}
