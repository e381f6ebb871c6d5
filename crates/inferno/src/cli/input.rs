//! Texts from files and standard input.

pub(crate) mod conversation;

use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value};

use crate::Error;

const STDIN: &str = "standard input";

/// The path that stands for standard input.
pub(super) const STDIN_PATH: &str = "-";

/// All of standard input.
pub(super) fn read_stdin() -> Result<String, Error> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(Error::Stdin)?;
    into_text(bytes, STDIN)
}

/// A whole file.
pub(super) fn read_file(path: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, error))?;
    into_text(bytes, &path.display().to_string())
}

/// A JSON object in a file, or on standard input.
pub(super) fn read_json(path: &Path) -> Result<Map<String, Value>, Error> {
    let (text, input) = match path.as_os_str() == STDIN_PATH {
        true => (read_stdin()?, STDIN.to_owned()),
        false => (read_file(path)?, path.display().to_string()),
    };
    serde_json::from_str(&text).map_err(|source| Error::InvalidJson { input, source })
}

/// Token ids on standard input, as a JSON array.
pub(super) fn read_ids() -> Result<Vec<u32>, Error> {
    let text = read_stdin()?;
    serde_json::from_str(&text)
        .map_err(|source| Error::InvalidIds { input: STDIN.to_owned(), source })
}

/// The text that the bytes of `input` are.
pub(super) fn into_text(bytes: Vec<u8>, input: &str) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| Error::InvalidUtf8 {
        input: input.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })
}
