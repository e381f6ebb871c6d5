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
        match self {
            Self::Md => output.write(tables)?,
            Self::Json => output.line(json())?,
        }
        output.flush()
    }
}
