//! Answers as they are shown, and remarks about them.

use std::io::{IsTerminal, stderr, stdout};

use inferno_engine::Metrics;

use super::reasoning::Part;
use crate::Error;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::printable::printable_lines;

/// Shows one answer after another.
pub(super) struct Display {
    /// Whether somebody chats at a terminal and reads the answers there.
    is_terminal: bool,
    /// Whether remarks reach that terminal too.
    remarks: bool,
    /// Whether text may be dimmed.
    styles: bool,
}

impl Display {
    /// For somebody at a terminal, or for a program.
    pub(super) fn new(is_interactive: bool) -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        Self {
            is_terminal: is_interactive && stdout().is_terminal(),
            remarks: is_interactive && stderr().is_terminal(),
            styles: !is_set("NO_COLOR") && !is_dumb,
        }
    }

    /// Begins an answer.
    pub(super) fn answer(&self) -> AnswerDisplay<'_> {
        AnswerDisplay { display: self, output: Output::new(), ends_line: false }
    }

    /// Says something beside the conversation, which only a person at a terminal wants to know.
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

/// Shows an answer as it comes.
pub(super) struct AnswerDisplay<'a> {
    display: &'a Display,
    output: Output,
    ends_line: bool,
}

impl AnswerDisplay<'_> {
    /// Shows more text, at once.
    ///
    /// **Errors**: an output that cannot be written.
    pub(super) fn show(&mut self, part: Part, text: &str) -> Result<(), Error> {
        self.ends_line = text.ends_with('\n');
        match (self.display.is_terminal, part) {
            // Each piece ends its own style, so that none is left behind wherever the answer ends.
            (true, Part::Reasoning) => {
                self.output.write(self.display.dimmed(&printable_lines(text)))?;
            }
            (true, Part::Content) => self.output.write(printable_lines(text))?,
            (false, _) => self.output.write(text)?,
        }
        self.output.flush()
    }

    /// Ends the last line.
    ///
    /// **Errors**: an output that cannot be written.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        if !self.ends_line {
            self.output.line("")?;
        }
        self.output.flush()
    }
}

/// The rate of an answer, and the share of the context that the conversation takes.
pub(super) fn summary(metrics: &Metrics, num_tokens: usize, context_length: usize) -> String {
    let rate = match metrics.decode_tokens_per_second() {
        Some(rate) => format!("{rate:.1} tokens/s, "),
        None => String::new(),
    };
    let percent = 100 * num_tokens / context_length.max(1);
    format!("{rate}{num_tokens} of {context_length} tokens of context ({percent} %)")
}
