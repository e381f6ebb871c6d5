//! `inferno perplexity`: measures how well a model predicts a text.

use std::path::PathBuf;

use inferno_engine::{PerplexityOptions, perplexity};
use inferno_model::ModelSpec;
use inferno_tokenizer::EncodeOptions;

use crate::cli::arguments::compute::{ComputeArgs, num_logit_rows};
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::values::positive;
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::read_file;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::progress::DelayedBar;
use crate::plural::count;
use crate::{BatchLimits, LoadOptions, Model};

/// The shortest window with a token to score after half of it.
const MIN_WINDOW: usize = 3;

/// Measure the perplexity of a model on a text; lower is better
///
/// The text is split into windows of --context tokens, without BOS. The second half of each window is scored, so every
/// scored token has at least half a window of context. Prints one JSON object.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno perplexity -m model.gguf wiki.test.raw
  inferno perplexity -m model.gguf --context 2048 --stride 512 wiki.test.raw")]
pub(crate) struct PerplexityArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Text file to score; - reads standard input
    #[arg(value_name = "FILE")]
    text: PathBuf,
    /// Window length in tokens; not set by the context of other commands in the environment or in inferno.toml
    #[arg(short, long, value_name = "N", value_parser = positive, default_value = "512")]
    context: usize,
    /// Tokens from the start of one window to the start of the next [default: the window length]
    #[arg(long, value_name = "N", value_parser = positive)]
    stride: Option<usize>,
    #[command(flatten)]
    compute: ComputeArgs,
}

impl PerplexityArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.context < MIN_WINDOW {
            return Err(Failure::Usage(format!("--context must be at least {MIN_WINDOW} tokens")));
        }
        let checkpoint = self.source.open()?;
        let spec = ModelSpec::from_checkpoint(&checkpoint)?;
        let limits = BatchLimits {
            max_num_logit_rows: num_logit_rows(spec.vocab_size).min(self.context),
            ..LoadOptions::default().limits
        };
        let options = self.compute.options(&checkpoint, Some(self.context), limits);
        let model = Model::from(checkpoint).with_options(options.for_one_sequence());
        if self.compute.dry_run {
            return dry_run::report(&model, dry_run::REDUCE_CONTEXT);
        }
        let text = read_file(&self.text)?;
        let tokens = model
            .tokenizer()?
            .encode(&text, EncodeOptions { add_special: false, parse_special: true });
        let mut runner = with_loading_bar(&model, |on_progress| model.runner(on_progress))?;

        let bar = DelayedBar::steps("scoring");
        let options = PerplexityOptions { window: self.context, stride: self.stride };
        let result = perplexity(&mut *runner, &tokens, options, &mut |so_far| {
            bar.show(so_far.num_windows as u64, so_far.total_windows as u64);
        });
        drop(bar);
        let result = result?;
        let windows = count(result.num_windows, "window");
        print_note(&format!("{windows} of {} tokens", self.context));
        let mut output = Output::new();
        output.line(serde_json::json!({
            "perplexity": result.value(),
            "standard_error": result.standard_error(),
            "tokens": result.num_scored,
        }))?;
        output.flush()?;
        Ok(())
    }
}
