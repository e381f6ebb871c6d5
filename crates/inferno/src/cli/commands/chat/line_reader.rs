//! Input lines from a terminal, with line editing, or from a pipe.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Read, StdinLock, stdin, stdout};
use std::path::{Path, PathBuf};

use rustyline::config::{Behavior, Config};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Editor, Event, EventContext, EventHandler,
    KeyEvent, Movement, RepeatCount,
};

use super::commands::is_open_block;
use super::completion::CommandCompleter;
use crate::cli::input::into_text;
use crate::cli::terminal::note::print_note;
use crate::{Error, InputError};

const PROMPT: &str = "> ";
const CONTINUATION_PROMPT: &str = ". ";
const MAX_HISTORY_LINES: usize = 1000;
/// The longest line of a pipe with its continuation lines, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 24;
/// Continues the message on the next line.
const CONTINUES: char = '\\';

/// The source of input lines.
pub(super) enum LineReader {
    Terminal(Box<LineEditor>),
    Pipe(StdinLock<'static>),
}

impl LineReader {
    /// Reads standard input; at a terminal with line editing, and with history if `keeps_history`.
    ///
    /// **Errors**: a terminal that cannot be set up.
    pub(super) fn from_stdin(keeps_history: bool) -> Result<Self, Error> {
        Ok(match stdin().is_terminal() {
            true => Self::Terminal(Box::new(LineEditor::new(keeps_history).map_err(into_error)?)),
            false => Self::Pipe(stdin().lock()),
        })
    }

    /// Returns whether input is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Returns the next line, joined with its continuation lines or with those of its block; `None` at the end of input.
    ///
    /// **Errors**: a failed read; input that is not UTF-8.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, Error> {
        match self {
            Self::Terminal(editor) => editor.next_line(),
            Self::Pipe(input) => piped_line(input),
        }
    }
}

fn piped_line(input: &mut impl BufRead) -> Result<Option<String>, Error> {
    let name = "a line of standard input";
    let mut room = MAX_LINE_BYTES;
    join(|| {
        let mut bytes = Vec::new();
        let mut bounded = input.by_ref().take(room + 1);
        if bounded.read_until(b'\n', &mut bytes).map_err(Error::Stdin)? == 0 {
            return Ok(None);
        }
        let too_long = || {
            Error::Input(InputError::TooLong { input: name.to_owned(), max_bytes: MAX_LINE_BYTES })
        };
        room = room.checked_sub(bytes.len() as u64).ok_or_else(too_long)?;
        let mut line = into_text(bytes, name)?;
        let end = line.strip_suffix('\n').unwrap_or(&line);
        line.truncate(end.strip_suffix('\r').unwrap_or(end).len());
        Ok(Some(line))
    })
}

/// Joins lines for as long as they end with a backslash, or up to the end of a block.
fn join<E>(mut next: impl FnMut() -> Result<Option<String>, E>) -> Result<Option<String>, E> {
    let mut joined: Option<String> = None;
    while let Some(line) = next()? {
        let joined = joined.get_or_insert_default();
        let is_in_block = is_open_block(joined);
        joined.push_str(&line);
        if !is_open_block(joined) {
            if is_in_block || !joined.ends_with(CONTINUES) {
                return Ok(Some(std::mem::take(joined)));
            }
            joined.pop();
        }
        joined.push('\n');
    }
    Ok(joined)
}

/// A terminal with line editing.
pub(super) struct LineEditor {
    editor: Editor<CommandCompleter, DefaultHistory>,
    /// The file that stores the history between chats.
    history_file: Option<PathBuf>,
}

impl LineEditor {
    fn new(keeps_history: bool) -> Result<Self, ReadlineError> {
        // If standard output is redirected, the prompt still goes to the terminal.
        let behavior = if stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
        let config = Config::builder()
            .behavior(behavior)
            .max_history_size(MAX_HISTORY_LINES)?
            .bracketed_paste(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(CommandCompleter::new()));
        let clear = EventHandler::Conditional(Box::new(ClearLine));
        editor.bind_sequence(KeyEvent::ctrl('C'), clear);
        let mut this = Self { editor, history_file: None };
        if keeps_history {
            this.open_history();
        }
        Ok(this)
    }

