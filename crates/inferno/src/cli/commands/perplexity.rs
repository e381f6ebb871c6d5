//! `inferno perplexity`: measures how well a model predicts a text, and how far it is from another one.

mod comparison;
mod report;

use std::path::{Path, PathBuf};

use inferno_engine::{Perplexity, PerplexityOptions, perplexity};
use inferno_gguf::Gguf;
use inferno_model::ModelSpec;
use inferno_tokenizer::EncodeOptions;

use crate::cli::arguments::compute::{ComputeArgs, num_logit_rows};
use crate::cli::arguments::limits::within_limit;
use crate::cli::arguments::model::{SourceArgs, ensure_not_model, with_loading_bar};
use crate::cli::arguments::report_format::ReportFormat;
use crate::cli::arguments::values::{OrDefault, or_default, positive, whole};
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::read_file;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::progress::DelayedBar;
use crate::model::check_generates;
use crate::plural::count;
use crate::{BatchLimits, Error, LoadOptions, Model};
use comparison::Comparison;
use report::PerplexityReport;

/// The shortest window with a token to score after half of it.
const MIN_WINDOW: usize = 3;

/// The default window length, in tokens.
const DEFAULT_WINDOW: usize = 512;

/// How special tokens are encoded, as by llama.cpp.
const ENCODING: EncodeOptions = EncodeOptions { add_special: true, parse_special: false };

/// Measure the perplexity of a model on a text, or its divergence from another model
///
/// The text is split into windows of --context tokens. As in llama.cpp, BOS replaces the first token of each if the
/// vocabulary adds one. The second half of each window is scored, so every scored token has at least half a window of
/// context. Lower is better. Prints one JSON object.
///
/// With --kl-divergence, the model is compared with a base model: the mean, the maximum and the percentiles of the
/// Kullback-Leibler divergence per token, how often both models have the same most probable token, and the ratio of
/// their perplexities. The base is a model, or a file that --kl-divergence-base wrote, which has llama.cpp's format.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno perplexity -m model.gguf wiki.test.raw
  inferno perplexity -m model.gguf --context 2048 --stride 512 wiki.test.raw
  inferno perplexity -m q4_k_m.gguf --kl-divergence f16.gguf wiki.test.raw
  inferno perplexity -m f16.gguf --kl-divergence-base base.kld wiki.test.raw
  inferno perplexity -m model-q4_k_m.gguf --kl-divergence base.kld")]
pub(crate) struct PerplexityArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Text file to score; - reads standard input. A file of log-probabilities contains the text
    #[arg(value_name = "FILE")]
    text: Option<PathBuf>,
    /// Window length in tokens, at most the model's maximum context, which 0 selects; not set by the context of other
    /// commands in the environment or in inferno.toml [default: 512, or that of the file of log-probabilities]
    #[arg(short, long, value_name = "N", value_parser = whole::<usize>)]
    context: Option<usize>,
    /// Tokens from the start of one window to the start of the next; 0 for the window length [default: 0]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    stride: Option<usize>,
    /// Maximum number of windows to score [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = or_default(positive))]
    chunks: Option<OrDefault<usize>>,
    /// Compare with this model, or with the log-probabilities in this file
    #[arg(long, value_name = "BASE")]
    kl_divergence: Option<Option<PathBuf>>,
    /// Write the log-probabilities of the model to this file, 2 bytes for each scored token and each token of the
    /// vocabulary. Together with --kl-divergence (without a value), read them from this file, as llama.cpp does
    #[arg(long, value_name = "FILE", alias = "save-all-logits")]
    kl_divergence_base: Option<PathBuf>,
    /// Overwrite the file of --kl-divergence-base if it exists
    #[arg(long, requires = "kl_divergence_base")]
    force: bool,
    /// Output format [default: json, or md with --kl-divergence]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<ReportFormat>,
    #[command(flatten)]
    compute: ComputeArgs,
}

