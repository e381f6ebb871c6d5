//! Nested objects whose `type` field determines the others.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::body::{is_given, path_notation, unknown_field};
use super::mismatch::mismatch;
use crate::errors::ApiError;

/// The treatment of fields that an API does not define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    Rejected,
    Ignored,
}

impl UnknownFields {
    /// Reads the object at `path` as a `T`, which its `type` determines.
    ///
    /// It replaces serde's tagged enums, which do not report unknown fields.
    ///
    /// **Errors**: 400 that names the field which is missing, has the wrong type, or is unknown.
    pub fn read<T: DeserializeOwned>(self, json: &Value, path: &str) -> Result<T, ApiError> {
        let mut unread = None;
        let mut track = serde_path_to_error::Track::new();
        let deserializer = serde_path_to_error::Deserializer::new(json, &mut track);
        let found = serde_ignored::deserialize(deserializer, |field| {
            if unread.is_none() && is_given(json, &field) {
                unread = Some(path_notation(&field)).filter(|name| name != "type");
            }
        });
        let found = found.map_err(|error| match track.path().to_string().as_str() {
            "." => mismatch(path, &error),
            inside => mismatch(&format!("{path}.{inside}"), &error),
        })?;
        match unread {
            Some(name) if self == Self::Rejected => {
                Err(unknown_field(&format!("{path}.{name}"), &[]))
            }
            _ => Ok(found),
        }
    }
}
