//! Response formats of OpenAI's requests.

use serde_json::{Map, Value};

use crate::chat::OutputFormat;
use crate::errors::ApiError;

/// The output format for a `kind` and its schema, if there is one, from `field` and `schema_field`. Unless `strict`,
/// keywords of the schema that cannot be enforced are ignored.
///
/// **Errors**: an unknown kind, a missing schema.
pub(super) fn output_format(
    kind: &str,
    schema: Option<&Map<String, Value>>,
    strict: Option<bool>,
    field: &str,
    schema_field: &str,
) -> Result<OutputFormat, ApiError> {
    match (kind, schema) {
        ("text", _) => Ok(OutputFormat::Text),
        ("json_object", None) => Ok(OutputFormat::json_object()),
        ("json_object" | "json_schema", Some(schema)) => {
            let schema = Value::Object(schema.clone());
            match strict {
                Some(true) => Ok(OutputFormat::StrictJsonSchema(schema)),
                _ => Ok(OutputFormat::JsonSchema(schema)),
            }
        }
        ("json_schema", None) => {
            Err(ApiError::invalid(schema_field, format!("{schema_field} is missing")))
        }
        (kind, _) => {
            let param = format!("{field}.type");
            let message =
                format!("{param} must be text, json_object or json_schema, but is {kind:?}");
            Err(ApiError::invalid(param, message))
        }
    }
}
