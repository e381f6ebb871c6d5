//! Prints replies, and remarks about them.

use std::io::{IsTerminal, stderr, stdout};

use inferno_chat::{AnswerDelta, REASONING_CLOSE, REASONING_OPEN};
use inferno_engine::Metrics;

use crate::Error;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::printable::printable_lines;

/// Prints replies and remarks.
pub(super) struct Display {
    /// Whether input and output are a terminal.
    is_terminal: bool,
    /// Whether remarks are printed.
    remarks: bool,
    /// Whether text may be styled.
    styles: bool,
}

impl Display {
    /// Creates a display for an interactive chat or for a program.
    pub(super) fn new(is_interactive: bool) -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        Self {
            is_terminal: is_interactive && stdout().is_terminal(),
            remarks: is_interactive && stderr().is_terminal(),
            styles: !is_set("NO_COLOR") && !is_dumb,
        }
    }

    /// Starts printing a reply, whose text contains control tokens or not.
    pub(super) fn reply(&self, has_control_tokens: bool) -> ReplyDisplay<'_> {
        ReplyDisplay {
            display: self,
            output: Output::new(),
            shows_parsed: self.is_terminal || has_control_tokens,
            in_reasoning: false,
            ends_line: false,
        }
    }

    /// Prints a remark to standard error, in interactive chats only.
    pub(super) fn remark(&self, text: &str) {
        if self.remarks {
            print_note(&self.dimmed(&printable_lines(text)));
        }
    }

    fn dimmed(&self, text: &str) -> String {
        match self.styles {
            true => format!("\x1b[2m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

/// Prints a reply as it is generated.
pub(super) struct ReplyDisplay<'a> {
    display: &'a Display,
    output: Output,
    /// Whether the parsed reply is printed, instead of the text as the model wrote it.
    shows_parsed: bool,
    /// Whether reasoning was printed last.
    in_reasoning: bool,
    ends_line: bool,
}

impl ReplyDisplay<'_> {
    /// Prints more of the reply immediately: in a terminal, or if the text contains control tokens, the parsed `deltas`;
    /// otherwise the `text` as the model wrote it.
    ///
    /// **Errors**: a failed write.
    pub(super) fn show(&mut self, text: &str, deltas: &[AnswerDelta]) -> Result<(), Error> {
        if !self.shows_parsed {
            return self.write(text, false);
        }
        for delta in deltas {
            match delta {
                AnswerDelta::Reasoning(text) => {
                    if !std::mem::replace(&mut self.in_reasoning, true) {
                        self.write(&format!("{REASONING_OPEN}\n"), true)?;
                    }
                    self.write(text, true)?;
                }
                AnswerDelta::Content(text) => {
                    if std::mem::replace(&mut self.in_reasoning, false) {
                        self.write(&format!("\n{REASONING_CLOSE}\n\n"), true)?;
                    }
                    self.write(text, false)?;
                }
                AnswerDelta::ToolCall { .. } | AnswerDelta::Arguments { .. } => {}
            }
        }
        Ok(())
    }

    fn write(&mut self, text: &str, is_dimmed: bool) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        self.ends_line = text.ends_with('\n');
        match is_dimmed {
            // Every write resets its own style, so that none remains wherever the reply stops.
            true => self.output.write(self.display.dimmed(&printable_lines(text)))?,
            false => self.output.model_text(text)?,
        }
        self.output.flush()
    }

    /// Terminates the last line.
    ///
    /// **Errors**: a failed write.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        if !self.ends_line {
            self.output.line("")?;
        }
        self.output.flush()
    }
}

/// Returns the generation rate of a reply and the share of the context in use.
pub(super) fn summary(metrics: &Metrics, num_tokens: usize, context_length: usize) -> String {
    let rate = match metrics.decode_tokens_per_second() {
        Some(rate) => format!("{rate:.1} tokens/s, "),
        None => String::new(),
    };
    let percent = 100 * num_tokens / context_length.max(1);
    format!("{rate}context {num_tokens} of {context_length} tokens ({percent}%)")
}
