//! Reading JSON files of limited size.

use std::borrow::Cow;
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

/// Reads a JSON file; `None` if it does not exist. `NaN`, `Infinity` and `-Infinity` become strings with these names.
pub(crate) fn read(path: &Path) -> Result<Option<Value>, ConvertError> {
    let Some(text) = read_text(path)? else {
        return Ok(None);
    };
    let parsed = serde_json::from_str(&text)
        .or_else(|_| serde_json::from_str(&with_quoted_constants(&text)));
    parsed.map(Some).map_err(|error| ConvertError::invalid(path, format!("invalid JSON: {error}")))
}

/// The numbers that Python's `json` module writes although JSON does not have them.
const CONSTANTS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

/// Puts [`CONSTANTS`] outside strings in quotes. A key that is read as a number is then reported with its value, and
/// the others, such as `time_step_limit` of a Llama model, have no effect.
fn with_quoted_constants(text: &str) -> Cow<'_, str> {
    if !CONSTANTS.iter().any(|constant| text.contains(constant)) {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len() + 16);
    let (mut is_in_string, mut is_escaped, mut rest) = (false, false, text);
    while let Some(character) = rest.chars().next() {
        let constant = CONSTANTS.into_iter().find(|constant| rest.starts_with(constant));
        if let Some(constant) = constant.filter(|_| !is_in_string) {
            quoted.extend(["\"", constant, "\""]);
            rest = &rest[constant.len()..];
            continue;
        }
        if character == '"' && !is_escaped {
            is_in_string = !is_in_string;
        }
        is_escaped = is_in_string && character == '\\' && !is_escaped;
        quoted.push(character);
        rest = &rest[character.len_utf8()..];
    }
    Cow::Owned(quoted)
}

/// Reads a JSON file that contains an object; `None` if it does not exist.
pub(crate) fn read_object(path: &Path) -> Result<Option<Map<String, Value>>, ConvertError> {
    match read(path)? {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(ConvertError::invalid(path, "expected a JSON object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // By Python: json.dumps({"a\"NaN": [float("inf"), -float("inf"), float("nan")], "b": "-Infinity\\"})
    #[test]
    fn constants_of_python_are_quoted_outside_strings_only() {
        let text = r#"{"a\"NaN": [Infinity, -Infinity, NaN], "b": "-Infinity\\"}"#;
        let expected = r#"{"a\"NaN": ["Infinity", "-Infinity", "NaN"], "b": "-Infinity\\"}"#;
        assert_eq!(with_quoted_constants(text), expected);
    }

    #[test]
    fn text_around_constants_stays_invalid() {
        for text in
            ["[1NaN]", "[NaN1]", "[NaNNaN]", "[--Infinity]", "[Inf]", "[nan]", "NaN\"", "[\"NaN"]
        {
            let parsed = serde_json::from_str::<Value>(&with_quoted_constants(text));
            assert!(parsed.is_err(), "{text}: {parsed:?}");
        }
    }
}
