//! Lines from a terminal, where they can be edited, or from a pipe.

use std::fs;
use std::io::{self, BufRead, IsTerminal, StdinLock, stdin, stdout};
use std::path::{Path, PathBuf};

use rustyline::config::{Behavior, Config};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{
    Cmd, ConditionalEventHandler, Editor, Event, EventContext, EventHandler, KeyEvent, Movement,
    RepeatCount,
};

use crate::Error;
use crate::cli::input::into_text;
use crate::cli::terminal::note::print_note;

const PROMPT: &str = "> ";
const CONTINUATION_PROMPT: &str = ". ";
const MAX_HISTORY_LINES: usize = 1000;
/// At the end of a line: the next one belongs to it.
const CONTINUES: char = '\\';

/// Where lines come from.
pub(super) enum Reader {
    Terminal(Box<LineEditor>),
    Pipe(StdinLock<'static>),
}

impl Reader {
    /// Of standard input. A terminal keeps a history, if it may.
    ///
    /// **Errors**: a terminal that cannot be set up.
    pub(super) fn of_stdin(keeps_history: bool) -> Result<Self, Error> {
        Ok(match stdin().is_terminal() {
            true => Self::Terminal(Box::new(LineEditor::new(keeps_history).map_err(into_error)?)),
            false => Self::Pipe(stdin().lock()),
        })
    }

    /// Whether somebody types.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// The next line, with those that it goes on with; `None` at the end.
    ///
    /// **Errors**: input that cannot be read, or is not UTF-8.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, Error> {
        match self {
            Self::Terminal(editor) => editor.next_line(),
            Self::Pipe(input) => piped_line(input),
        }
    }
}

fn piped_line(input: &mut impl BufRead) -> Result<Option<String>, Error> {
    join(|| {
        let mut bytes = Vec::new();
        if input.read_until(b'\n', &mut bytes).map_err(Error::Stdin)? == 0 {
            return Ok(None);
        }
        let mut line = into_text(bytes, "a line of standard input")?;
        let end = line.strip_suffix('\n').unwrap_or(&line);
        line.truncate(end.strip_suffix('\r').unwrap_or(end).len());
        Ok(Some(line))
    })
}

/// A line, and those after it as long as a backslash ends the one before.
fn join<E>(mut next: impl FnMut() -> Result<Option<String>, E>) -> Result<Option<String>, E> {
    let mut joined: Option<String> = None;
    while let Some(line) = next()? {
        let joined = joined.get_or_insert_default();
        match line.strip_suffix(CONTINUES) {
            Some(line) => {
                joined.push_str(line);
                joined.push('\n');
            }
            None => {
                joined.push_str(&line);
                return Ok(Some(std::mem::take(joined)));
            }
        }
    }
    Ok(joined)
}

/// A terminal whose lines are edited.
pub(super) struct LineEditor {
    editor: Editor<(), DefaultHistory>,
    /// Where lines are kept from one chat to the next.
    history_file: Option<PathBuf>,
}

impl LineEditor {
    fn new(keeps_history: bool) -> Result<Self, ReadlineError> {
        // Where answers go elsewhere, the prompt still belongs on the terminal.
        let behavior = if stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
        let config = Config::builder()
            .behavior(behavior)
            .max_history_size(MAX_HISTORY_LINES)?
            .bracketed_paste(true)
            .build();
        let mut editor = Editor::with_config(config)?;
        let clear = EventHandler::Conditional(Box::new(ClearLine));
        editor.bind_sequence(KeyEvent::ctrl('C'), clear);
        let mut this = Self { editor, history_file: None };
        if keeps_history {
            this.open_history();
        }
        Ok(this)
    }

    /// Reads the lines of earlier chats, and from now on adds to them.
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
            Err(error) => self.give_up_history(&file, &error),
        }
    }

    fn next_line(&mut self) -> Result<Option<String>, Error> {
        // It may have been meant for an answer that had just ended.
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
                    print_note("note: Ctrl-C once more leaves, and so does Ctrl-D");
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
            Err(error) => self.give_up_history(&file, &error),
        }
    }

    /// A chat goes on without its history, but says so.
    fn give_up_history(&mut self, file: &Path, error: &ReadlineError) {
        self.history_file = None;
        print_note(&format!("note: no history is kept: {}: {error}", file.display()));
    }
}

/// Ctrl-C clears a line that is not empty; twice on an empty one it leaves.
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
    fn each_line_is_one_unless_a_backslash_joins_it_with_the_next() {
        assert_eq!(lines(b"one\n\ntwo\r\nthree"), ["one", "", "two", "three"]);
        assert_eq!(lines(b"one\\\ntwo\\\r\nthree\nfour\n"), ["one\ntwo\nthree", "four"]);
        assert_eq!(lines(b"one\\"), ["one\n"]);
        assert_eq!(lines(b""), [""; 0]);
    }

    #[test]
    fn a_line_that_is_no_text_is_refused() {
        let refused = piped_line(&mut &b"Hi \xff\n"[..]);
        assert!(matches!(refused, Err(Error::InvalidUtf8 { offset: 3, .. })), "{refused:?}");
    }
}
