//! Reading JSON files of limited size.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value};

use crate::ConvertError;

/// The largest JSON file that is read; the largest vocabularies are a tenth of that.
const MAX_BYTES: u64 = 512 << 20;

/// Reads a file of text; `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, ConvertError> {
    let error = |error| ConvertError::Io { path: path.to_owned(), error };
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(found) if found.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(found) => return Err(error(found)),
    };
    if !file.metadata().map_err(error)?.is_file() {
        return Err(ConvertError::invalid(path, "not a file"));
    }
    let mut text = String::new();
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(error)?;
    match read as u64 > MAX_BYTES {
        true => Err(ConvertError::invalid(path, format!("larger than {MAX_BYTES} bytes"))),
        false => Ok(Some(text)),
    }
}

/// Reads a JSON file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Value>, ConvertError> {
    let Some(text) = read_text(path)? else {
        return Ok(None);
    };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|error| ConvertError::invalid(path, format!("invalid JSON: {error}")))
}

/// Reads a JSON file that contains an object; `None` if it does not exist.
pub(crate) fn read_object(path: &Path) -> Result<Option<Map<String, Value>>, ConvertError> {
    match read(path)? {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(ConvertError::invalid(path, "expected a JSON object")),
    }
}
