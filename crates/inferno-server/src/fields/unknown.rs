//! What the server ignores in one request: fields that the API does not define, and parts of schemas.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{is_given, mismatch, path_notation};
use crate::errors::{ApiError, shortened};

/// Names that are reported for one request, and as many parts of schemas.
const MAX_NAMES: usize = 32;

/// Unknown fields of one request: rejected in strict mode, otherwise ignored and collected, as are the parts of schemas
/// that cannot be enforced. Clones share the collection.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnknownFields {
    is_strict: bool,
    ignored: Names,
    unenforced: Names,
}

/// A bounded set of names that clones share.
#[derive(Debug, Clone, Default)]
struct Names(Arc<Mutex<BTreeSet<String>>>);

impl UnknownFields {
    pub fn new(is_strict: bool) -> Self {
        Self { is_strict, ..Self::default() }
    }

    /// An unknown field was found at this path.
    ///
    /// **Errors**: 400 in strict mode.
    pub fn found(&self, path: &str) -> Result<(), ApiError> {
        if self.is_strict {
            return Err(unknown_field(path, "remove it"));
        }
        self.report(path);
        Ok(())
    }

    /// The field at this path was ignored.
    pub fn report(&self, path: &str) {
        self.ignored.insert(&without_indices(path));
    }

    /// These parts of schemas are not enforced.
    pub fn report_unenforced(&self, parts: &[String]) {
        parts.iter().for_each(|part| self.unenforced.insert(part));
    }

    /// The ignored fields so far, sorted.
    pub fn take(&self) -> Vec<String> {
        self.ignored.take()
    }

    /// The parts of schemas that are not enforced so far, sorted.
    pub fn take_unenforced(&self) -> Vec<String> {
        self.unenforced.take()
    }

    /// Reads the object at `path` as a `T`, which its `type` determines.
    ///
    /// It replaces serde's tagged enums, which do not report unknown fields.
    ///
    /// **Errors**: 400 that names the field which is missing, has the wrong type, or is unknown in strict mode.
    pub fn read<T: DeserializeOwned>(&self, json: &Value, path: &str) -> Result<T, ApiError> {
        let mut unread = Vec::new();
        let mut track = serde_path_to_error::Track::new();
        let deserializer = serde_path_to_error::Deserializer::new(json, &mut track);
        let found = serde_ignored::deserialize(deserializer, |field| {
            if is_given(json, &field) {
                unread.push(path_notation(&field));
            }
        });
        let found = found.map_err(|error| match track.path().to_string().as_str() {
            "." => mismatch(path, &error),
            inside => mismatch(&format!("{path}.{inside}"), &error),
        })?;
        for name in unread.iter().filter(|name| *name != "type") {
            self.found(&format!("{path}.{name}"))?;
        }
        Ok(found)
    }
}

impl Names {
    fn insert(&self, name: &str) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MAX_NAMES {
            names.insert(shortened(name));
        }
    }

    /// The names so far, sorted.
    fn take(&self) -> Vec<String> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *names).into_iter().collect()
    }
}

/// The error for a field that the API does not define, with advice.
pub(crate) fn unknown_field(path: &str, advice: &str) -> ApiError {
    let message = format!("unknown field {}; {advice}", shortened(path));
    ApiError::invalid(path, message).with_code("unknown_field")
}

/// A path without array indices: `messages[].name` for `messages[3].name` (OpenAI) and `messages.3.name` (Anthropic).
fn without_indices(path: &str) -> String {
    let mut name = String::with_capacity(path.len());
    for segment in path.split('.') {
        let is_index = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
        if is_index {
            name.push_str("[]");
            continue;
        }
        if !name.is_empty() {
            name.push('.');
        }
        let mut rest = segment;
        while let Some((before, index)) = rest.split_once('[') {
            name.push_str(before);
            name.push('[');
            let digits = index.bytes().take_while(u8::is_ascii_digit).count();
            rest = &index[digits..];
        }
        name.push_str(rest);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_indices() {
        for (path, name) in [
            ("mood", "mood"),
            ("messages[12].content[0].mood", "messages[].content[].mood"),
            ("messages.12.content.0.mood", "messages[].content[].mood"),
            ("tools[web_search]", "tools[web_search]"),
            ("", ""),
            ("[", "["),
            ("a..b", "a..b"),
        ] {
            assert_eq!(without_indices(path), name);
        }
    }

    #[test]
    fn the_collection_is_bounded_and_shared() {
        let unknown = UnknownFields::new(false);
        for index in 0..100 {
            unknown.clone().found(&format!("field{index}")).unwrap();
        }
        assert_eq!(unknown.take().len(), MAX_NAMES);
        assert!(unknown.take().is_empty());
        let error = UnknownFields::new(true).found("mood").unwrap_err();
        assert_eq!((error.param.as_deref(), error.code), (Some("mood"), Some("unknown_field")));
    }
}
