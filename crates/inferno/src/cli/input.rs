//! Texts from files and standard input.

use std::io::{self, Read};
use std::path::Path;

use crate::Error;

const STDIN: &str = "standard input";

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

/// Token ids on standard input, as a JSON array.
pub(super) fn read_ids() -> Result<Vec<u32>, Error> {
    let text = read_stdin()?;
    serde_json::from_str(&text)
        .map_err(|source| Error::InvalidIds { input: STDIN.to_owned(), source })
}

fn into_text(bytes: Vec<u8>, input: &str) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| Error::InvalidUtf8 {
        input: input.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })
}
