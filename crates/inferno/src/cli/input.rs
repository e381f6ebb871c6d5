//! Text and JSON from files and standard input.

pub(crate) mod conversation;

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::cli::arguments::values::TokenIds;
use crate::cli::terminal::note::print_note;
use crate::plural::count;
use crate::{Error, InputError};

const STDIN: &str = "standard input";

/// The path that means standard input.
pub(super) const STDIN_PATH: &str = "-";

/// The largest input, in bytes. Endless inputs such as /dev/zero fail instead of exhausting memory.
const MAX_INPUT_BYTES: u64 = 1 << 28;

/// How long to wait for the first byte of standard input if there is a prompt as well. Programs that start `inferno` often
/// leave standard input open without ever writing to it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reads all of standard input.
pub(super) fn read_stdin() -> Result<String, Error> {
    let bytes = read_bounded(io::stdin().lock(), STDIN, MAX_INPUT_BYTES, Error::Stdin)?;
    into_text(bytes, STDIN)
}

/// Reads all of standard input, without a line break at its end, if it is not a terminal.
pub(super) fn piped_input() -> Result<Option<String>, Error> {
    match io::stdin().is_terminal() {
        true => Ok(None),
        false => Ok(Some(without_line_break(&read_stdin()?).to_owned())),
    }
}

/// Returns `prompt`, followed by a blank line and standard input if that is not a terminal and not empty. One line
/// break at the end of the input is removed. If standard input is open but sends nothing for [`PATIENCE`], it is omitted
/// with a note.
pub(super) fn with_stdin(prompt: String) -> Result<String, Error> {
    if io::stdin().is_terminal() {
        return Ok(prompt);
    }
    let (sender, receiver) = mpsc::channel();
    let reader = thread::Builder::new().spawn(move || {
        // Only a receiver that no longer waits is gone.
        let started = io::stdin().lock().fill_buf().map(|_| ());
        if sender.send(started.map(|()| String::new()).map_err(Error::Stdin)).is_ok() {
            let _ = sender.send(read_stdin());
        }
    });
    reader.map_err(Error::Thread)?;
    match receiver.recv_timeout(PATIENCE) {
        Ok(started) => started?,
        Err(RecvTimeoutError::Timeout) => {
            print_note(
                "note: standard input is open but sent nothing for 5 s; continuing without it. < /dev/null omits it at once.",
            );
            return Ok(prompt);
        }
        Err(RecvTimeoutError::Disconnected) => String::new(),
    };
    // The sender is dropped without a result only if the thread panics.
    let input =
        receiver.recv().unwrap_or_else(|error| Err(Error::Stdin(io::Error::other(error))))?;
    let input = without_line_break(&input);
    Ok(match (prompt.is_empty(), input.is_empty()) {
        (_, true) => prompt,
        (true, false) => input.to_owned(),
        (false, false) => {
            print_note(&format!(
                "note: standard input ({}) follows the prompt. < /dev/null omits it.",
                count(input.len(), "byte")
            ));
            format!("{prompt}\n\n{input}")
        }
    })
}

/// Removes one line break at the end.
pub(super) fn without_line_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Reads a whole file; `-` reads standard input.
pub(super) fn read_file(path: &Path) -> Result<String, Error> {
    if path.as_os_str() == STDIN_PATH {
        return read_stdin();
    }
    let input = path.display().to_string();
    let failed = |error| Error::io(path, error);
    let file = File::open(path).map_err(failed)?;
    into_text(read_bounded(file, &input, MAX_INPUT_BYTES, failed)?, &input)
}

/// Reads to the end of `reader`.
///
/// **Errors**: [`InputError::TooLong`] if there are more than `max_bytes`; those of `failed` if reading fails.
pub(super) fn read_bounded(
    reader: impl Read,
    input: &str,
    max_bytes: u64,
    failed: impl Fn(io::Error) -> Error,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    reader.take(max_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > max_bytes {
        true => Err(Error::Input(InputError::TooLong { input: input.to_owned(), max_bytes })),
        false => Ok(bytes),
    }
}

/// Reads a conversation from a file or from standard input: a JSON object, or only its list of messages.
pub(super) fn read_conversation(path: &Path) -> Result<Map<String, Value>, Error> {
    let text = read_file(path)?;
    if let Ok(messages) = serde_json::from_str::<Vec<Map<String, Value>>>(&text)
        && !messages.is_empty()
    {
        let messages = messages.into_iter().map(Value::Object).collect();
        return Ok(Map::from_iter([("messages".to_owned(), Value::Array(messages))]));
    }
    let invalid = |source| Error::Input(InputError::InvalidJson { input: name(path), source });
    serde_json::from_str(&text).map_err(invalid)
}

/// Returns a path, with a leading `~/` expanded.
pub(super) fn expand_home(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), dirs::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

/// Returns the name of an input in messages.
fn name(path: &Path) -> String {
    match path.as_os_str() == STDIN_PATH {
        true => STDIN.to_owned(),
        false => path.display().to_string(),
    }
}

/// Parses token ids: a JSON array, or numbers separated by commas.
pub(super) fn parse_ids(text: &str) -> Result<Vec<u32>, Error> {
    let parsed: Result<TokenIds, _> = text.parse();
    parsed.map(|TokenIds(ids)| ids).map_err(|source| {
        Error::Input(InputError::InvalidIds { input: "the input".to_owned(), source })
    })
}

/// Converts the bytes of `input` to text.
pub(super) fn into_text(bytes: Vec<u8>, input: &str) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| {
        Error::Input(InputError::InvalidUtf8 {
            input: input.to_owned(),
            offset: error.utf8_error().valid_up_to(),
        })
    })
}
