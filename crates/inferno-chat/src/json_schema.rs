//! JSON schemas, reduced to what a grammar can enforce.
//!
//! Clients send schemas that were written for validators: with keywords that no grammar can express, and with mistakes
//! that validators overlook. Unless a schema is strict, whatever cannot be enforced is left out and reported, so that
//! the rest still holds. The table in [`rules`] is the single place that decides; `docs/json-schema.md` states it.

mod closing;
mod references;
mod rules;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

pub(crate) use closing::closed;
use references::Declarations;
use rules::{Repair, SUBSCHEMAS, Subschemas};

/// How much of a schema is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enforcement {
    /// Every keyword that a grammar can express.
    Keywords,
    /// Types, properties, alternatives and values: nothing that bounds a string, a number or a length.
    Structure,
    /// Only that it is an object.
    Object,
}

/// A schema without what is not enforced.
#[derive(Debug, PartialEq)]
pub(crate) struct Reduced {
    pub(crate) schema: Value,
    /// What was left out: keywords and where they were.
    pub(crate) ignored: BTreeSet<String>,
    /// The error for the first `type` that neither JSON Schema nor another language has.
    pub(crate) unknown_type: Option<String>,
}

/// Reduces `schema` to what is enforced.
pub(crate) fn reduce(schema: &Value, enforcement: Enforcement) -> Reduced {
    if enforcement == Enforcement::Object {
        let ignored = BTreeSet::from(["everything but \"type\": \"object\"".to_owned()]);
        return Reduced { schema: json!({"type": "object"}), ignored, unknown_type: None };
    }
    let declarations = Declarations::of(schema);
    let ignored = BTreeSet::new();
    let mut reduction = Reduction { declarations, enforcement, ignored, unknown_type: None };
    let schema = reduction.schema(schema, &mut String::new());
    Reduced { schema, ignored: reduction.ignored, unknown_type: reduction.unknown_type }
}

struct Reduction<'a> {
    declarations: Declarations<'a>,
    enforcement: Enforcement,
    ignored: BTreeSet<String>,
    unknown_type: Option<String>,
}

impl Reduction<'_> {
    /// Reduces the schema at `path`. JSON has at most 128 levels, so this recursion is bounded.
    fn schema(&mut self, schema: &Value, path: &mut String) -> Value {
        let Value::Object(keywords) = schema else {
            if !schema.is_boolean() {
                self.ignore("a schema that is neither an object nor a boolean", path);
            }
            return Value::Bool(schema.as_bool().unwrap_or(true));
        };
        let mut reduced = Map::new();
        let mut dropped = Vec::new();
        for (name, value) in keywords {
            let kept = match rules::repair(name, value, &self.declarations, self.enforcement) {
                Repair::Keep => value.clone(),
                Repair::Replace(value) => value,
                Repair::Drop => {
                    if name == "type" && rules::unknown_type(value) {
                        self.unknown_type.get_or_insert_with(|| unknown_type(value, path));
                    }
                    self.ignore(&format!("\"{name}\""), path);
                    dropped.push(name.as_str());
                    continue;
                }
                Repair::DropSilently => continue,
            };
            let len = path.len();
            path.push('/');
            path.push_str(name);
            let kept = self.subschemas(name, kept, path);
            path.truncate(len);
            reduced.insert(name.clone(), kept);
        }
        self.drop_undeclared(&mut reduced, path);
        self.drop_counts(&mut reduced, path);
        self.open(&mut reduced, &dropped, path);
        Value::Object(reduced)
    }

    /// Allows further properties where a keyword that may declare them was left out.
    fn open(&mut self, keywords: &mut Map<String, Value>, dropped: &[&str], path: &str) {
        const OPEN: &str = "additionalProperties";
        let is_given = keywords.contains_key(OPEN);
        if dropped.contains(&"patternProperties") && is_given {
            self.ignore(&format!("\"{OPEN}\""), path);
            keywords.insert(OPEN.to_owned(), Value::Bool(true));
        }
        let declares = |name: &&str| rules::DECLARING.contains(name);
        if !is_given && keywords.contains_key("properties") && dropped.iter().any(declares) {
            keywords.insert(OPEN.to_owned(), Value::Bool(true));
        }
    }

    /// Removes numbers of properties where some are optional: a grammar counts only those that have no name.
    fn drop_counts(&mut self, keywords: &mut Map<String, Value>, path: &str) {
        let Some(properties) = keywords.get("properties").and_then(Value::as_object) else {
            return;
        };
        let required = keywords.get("required").and_then(Value::as_array);
        let is_required =
            |name: &String| required.is_some_and(|names| names.iter().any(|it| it == name));
        if properties.keys().all(is_required) {
            return;
        }
        for name in ["minProperties", "maxProperties"] {
            if keywords.remove(name).is_some() {
                self.ignore(&format!("\"{name}\""), path);
            }
        }
    }

    /// Reduces the schemas in the value of a keyword.
    fn subschemas(&mut self, keyword: &str, value: Value, path: &mut String) -> Value {
        let Some(&(_, kind)) = SUBSCHEMAS.iter().find(|(name, _)| *name == keyword) else {
            return value;
        };
        match (kind, value) {
            (Subschemas::Named, Value::Object(fields)) => {
                let reduced = fields.into_iter().map(|(name, field)| {
                    let len = path.len();
                    path.push('/');
                    path.push_str(&name);
                    let field = self.schema(&field, path);
                    path.truncate(len);
                    (name, field)
                });
                Value::Object(reduced.collect())
            }
            (_, Value::Array(items)) => {
                Value::Array(items.iter().map(|item| self.schema(item, path)).collect())
            }
            (_, value) => self.schema(&value, path),
        }
    }

    /// Removes the names in `required` that no property may have.
    fn drop_undeclared(&mut self, keywords: &mut Map<String, Value>, path: &str) {
        let is_closed = keywords.get("additionalProperties") == Some(&Value::Bool(false));
        if !is_closed || keywords.contains_key("patternProperties") {
            return;
        }
        let Some(Value::Array(mut required)) = keywords.get_mut("required").map(Value::take) else {
            return;
        };
        let declared = keywords.get("properties").and_then(Value::as_object);
        let is_declared = |name: &str| declared.is_some_and(|fields| fields.contains_key(name));
        required.retain(|name| {
            let keep = name.as_str().is_some_and(is_declared);
            if !keep {
                self.ignored.insert(format!("\"required\": {name}{}", place(path)));
            }
            keep
        });
        keywords.insert("required".to_owned(), Value::Array(required));
    }

    fn ignore(&mut self, what: &str, path: &str) {
        self.ignored.insert(format!("{what}{}", place(path)));
    }
}

/// The error for an unknown type at `path`.
fn unknown_type(value: &Value, path: &str) -> String {
    /// Characters of a value that are shown.
    const MAX_LEN: usize = 80;
    let value: String = value.to_string().chars().take(MAX_LEN).collect();
    let place = place(path);
    format!(
        "unknown \"type\"{place}: {value}; use null, boolean, object, array, number, string or integer"
    )
}

/// Where something is in a schema, for a message; nothing at the top.
fn place(path: &str) -> String {
    /// Characters of a path that are shown.
    const MAX_LEN: usize = 200;
    match path.is_empty() {
        true => String::new(),
        false => format!(" at {}", path.chars().take(MAX_LEN).collect::<String>()),
    }
}

#[cfg(test)]
mod tests;