impl PerplexityArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(text) = self.text.as_deref().and_then(Path::to_str)
            && !self.source.is_given()
        {
            ensure_not_model(text, "text")?;
        }
        if self.context.is_some_and(|context| (1..MIN_WINDOW).contains(&context)) {
            return Err(Failure::Usage(format!("--context must be at least {MIN_WINDOW} tokens")));
        }
        let is_compared = self.kl_divergence.is_some() || self.kl_divergence_base.is_some();
        if is_compared && self.stride().is_some() {
            return Err(Failure::Usage(
                "--stride cannot be used with --kl-divergence or --kl-divergence-base, whose windows are adjacent"
                    .to_owned(),
            ));
        }
        let base = match (&self.kl_divergence, &self.kl_divergence_base) {
            (None, None) => return self.measure(),
            (None, Some(file)) => return Comparison::new(&self).store(file),
            (Some(None), Some(file)) => file,
            (Some(Some(base)), None) => base,
            (Some(Some(_)), Some(_)) => {
                return Err(Failure::Usage(
                    "--kl-divergence BASE compares with a model or a file, and --kl-divergence-base FILE writes one; do one after the other"
                        .to_owned(),
                ));
            }
            (Some(None), None) => {
                return Err(Failure::Usage(
                    "--kl-divergence requires a base: a model, or a file written by --kl-divergence-base"
                        .to_owned(),
                ));
            }
        };
        Comparison::new(&self).compare(base)
    }

    /// Measures the perplexity.
    fn measure(self) -> Result<(), Failure> {
        let checkpoint = self.source.open()?;
        let window = self.window(&checkpoint)?;
        let model = self.model(checkpoint, window, &self.compute)?;
        if self.compute.dry_run {
            return dry_run::report(&model, dry_run::REDUCE_CONTEXT);
        }
        let text = read_file(self.text()?)?;
        let tokenizer = model.tokenizer()?;
        let mut tokens = tokenizer.encode(&text, ENCODING);
        let stride = self.stride();
        self.limit_windows(&mut tokens, window, stride.unwrap_or(window));
        let mut runner = with_loading_bar(&model, |on_progress| model.runner(on_progress))?;
        let bar = DelayedBar::steps("scoring");
        let options = PerplexityOptions { window, stride, bos: tokenizer.added_bos() };
        let result = perplexity(&mut *runner, &tokens, options, &mut |so_far| {
            bar.show(so_far.num_windows as u64, so_far.total_windows as u64);
        });
        drop(bar);
        Ok(self.print(&result?, window)?)
    }

    /// Returns the window length for a model, in tokens.
    ///
    /// **Errors**: an unknown architecture or invalid metadata; a model that does not generate text.
    fn window(&self, checkpoint: &Gguf) -> Result<usize, Error> {
        let spec = ModelSpec::from_checkpoint(checkpoint)?;
        check_generates(&spec)?;
        Ok(within_limit(self.context.unwrap_or(DEFAULT_WINDOW), spec.context_length))
    }

    /// Returns the tokens between the starts of windows; `None` for adjacent ones.
    fn stride(&self) -> Option<usize> {
        self.stride.filter(|&stride| stride > 0)
    }

    /// Removes the tokens after the last window to score.
    fn limit_windows(&self, tokens: &mut Vec<u32>, window: usize, stride: usize) {
        if let Some(num_windows) = OrDefault::value_of(self.chunks) {
            tokens.truncate((num_windows - 1).saturating_mul(stride).saturating_add(window));
        }
    }

    /// Prints a perplexity over windows of this length.
    fn print(&self, result: &Perplexity, window: usize) -> Result<(), Error> {
        print_note(&format!("{} of {window} tokens", count(result.num_windows, "window")));
        let report = PerplexityReport(result);
        self.output.unwrap_or(ReportFormat::Json).print(&report, || report.json())
    }

    /// The file with the text.
    fn text(&self) -> Result<&Path, Failure> {
        self.text.as_deref().ok_or_else(|| {
            Failure::Usage(
                "no text specified; pass a text file, for example inferno perplexity wiki.test.raw"
                    .to_owned(),
            )
        })
    }

    /// A model for windows of this length, one at a time.
    fn model(
        &self,
        checkpoint: Gguf,
        window: usize,
        compute: &ComputeArgs,
    ) -> Result<Model, Error> {
        let spec = ModelSpec::from_checkpoint(&checkpoint)?;
        check_generates(&spec)?;
        let limits = BatchLimits {
            max_num_logit_rows: num_logit_rows(spec.vocab_size).min(window),
            ..LoadOptions::default().limits
        };
        let options = compute.options(&checkpoint, Some(window), limits);
        Ok(Model::from(checkpoint).with_options(options.for_one_sequence()))
    }
}
