//! `inferno logits`: prints the logits of every position, for comparison with other programs.

use std::fmt::Write;

use inferno_backend::LogitRows;
use inferno_engine::{EngineError, Runner, SequenceRunner};
use inferno_model::ModelSpec;

use crate::cli::arguments::compute::{ComputeArgs, num_logit_rows};
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::values::{TokenIds, positive, token_ids};
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::terminal::output::Output;
use crate::{BatchLimits, Error, Model};

/// Print the logits of every position, one JSON array per line
///
/// Each number is the shortest decimal that parses to the same single-precision value.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno logits -m model.gguf --tokens 1,403,407
  inferno logits -m model.gguf --tokens 1,403,407 --kv-dtype f32")]
pub(crate) struct LogitsArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Token ids, as 1,2,3 or as the array that inferno tokenize prints
    #[arg(long, value_name = "IDS", value_parser = token_ids)]
    tokens: Vec<TokenIds>,
    /// Maximum number of tokens per forward pass; the logits do not depend on it [default: up to 64 MiB of logits]
    #[arg(long, value_name = "N", value_parser = positive)]
    batch_tokens: Option<usize>,
    #[command(flatten)]
    compute: ComputeArgs,
}

impl LogitsArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let tokens: Vec<u32> = self.tokens.into_iter().flat_map(|TokenIds(ids)| ids).collect();
        if tokens.is_empty() {
            return Err(Failure::Usage(
                "no tokens specified; pass --tokens, for example --tokens 1,2,3".to_owned(),
            ));
        }
        let checkpoint = self.source.open()?;
        let spec = ModelSpec::from_checkpoint(&checkpoint)?;
        let limit = spec.context_length;
        if tokens.len() > limit {
            return Err(EngineError::ContextTooLong { asked_for: tokens.len(), limit }.into());
        }
        let vocab_size = spec.vocab_size;
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= vocab_size) {
            return Err(
                EngineError::TokenOutOfRange { field: "--tokens", token, vocab_size }.into()
            );
        }
        let rows = self.batch_tokens.unwrap_or_else(|| num_logit_rows(vocab_size));
        let rows = rows.min(tokens.len());
        let limits = BatchLimits { max_num_tokens: rows, max_num_logit_rows: rows };
        let options = self.compute.options(&checkpoint, Some(tokens.len()), limits);
        let model = Model::from(checkpoint).with_options(options.for_one_sequence());
        if self.compute.dry_run {
            return dry_run::report(&model, "pass fewer --tokens");
        }
        let mut runner = with_loading_bar(&model, |on_progress| model.runner(on_progress))?;
        let mut output = Output::new();
        write_logits(&mut *runner, &tokens, rows, &mut output)?;
        output.flush()?;
        Ok(())
    }
}

/// Runs `tokens` in batches and writes every row of logits.
fn write_logits(
    runner: &mut dyn Runner,
    tokens: &[u32],
    batch_tokens: usize,
    output: &mut Output,
) -> Result<(), Error> {
    let mut forward = SequenceRunner::new(runner);
    let mut sequence = [forward.sequence()];
    sequence[0].extend(tokens);
    let mut line = String::new();
    while let Some(pass) = forward.run_next(&mut sequence, batch_tokens, LogitRows::All)? {
        for row in pass.rows() {
            format_row(&row.values()?, &mut line)?;
            output.line(&line)?;
        }
    }
    Ok(())
}

/// Formats `row` as a JSON array.
///
/// **Errors**: [`EngineError::NonFiniteLogit`], because JSON cannot represent it.
fn format_row(row: &[f32], line: &mut String) -> Result<(), Error> {
    line.clear();
    for (token, &value) in row.iter().enumerate() {
        if !value.is_finite() {
            return Err(EngineError::NonFiniteLogit { token, value }.into());
        }
        line.push(if token == 0 { '[' } else { ',' });
        // Writing to a string does not fail.
        let _ = write!(line, "{value}");
    }
    line.push(']');
    Ok(())
}
