//! The format of a report.

use std::fmt::Display;

use clap::ValueEnum;
use serde_json::Value;

use crate::Error;
use crate::cli::terminal::output::Output;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Markdown tables
    Md,
    /// One JSON object
    Json,
}

impl ReportFormat {
    /// Prints a report to standard output.
    ///
    /// **Errors**: [`Error::Stdout`].
    pub(crate) fn print(
        self,
        tables: &impl Display,
        json: impl FnOnce() -> Value,
    ) -> Result<(), Error> {
        let mut output = Output::new();
        output.write(self.text(tables, json))?;
        output.flush()
    }

    /// Returns a report as text that ends with a line break.
    pub(crate) fn text(self, tables: &impl Display, json: impl FnOnce() -> Value) -> String {
        match self {
            Self::Md => tables.to_string(),
            Self::Json => format!("{}\n", json()),
        }
    }
}
