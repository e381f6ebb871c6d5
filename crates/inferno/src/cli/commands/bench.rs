//! `inferno bench`: how fast a model runs here, and how a server answers.

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
use crate::output_file::refuse_input;
use crate::{Error, LoadOptions, LoadProgress, Model};

/// Measure how fast a model runs here, beside what the machine could do at most.
///
/// Reads a prompt (prefill), writes tokens one after another (decode), and measures how fast the machine reads memory and
/// computes, with the same threads. Each is done several times; the median counts, and the smallest and largest are beside it.
/// Loading and sampling do not count. Figures mean something on an idle machine only.
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
    what: Option<BenchCommand>,
    #[command(flatten)]
    source: SourceArgs,
    /// Tokens of the prompt; 0 leaves prefill out [default: 512, or 64 with --ladder].
    #[arg(short, long, value_name = "N")]
    prompt_tokens: Option<usize>,
    /// Tokens to write; 0 leaves decode out [default: 64, or 16 with --ladder].
    #[arg(short = 'n', long, value_name = "N")]
    decode_tokens: Option<usize>,
    /// Tokens that stand before those that are written.
    #[arg(short, long, value_name = "N", default_value_t = Workload::default().depth)]
    depth: usize,
    /// Also write into so many sequences side by side; several numbers are measured one after another.
    #[arg(long, value_name = "B,…", value_delimiter = ',', value_parser = positive)]
    batch: Vec<usize>,
    /// How often each is measured.
    #[arg(short, long, value_name = "N", value_parser = positive)]
    #[arg(default_value_t = Workload::default().repetitions)]
    repetitions: usize,
    /// Tokens of the prompt in one forward pass [default: as many as generate takes].
    #[arg(long, value_name = "N", value_parser = positive)]
    batch_tokens: Option<usize>,
    /// Do the same work in one way after another instead: scalar code without and with a KV cache, SIMD, threads; then
    /// with weights in F32, Q8_0 and Q4_K.
    #[arg(long, conflicts_with_all = ["depth", "batch", "backend", "requantize", "dry_run"])]
    ladder: bool,
    /// Draw the ladder into this file, as SVG.
    #[arg(long, value_name = "FILE", requires = "ladder")]
    svg: Option<PathBuf>,
    /// How to print: tables in Markdown, or one JSON object.
    #[arg(short, long, value_enum, default_value_t = Format::Md)]
    output: Format,
    #[command(flatten)]
    compute: ComputeArgs,
}

/// What else can be measured.
#[derive(Subcommand)]
enum BenchCommand {
    Serve(serve::BenchServeArgs),
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables in Markdown.
    Md,
    /// One JSON object.
    Json,
}

impl BenchArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(BenchCommand::Serve(args)) = self.what {
            return args.run();
        }
        let options = self.compute.options(None, LoadOptions::default().limits);
        let model = Model::from(self.source.open()?).with_options(options);
        if self.ladder {
            return self.climb(model);
        }
        let workload = self.workload();
        if self.compute.dry_run {
            return Ok(dry_run::report(&fitted(model, &workload)?)?);
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
                "--ladder reads a prompt and writes tokens; give -p and -n at least 1".to_owned(),
            ));
        }
        if let Some(path) = &self.svg {
            refuse_input(model.checkpoint(), path)?;
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

impl Format {
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

/// The bars of a measurement. They are drawn between runs alone, so that nothing else runs while one is timed.
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
