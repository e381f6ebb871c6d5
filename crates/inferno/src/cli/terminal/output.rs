//! Standard output, for results alone.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};

use crate::Error;

/// Writes results. What cannot be written is an error, never a panic.
pub(crate) struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }

    /// Writes a text; it appears with the next [`flush`](Self::flush) at the latest.
    pub(crate) fn write(&mut self, text: impl fmt::Display) -> Result<(), Error> {
        write!(self.0, "{text}").map_err(Error::Stdout)
    }

    /// Writes a text and ends the line.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> Result<(), Error> {
        writeln!(self.0, "{text}").map_err(Error::Stdout)
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.write_all(bytes).map_err(Error::Stdout)
    }

    /// Makes everything written so far appear. Called at the end of every command.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.0.flush().map_err(Error::Stdout)
    }
}
