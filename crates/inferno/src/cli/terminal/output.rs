//! Standard output, for results only.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use crate::Error;
use crate::cli::terminal::printable::printable_lines;

/// Buffered standard output. A failed write is an error, never a panic.
pub(crate) struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }

    /// Writes text, which is output by the next [`flush`](Self::flush) at the latest.
    pub(crate) fn write(&mut self, text: impl fmt::Display) -> Result<(), Error> {
        write!(self.0, "{text}").map_err(Error::Stdout)
    }

    /// Writes text and a newline.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> Result<(), Error> {
        writeln!(self.0, "{text}").map_err(Error::Stdout)
    }

    /// Writes text of a model, with control characters escaped if standard output is a terminal.
    pub(crate) fn model_text(&mut self, text: &str) -> Result<(), Error> {
        match io::stdout().is_terminal() {
            true => self.write(printable_lines(text)),
            false => self.write(text),
        }
    }

    /// Writes bytes of a model like [`model_text`](Self::model_text). They need not be UTF-8.
    pub(crate) fn model_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match io::stdout().is_terminal() {
            true => self.write(printable_lines(&String::from_utf8_lossy(bytes))),
            false => self.bytes(bytes),
        }
    }

    /// Writes bytes unchanged.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.write_all(bytes).map_err(Error::Stdout)
    }

    /// Outputs everything written so far. Every command calls it at its end.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.0.flush().map_err(Error::Stdout)
    }
}
