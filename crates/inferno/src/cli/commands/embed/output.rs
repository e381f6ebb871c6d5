//! The output of `inferno embed`.

use clap::ValueEnum;
use serde_json::json;

use crate::Error;
use crate::cli::terminal::output::Output;

/// Value of `--format`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EmbedFormat {
    /// One JSON object per line
    Json,
    /// Numbers separated by spaces, one vector per line; with --query, a score, a tab and the document
    Plain,
}

/// Prints vectors and rankings.
pub(super) struct EmbedOutput {
    format: EmbedFormat,
    output: Output,
}

impl EmbedOutput {
    pub(super) fn new(format: EmbedFormat) -> Self {
        Self { format, output: Output::new() }
    }

    /// Prints the vector of an input, or its vectors of `row_len` values if there are several.
    pub(super) fn embedding(
        &mut self,
        index: usize,
        values: &[f32],
        row_len: Option<usize>,
    ) -> Result<(), Error> {
        let rows = values.chunks(row_len.unwrap_or(usize::MAX));
        match (self.format, row_len) {
            (EmbedFormat::Json, None) => {
                self.output.line(json!({ "index": index, "embedding": values }))?;
            }
            (EmbedFormat::Json, Some(_)) => {
                let rows: Vec<_> = rows.collect();
                self.output.line(json!({ "index": index, "embedding": rows }))?;
            }
            (EmbedFormat::Plain, _) => {
                for row in rows {
                    let numbers: Vec<String> = row.iter().map(f32::to_string).collect();
                    self.output.line(numbers.join(" "))?;
                }
            }
        }
        self.output.flush()
    }

    /// Prints documents by their scores, the first output of the classifier; equally relevant ones in their order.
    pub(super) fn ranking(&mut self, texts: &[String], results: &[Vec<f32>]) -> Result<(), Error> {
        let scores = results.iter().map(|outputs| outputs.first().copied().unwrap_or_default());
        let mut ranked: Vec<_> = scores.zip(texts).enumerate().collect();
        ranked.sort_by(|(_, (a, _)), (_, (b, _))| b.total_cmp(a));
        for (index, (score, text)) in ranked {
            match self.format {
                EmbedFormat::Json => {
                    let line =
                        json!({ "index": index, "relevance_score": score, "document": text });
                    self.output.line(line)?;
                }
                EmbedFormat::Plain => self.output.line(format_args!("{score}\t{text}"))?,
            }
        }
        self.output.flush()
    }
}
