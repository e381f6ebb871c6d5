//! Text and JSON from files and standard input.

pub(crate) mod conversation;

use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value};

use crate::Error;

const STDIN: &str = "standard input";

/// The path that means standard input.
pub(super) const STDIN_PATH: &str = "-";

/// Reads all of standard input.
pub(super) fn read_stdin() -> Result<String, Error> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(Error::Stdin)?;
    into_text(bytes, STDIN)
}

/// Reads a whole file.
pub(super) fn read_file(path: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, error))?;
    into_text(bytes, &path.display().to_string())
}

/// Reads a JSON object from a file or from standard input.
pub(super) fn read_json(path: &Path) -> Result<Map<String, Value>, Error> {
    let (text, input) = match path.as_os_str() == STDIN_PATH {
        true => (read_stdin()?, STDIN.to_owned()),
        false => (read_file(path)?, path.display().to_string()),
    };
    serde_json::from_str(&text).map_err(|source| Error::InvalidJson { input, source })
}

/// Reads a JSON array of token ids from standard input.
pub(super) fn read_ids() -> Result<Vec<u32>, Error> {
    let text = read_stdin()?;
    serde_json::from_str(&text)
        .map_err(|source| Error::InvalidIds { input: STDIN.to_owned(), source })
}

/// Converts the bytes of `input` to text.
pub(super) fn into_text(bytes: Vec<u8>, input: &str) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| Error::InvalidUtf8 {
        input: input.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })
}
