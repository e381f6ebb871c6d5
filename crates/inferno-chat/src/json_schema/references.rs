//! What the references in a schema may refer to.

use std::collections::HashSet;

use serde_json::Value;

/// The document that references are resolved in, and the names that it declares.
pub(super) struct Declarations<'a> {
    root: &'a Value,
    /// Values of `$id` and, with a leading `#`, of `$anchor`.
    names: HashSet<String>,
}

impl<'a> Declarations<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        let mut names = HashSet::new();
        collect(root, &mut names);
        Self { root, names }
    }

    /// Whether a reference has a target in this document.
    pub(super) fn resolves(&self, reference: &str) -> bool {
        match reference.strip_prefix('#') {
            Some("" | "/") => true,
            Some(pointer) if pointer.starts_with('/') => {
                let target = decoded(pointer).and_then(|pointer| self.root.pointer(&pointer));
                target.is_some_and(|target| target.is_object() || target.is_boolean())
            }
            _ => self.names.contains(reference),
        }
    }
}

fn collect(value: &Value, names: &mut HashSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("$id" | "id", Value::String(id)) => {
                        names.insert(id.clone());
                    }
                    ("$anchor", Value::String(anchor)) => {
                        names.insert(format!("#{anchor}"));
                    }
                    _ => collect(value, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        _ => {}
    }
}

/// A JSON pointer in a URI fragment, without its percent-encoding; `None` if that is invalid.
fn decoded(pointer: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}
