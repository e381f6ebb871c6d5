//! Serde's errors about missing fields and wrong types, in terms of JSON rather than Rust.

use crate::errors::ApiError;

/// Characters of the found value that an error repeats.
const MAX_FOUND: usize = 80;

/// The error for a field that is missing or has the wrong type.
pub(crate) fn mismatch(path: &str, error: &serde_json::Error) -> ApiError {
    let text = error.to_string();
    // If a field is missing, the path is that of its object.
    let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let param = match (path, missing) {
        (".", Some(field)) => field.to_owned(),
        (path, Some(field)) => format!("{path}.{field}"),
        (path, None) => path.to_owned(),
    };
    let message = match missing {
        Some(_) => format!("{param} is missing"),
        None => expected_and_found(&param, &text),
    };
    ApiError::invalid(param, message).with_code("invalid_type")
}

fn expected_and_found(param: &str, text: &str) -> String {
    const KINDS: [&str; 3] = ["invalid type: ", "invalid value: ", "unknown variant "];
    let details = KINDS.iter().find_map(|kind| text.strip_prefix(kind));
    match details.and_then(|details| details.rsplit_once(", expected ")) {
        Some((found, expected)) => {
            format!("{param} must be {}, but is {}", wanted(expected), shown(found))
        }
        None => match text.strip_prefix("expected ") {
            Some(expected) => format!("{param} must be {expected}"),
            None => format!("{param}: {text}"),
        },
    }
}

/// The expected type, in terms of JSON.
fn wanted(expected: &str) -> &str {
    match expected {
        "usize" | "u64" => "a non-negative integer",
        "u32" => "an integer between 0 and 4294967295",
        "i32" => "a 32-bit integer",
        "i64" => "a 64-bit integer",
        "f32" | "f64" => "a number",
        "a string" | "string" => "a string",
        "a sequence" => "an array",
        "a boolean" => "true or false",
        "a map" => "an object",
        name if name.starts_with("struct ") => "an object",
        words => words,
    }
}

/// The found value as JSON, shortened.
fn shown(found: &str) -> String {
    let found = match found {
        "sequence" => "an array",
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

    fn message<T: for<'d> Deserialize<'d> + std::fmt::Debug>(json: Value) -> String {
        let error = serde_json::from_value::<T>(json).expect_err("it does not fit");
        mismatch("field", &error).message
    }

    #[test]
    fn errors_name_json_types() {
        assert_eq!(
            message::<usize>(json!("4")),
            "field must be a non-negative integer, but is \"4\""
        );
        assert_eq!(message::<usize>(json!(-1)), "field must be a non-negative integer, but is -1");
        assert_eq!(
            message::<usize>(json!(4.5)),
            "field must be a non-negative integer, but is 4.5"
        );
        assert_eq!(message::<f32>(json!(null)), "field must be a number, but is null");
        assert_eq!(message::<String>(json!([1])), "field must be a string, but is an array");
        assert_eq!(
            message::<Vec<u32>>(json!({"a": 1})),
            "field must be an array, but is an object"
        );
        assert_eq!(message::<bool>(json!("yes")), "field must be true or false, but is \"yes\"");
        assert_eq!(message::<Point>(json!("x")), "field must be an object, but is \"x\"");
        assert_eq!(
            message::<Colour>(json!("green")),
            "field must be `red` or `blue`, but is green"
        );
        assert_eq!(message::<Point>(json!({})), "field.x is missing");
        assert_eq!(
            message::<bool>(json!("a, expected b")),
            "field must be true or false, but is \"a, expected b\""
        );
    }

    #[test]
    fn long_values_are_shortened() {
        let message = message::<bool>(json!("é".repeat(10_000)));
        assert!(message.chars().count() < 150 && message.ends_with('…'), "{message}");
    }
}
