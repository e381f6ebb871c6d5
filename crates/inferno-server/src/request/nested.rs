//! Objects further down, of which one field says what the others are.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::body::{is_given, unknown_field, written};
use super::mismatch::mismatch;
use crate::errors::ApiError;

/// What becomes of fields that an API does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    Refused,
    Ignored,
}

impl UnknownFields {
    /// Reads the object at `path` as a `T`, which its `type` has been found to say.
    ///
    /// It stands in for serde's tagged enums, which do not tell unknown fields.
    ///
    /// **Errors**: 400 that names the field which is missing, of another type, or unknown.
    pub fn read<T: DeserializeOwned>(self, json: &Value, path: &str) -> Result<T, ApiError> {
        let mut unread = None;
        let mut track = serde_path_to_error::Track::new();
        let deserializer = serde_path_to_error::Deserializer::new(json, &mut track);
        let found = serde_ignored::deserialize(deserializer, |field| {
            if unread.is_none() && is_given(json, &field) {
                unread = Some(written(&field)).filter(|name| name != "type");
            }
        });
        let found = found.map_err(|error| match track.path().to_string().as_str() {
            "." => mismatch(path, &error),
            inside => mismatch(&format!("{path}.{inside}"), &error),
        })?;
        match unread {
            Some(name) if self == Self::Refused => {
                Err(unknown_field(&format!("{path}.{name}"), &[]))
            }
            _ => Ok(found),
        }
    }
}