    /// Loads the history file and enables appending to it.
    fn open_history(&mut self) {
        let Some(folder) = dirs::data_dir() else {
            return;
        };
        let folder = folder.join("inferno");
        let file = folder.join("chat-history.txt");
        let opened = fs::create_dir_all(&folder).map_err(ReadlineError::from).and_then(|()| {
            match file.exists() {
                true => self.editor.load_history(&file),
                false => Ok(()),
            }
        });
        match opened {
            Ok(()) => self.history_file = Some(file),
            Err(error) => self.disable_history(&file, &error),
        }
    }

    fn next_line(&mut self) -> Result<Option<String>, Error> {
        // The first Ctrl-C may have been meant for a reply that had just finished.
        let mut was_interrupted = false;
        loop {
            let mut prompt = PROMPT;
            let line = join(|| {
                let line = self.editor.readline(prompt)?;
                prompt = CONTINUATION_PROMPT;
                Ok(Some(line))
            });
            match line {
                Ok(Some(line)) => {
                    self.remember(&line);
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted) if prompt == CONTINUATION_PROMPT => {}
                Err(ReadlineError::Interrupted) if !was_interrupted => {
                    was_interrupted = true;
                    print_note("note: press Ctrl-C again or Ctrl-D to exit");
                }
                Ok(None) | Err(ReadlineError::Eof | ReadlineError::Interrupted) => return Ok(None),
                Err(error) => return Err(into_error(error)),
            }
        }
    }

    fn remember(&mut self, line: &str) {
        let added = self.editor.add_history_entry(line);
        let Some(file) = self.history_file.take() else {
            return;
        };
        match added.and_then(|_| self.editor.append_history(&file)) {
            Ok(()) => self.history_file = Some(file),
            Err(error) => self.disable_history(&file, &error),
        }
    }

    /// Continues without a history file, and prints a note.
    fn disable_history(&mut self, file: &Path, error: &ReadlineError) {
        self.history_file = None;
        print_note(&format!("note: input history disabled: {}: {error}", file.display()));
    }
}

/// Ctrl-C clears a line that is not empty.
struct ClearLine;

impl ConditionalEventHandler for ClearLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        (!context.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}

fn into_error(error: ReadlineError) -> Error {
    Error::Stdin(match error {
        ReadlineError::Io(error) => error,
        error => io::Error::other(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut input: &[u8]) -> Vec<String> {
        std::iter::from_fn(|| piped_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn a_backslash_joins_a_line_with_the_next() {
        assert_eq!(lines(b"one\n\ntwo\r\nthree"), ["one", "", "two", "three"]);
        assert_eq!(lines(b"one\\\ntwo\\\r\nthree\nfour\n"), ["one\ntwo\nthree", "four"]);
        assert_eq!(lines(b"one\\"), ["one\n"]);
        assert_eq!(lines(b""), [""; 0]);
    }

    #[test]
    fn lines_between_triple_quotes_are_joined() {
        let block = "\"\"\"one\n\ntwo\\\n\"\"\"";
        assert_eq!(lines(format!("{block}\nthree").as_bytes()), [block, "three"]);
        assert_eq!(lines(b"\"\"\"one\"\"\"\ntwo\""), ["\"\"\"one\"\"\"", "two\""]);
        assert_eq!(lines(b"\"\"\"\none\r\n"), ["\"\"\"\none\n"]);
    }

    #[test]
    fn a_line_that_is_not_utf8_is_rejected() {
        let rejected = piped_line(&mut &b"Hi \xff\n"[..]);
        assert!(
            matches!(rejected, Err(Error::Input(InputError::InvalidUtf8 { offset: 3, .. }))),
            "{rejected:?}"
        );
    }

    #[test]
    fn an_endless_line_is_rejected() {
        let mut endless = io::BufReader::new(io::repeat(0));
        let rejected = piped_line(&mut endless);
        assert!(matches!(rejected, Err(Error::Input(InputError::TooLong { .. }))), "{rejected:?}");
    }
}
