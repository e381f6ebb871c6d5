//! `inferno bench`: measures the speed of a model or of a server.

mod serve;

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::bench::{BenchProgress, LadderOptions, Workload, bench, climb, fitted};
use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::model::SourceArgs;
use crate::cli::arguments::report_format::ReportFormat;
use crate::cli::arguments::speculation::SpeculateArgs;
use crate::cli::arguments::values::{positive, whole};
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::progress::DelayedBar;
use crate::output_file::{ensure_not_input, ensure_writable};
use crate::{Error, LoadProgress, Model};

/// Measure how fast a model runs on this machine
///
/// Measures reading a prompt (prefill) and generating tokens one by one (decode), and compares both with the memory
/// bandwidth and the arithmetic throughput of the machine, measured with the same threads. Each result is the median of
/// several runs, with minimum and maximum. Loading and sampling are excluded. Run it on an otherwise idle machine.
///
/// With --draft-model, --draft-head or --speculate, text of -n tokens is also generated with greedy sampling, with and without
/// drafts, and their acceptance is reported. Use a few hundred tokens.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno bench
  inferno bench -m model.gguf -p 512 -n 64 --batch 1,4,16
  inferno bench -m model.gguf -p 0 -n 64 -d 2048
  inferno bench -m model.gguf --threads 2 --isa avx2 -o json
  inferno bench -m model.gguf --draft-model small.gguf -n 256
  inferno bench -m model.gguf --batch 16 --profile
  inferno bench --ladder --svg ladder.svg
  inferno bench serve --concurrency 1,16")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    #[command(flatten)]
    source: SourceArgs,
    /// Prompt length in tokens; 0 skips prefill [default: 512, or 64 with --ladder]
    #[arg(short, long, value_name = "N", value_parser = whole::<usize>)]
    prompt_tokens: Option<usize>,
    /// Number of tokens to generate; 0 skips decode [default: 64, or 16 with --ladder]
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<usize>)]
    decode_tokens: Option<usize>,
    /// Number of tokens in the KV cache before decode starts
    #[arg(short, long, value_name = "N", value_parser = whole::<usize>)]
    #[arg(default_value_t = Workload::default().depth)]
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
    /// Also report where the time goes: each kind of operation, and products with weights from the caches and from memory,
    /// compared with the limits of the machine; on a GPU, each kernel
    #[arg(long)]
    profile: bool,
    /// Measure one optimization after another, starting from scalar code in FP32 without a KV cache: KV cache, SIMD,
    /// threads, weights in Q8_0, Q4_K and INT8, and a GPU if there is one
    #[arg(long, conflicts_with_all = ["depth", "batch", "profile", "backend", "requantize"])]
    #[arg(conflicts_with_all = ["speculate", "drafting", "dry_run"])]
    ladder: bool,
    /// Draw the ladder as an SVG file
    #[arg(long, value_name = "FILE", requires = "ladder")]
    svg: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Md)]
    output: ReportFormat,
    #[command(flatten)]
    speculate: SpeculateArgs,
    #[command(flatten)]
    compute: ComputeArgs,
}

/// Other measurements.
#[derive(Subcommand)]
enum BenchCommand {
    Serve(serve::BenchServeArgs),
}

impl BenchArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(BenchCommand::Serve(args)) = self.command {
            return args.run();
        }
        let checkpoint = self.source.open()?;
        let options = self.compute.options(&checkpoint, None, self.speculate.limits());
        let model = Model::from(checkpoint).with_options(options);
        let model = self.speculate.with_draft_model(model)?;
        if self.ladder {
            return self.climb(model);
        }
        let workload = self.workload();
        if self.compute.dry_run {
            return dry_run::report(&fitted(model, &workload)?, "reduce -p, -n, -d or --batch");
        }
        let display = ProgressDisplay::new(self.output);
        let report = bench(model, &workload, &mut |progress| display.show(progress));
        drop(display);
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
            lookup_drafts: self.speculate.num_drafts(),
            profile: self.profile,
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
        let display = ProgressDisplay::new(self.output);
        let ladder = climb(model, options, &mut |progress| display.show(progress));
        drop(display);
        let ladder = ladder?;
        if let Some(path) = &self.svg {
            write_file(path, &ladder.svg())?;
        }
        Ok(self.output.print(&ladder, || ladder.json())?)
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| Error::io(path, error))
}

/// The names of steps, and progress bars on a terminal or else one line per result. They are written between runs only, so that nothing else
/// runs while one is timed.
struct ProgressDisplay {
    /// Whether the names of steps are printed.
    prints_steps: bool,
    prints_results: bool,
    loading: DelayedBar,
    running: DelayedBar,
}

impl ProgressDisplay {
    /// The output of programs is not accompanied by results in text.
    fn new(output: ReportFormat) -> Self {
        let prints_steps = output == ReportFormat::Md;
        Self {
            prints_steps,
            prints_results: prints_steps && !stderr().is_terminal(),
            loading: DelayedBar::bytes("loading"),
            running: DelayedBar::steps("measuring"),
        }
    }

    fn show(&self, progress: BenchProgress<'_>) {
        match progress {
            BenchProgress::Starting(name) => {
                self.running.clear();
                self.loading.clear();
                if self.prints_steps {
                    print_note(&format!("{name} …"));
                }
            }
            BenchProgress::Loading(LoadProgress { loaded_bytes, total_bytes }) => {
                self.loading.show(loaded_bytes as u64, total_bytes as u64);
            }
            BenchProgress::Running { done, total } => {
                self.loading.clear();
                self.running.show(done as u64, total as u64);
            }
            BenchProgress::Measured { name, tokens_per_second } if self.prints_results => {
                print_note(&format!("{name}: {:.2} tokens/s", tokens_per_second.median));
            }
            BenchProgress::Measured { .. } => {}
        }
    }
}
