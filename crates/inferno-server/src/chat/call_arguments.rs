//! Arguments of earlier tool calls, which clients send back.

use serde_json::{Map, Value};

use crate::errors::ApiError;

/// The arguments of a call in the format of chat templates: an object, or a string that contains one. Missing, null and blank
/// arguments are an empty object: many clients send those of functions without parameters so.
///
/// **Errors**: other values.
pub(crate) fn call_arguments(arguments: Option<Value>, path: &str) -> Result<Value, ApiError> {
    let parsed = match arguments {
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Value::Null),
        Some(Value::String(text)) => serde_json::from_str(&text),
        other => Ok(other.unwrap_or_default()),
    };
    match parsed {
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(object @ Value::Object(_)) => Ok(object),
        _ => {
            let message = format!("{path} must be a JSON object, or a string that contains one");
            Err(ApiError::invalid(path, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_arguments_are_an_empty_object() {
        let empty = [json!(null), json!(""), json!(" \n"), json!("null"), json!("{}"), json!({})];
        for arguments in empty.map(Some).into_iter().chain([None]) {
            assert_eq!(call_arguments(arguments, "a").unwrap(), json!({}));
        }
    }

    #[test]
    fn objects_may_be_in_strings() {
        for arguments in [json!({"a": [1]}), json!(" {\"a\": [1]}")] {
            assert_eq!(call_arguments(Some(arguments), "a").unwrap(), json!({"a": [1]}));
        }
    }

    #[test]
    fn other_arguments_are_rejected() {
        for arguments in [json!("no"), json!("{\"a\": "), json!("[]"), json!([]), json!(1)] {
            let error = call_arguments(Some(arguments), "calls[0].arguments").unwrap_err();
            assert_eq!(error.param.as_deref(), Some("calls[0].arguments"));
        }
    }
}
