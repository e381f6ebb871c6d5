//! Values from JSON.

use minijinja::Value;
use serde_json::Value as Json;

/// The value of a template that stands for `json`.
pub(super) fn from_json(json: &Json) -> Value {
    match json {
        Json::Array(items) => items.iter().map(from_json).collect(),
        Json::Object(entries) => {
            Value::from_pairs(entries.iter().map(|(key, value)| (key.as_str(), from_json(value))))
        }
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::String(value) => Value::from(value.as_str()),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::from(number),
            (None, Some(number)) => Value::from(number),
            (None, None) => Value::from(number.as_f64()),
        },
    }
}
