//! The policy on request fields that this server does not implement.
//!
//! - A field that the API does not define is ignored and reported: once per name in the log, in the response header
//!   `x-inferno-ignored-fields`, and in the metrics. With `--strict-fields`, it is an error.
//! - A field that the API defines and this server does not implement is listed in a [`FieldTable`], with the values that do not
//!   change the answer. Other values are errors.
//!
//! The tables are also the source of the API description.

pub(crate) mod anthropic;
mod ignored;
pub(crate) mod llama_server;
mod mismatch;
pub(crate) mod ollama;
pub(crate) mod openai;
mod path;
mod unknown;

use serde_json::Value;

use crate::errors::ApiError;
pub(crate) use ignored::IgnoredFields;
pub(crate) use mismatch::mismatch;
pub(crate) use path::{is_given, path_notation};
pub(crate) use unknown::{UnknownFields, unknown_field};

/// A field that an API defines and this server does not implement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnimplementedField {
    /// Its path in the request, such as `reasoning.summary`.
    pub path: &'static str,
    pub accepts: Accepts,
    /// Why other values are rejected, or why the value has no effect.
    pub reason: &'static str,
}

/// Fields of an endpoint that this server does not implement.
pub(crate) type FieldTable = &'static [UnimplementedField];

/// The accepted values of an unimplemented field; null is always accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Accepts {
    /// Any value: none changes the answer.
    Anything,
    /// Any value. Other servers may act on it, so it is reported as ignored, except for these values.
    Hint(&'static [NoOp]),
    /// Values that request what this server does anyway.
    Only(&'static [NoOp]),
}

/// A value that requests what this server does anyway.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NoOp {
    Bool(bool),
    Number(f64),
    Text(&'static str),
    /// An array of some of these strings.
    ArrayOf(&'static [&'static str]),
    /// An empty array, object or string.
    Empty,
}

/// A field of which no value changes the answer.
const fn anything(path: &'static str, reason: &'static str) -> UnimplementedField {
    UnimplementedField { path, accepts: Accepts::Anything, reason }
}

/// A field that is ignored and reported.
const fn hint(path: &'static str, reason: &'static str) -> UnimplementedField {
    hint_unless(path, &[], reason)
}

/// A field that is ignored and reported unless it has one of these no-op values.
const fn hint_unless(
    path: &'static str,
    values: &'static [NoOp],
    reason: &'static str,
) -> UnimplementedField {
    UnimplementedField { path, accepts: Accepts::Hint(values), reason }
}

/// A field with these no-op values.
const fn only(
    path: &'static str,
    values: &'static [NoOp],
    reason: &'static str,
) -> UnimplementedField {
    UnimplementedField { path, accepts: Accepts::Only(values), reason }
}

/// A field that is always rejected.
const fn rejected(path: &'static str, reason: &'static str) -> UnimplementedField {
    only(path, &[], reason)
}

impl NoOp {
    fn matches(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Bool(expected), Value::Bool(found)) => expected == *found,
            (Self::Number(expected), Value::Number(found)) => found.as_f64() == Some(expected),
            (Self::Text(expected), Value::String(found)) => expected == found,
            (Self::ArrayOf(allowed), Value::Array(items)) => {
                items.iter().all(|item| item.as_str().is_some_and(|item| allowed.contains(&item)))
            }
            (Self::Empty, Value::Array(items)) => items.is_empty(),
            (Self::Empty, Value::Object(fields)) => fields.is_empty(),
            (Self::Empty, Value::String(text)) => text.is_empty(),
            _ => false,
        }
    }
}

/// Checks the unimplemented fields of a request.
///
/// **Errors**: 400 for a value that would change the answer.
pub(crate) fn check(
    json: &Value,
    tables: &[FieldTable],
    unknown: &UnknownFields,
) -> Result<(), ApiError> {
    for field in tables.iter().copied().flatten() {
        let found = field.path.split('.').try_fold(json, |object, name| object.get(name));
        let Some(value) = found.filter(|value| !value.is_null()) else {
            continue;
        };
        let is_no_op = |values: &[NoOp]| values.iter().any(|accepted| accepted.matches(value));
        match field.accepts {
            Accepts::Anything => {}
            Accepts::Hint(values) | Accepts::Only(values) if is_no_op(values) => {}
            Accepts::Hint(_) => unknown.report(field.path),
            Accepts::Only(_) => return Err(ApiError::unsupported(field.path, field.reason)),
        }
    }
    Ok(())
}

/// Whether the tables list this path.
pub(crate) fn is_listed(tables: &[FieldTable], path: &str) -> bool {
    tables.iter().copied().flatten().any(|field| field.path == path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: FieldTable = &[
        anything("user", "it is not used"),
        hint("text.verbosity", "it is a hint"),
        hint_unless("store", &[NoOp::Bool(false)], "nothing is stored"),
        only("penalty", &[NoOp::Number(1.0), NoOp::Bool(false)], "it is not implemented"),
        only("include", &[NoOp::ArrayOf(&["a", "b"])], "only a and b"),
        only("lists", &[NoOp::Empty], "none"),
        rejected("audio", "answers are text"),
    ];

    fn rejected_field(json: Value) -> Option<String> {
        check(&json, &[TABLE], &UnknownFields::default()).err().and_then(|error| error.param)
    }

    #[test]
    fn values_that_change_nothing_are_accepted_and_others_are_named() {
        for json in [
            json!({"user": 7}),
            json!({"penalty": 1}),
            json!({"penalty": false}),
            json!({"include": ["b", "a", "b"]}),
            json!({"include": []}),
            json!({"lists": []}),
            json!({"lists": {}}),
            json!({"lists": ""}),
            json!({"audio": null}),
            json!({"text": "no object"}),
        ] {
            assert_eq!(rejected_field(json.clone()), None, "{json}");
        }
        for (json, param) in [
            (json!({"penalty": 1.5}), "penalty"),
            (json!({"penalty": true}), "penalty"),
            (json!({"include": ["c"]}), "include"),
            (json!({"include": "a"}), "include"),
            (json!({"lists": [1]}), "lists"),
            (json!({"audio": {}}), "audio"),
        ] {
            assert_eq!(rejected_field(json.clone()).as_deref(), Some(param), "{json}");
        }
    }

    #[test]
    fn hints_are_reported_even_in_strict_mode() {
        let unknown = UnknownFields::new(true);
        let hints =
            |store: bool| json!({"text": {"verbosity": "low"}, "user": "me", "store": store});
        check(&hints(true), &[TABLE], &unknown).unwrap();
        assert_eq!(unknown.take(), ["store", "text.verbosity"]);
        check(&hints(false), &[TABLE], &unknown).unwrap();
        assert_eq!(unknown.take(), ["text.verbosity"]);
    }
}
