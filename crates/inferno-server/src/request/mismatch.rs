//! What serde says of a field that is missing or of another type, in JSON's words rather than Rust's.

use crate::errors::ApiError;

/// Characters of what was found that an error repeats.
const MAX_FOUND: usize = 80;

/// A field is missing or of another type.
pub(super) fn mismatch(path: &str, error: &serde_json::Error) -> ApiError {
    let text = error.to_string();
    // Where a field is missing, the path is that of the object that should have it.
    let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let param = match (path, missing) {
        (".", Some(field)) => field.to_owned(),
        (path, Some(field)) => format!("{path}.{field}"),
        (path, None) => path.to_owned(),
    };
    let message = match missing {
        Some(_) => format!("{param} is missing"),
        None => in_words(&param, &text),
    };
    ApiError::invalid(param, message).with_code("invalid_type")
}

fn in_words(param: &str, text: &str) -> String {
    const KINDS: [&str; 3] = ["invalid type: ", "invalid value: ", "unknown variant "];
    let told = KINDS.iter().find_map(|kind| text.strip_prefix(kind));
    match told.and_then(|told| told.rsplit_once(", expected ")) {
        Some((found, expected)) => {
            format!("{param} must be {}, but is {}", wanted(expected), shown(found))
        }
        None => match text.strip_prefix("expected ") {
            Some(expected) => format!("{param} must be {expected}"),
            None => format!("{param}: {text}"),
        },
    }
}

/// What was expected.
fn wanted(expected: &str) -> &str {
    match expected {
        "usize" | "u64" => "a whole number of 0 or more",
        "u32" => "a whole number from 0 to 4294967295",
        "i32" => "a whole number of 32 bits",
        "i64" => "a whole number of 64 bits",
        "f32" | "f64" => "a number",
        "a string" | "string" => "a text",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "a map" => "an object",
        name if name.starts_with("struct ") => "an object",
        words => words,
    }
}

/// What was found, as it was written.
fn shown(found: &str) -> String {
    let found = match found {
        "sequence" => "a list",
        "map" => "an object",
        found => match found.split_once('`').and_then(|(_, rest)| rest.strip_suffix('`')) {
            Some(value) => value,
            None => found.strip_prefix("string ").unwrap_or(found),
        },
    };
    match found.char_indices().nth(MAX_FOUND) {
        Some((end, _)) => format!("{}…", &found[..end]),
        None => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Blue,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is never read")]
    struct Point {
        x: usize,
    }

    fn told<T: for<'d> Deserialize<'d> + std::fmt::Debug>(json: Value) -> String {
        let error = serde_json::from_value::<T>(json).expect_err("it does not fit");
        mismatch("field", &error).message
    }

    #[test]
    fn errors_are_in_words_of_json() {
        assert_eq!(
            told::<usize>(json!("4")),
            "field must be a whole number of 0 or more, but is \"4\""
        );
        assert_eq!(
            told::<usize>(json!(-1)),
            "field must be a whole number of 0 or more, but is -1"
        );
        assert_eq!(
            told::<usize>(json!(4.5)),
            "field must be a whole number of 0 or more, but is 4.5"
        );
        assert_eq!(told::<f32>(json!(null)), "field must be a number, but is null");
        assert_eq!(told::<String>(json!([1])), "field must be a text, but is a list");
        assert_eq!(told::<Vec<u32>>(json!({"a": 1})), "field must be a list, but is an object");
        assert_eq!(told::<bool>(json!("yes")), "field must be true or false, but is \"yes\"");
        assert_eq!(told::<Point>(json!("x")), "field must be an object, but is \"x\"");
        assert_eq!(told::<Colour>(json!("green")), "field must be `red` or `blue`, but is green");
        assert_eq!(told::<Point>(json!({})), "field.x is missing");
        assert_eq!(
            told::<bool>(json!("a, expected b")),
            "field must be true or false, but is \"a, expected b\""
        );
    }

    #[test]
    fn what_is_long_is_not_repeated() {
        let message = told::<bool>(json!("é".repeat(10_000)));
        assert!(message.chars().count() < 150 && message.ends_with('…'), "{message}");
    }
}
