//! Closing objects: a model writes only the properties that a schema declares.
//!
//! By JSON Schema, an object may have any further properties unless `additionalProperties` forbids them. Models that are
//! allowed to invent properties do so without end. What is generated still matches the original schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::rules::{SUBSCHEMAS, Subschemas};

/// Keywords that combine a schema with others.
const COMBINATIONS: [&str; 4] = ["allOf", "anyOf", "oneOf", "$ref"];
/// Links in a chain of references between combined schemas that are followed.
const MAX_LINKS: usize = 64;
/// Objects in schemas that are closed: as many as a grammar may have.
const MAX_OBJECTS: usize = 8000;
/// Keywords that allow further properties, or decide it together with others.
const DECISIONS: [&str; 3] = ["additionalProperties", "patternProperties", "unevaluatedProperties"];

/// The schema with `additionalProperties: false` in the objects that declare properties and do not mention others.
///
/// Objects that are combined with further schemas remain open: each of them declares only a part. So do all objects of a
/// schema that is too complex.
pub(crate) fn closed(schema: &Value) -> Value {
    let mut combined = BTreeSet::new();
    let mut num_left = MAX_OBJECTS;
    if exceeds(schema, &mut num_left) {
        return schema.clone();
    }
    for _ in 0..MAX_LINKS {
        let mut walk = Walk { combined: &combined, found: BTreeSet::new() };
        let closed = walk.schema(schema, &mut "#".to_owned(), false);
        if walk.found.is_subset(&combined) {
            return closed;
        }
        combined.append(&mut walk.found);
        // Only references to definitions by their place are followed.
        if combined.iter().any(|reference| *reference != "#" && !reference.starts_with("#/")) {
            break;
        }
    }
    schema.clone()
}

/// Whether a schema has more than `num_left` objects. JSON has at most 128 levels, so this recursion is bounded.
fn exceeds(schema: &Value, num_left: &mut usize) -> bool {
    match schema {
        Value::Object(fields) => match num_left.checked_sub(1) {
            Some(left) => {
                *num_left = left;
                fields.values().any(|value| exceeds(value, num_left))
            }
            None => true,
        },
        Value::Array(values) => values.iter().any(|value| exceeds(value, num_left)),
        _ => false,
    }
}

struct Walk<'a> {
    /// References to schemas that are combined with others.
    combined: &'a BTreeSet<String>,
    /// Those that were found.
    found: BTreeSet<String>,
}

impl Walk<'_> {
    /// Closes the schema at `path`. JSON has at most 128 levels, so this recursion is bounded.
    fn schema(&mut self, schema: &Value, path: &mut String, is_combined: bool) -> Value {
        let Value::Object(keywords) = schema else { return schema.clone() };
        let is_combined = is_combined || self.combined.contains(path);
        let num_combined: usize = COMBINATIONS
            .iter()
            .filter_map(|name| keywords.get(*name))
            .map(|value| value.as_array().map_or(1, Vec::len))
            .sum();
        let num_kinds = COMBINATIONS.iter().filter(|name| keywords.contains_key(**name)).count();
        let combines_all = keywords
            .get("allOf")
            .is_some_and(|value| value.as_array().is_some_and(|schemas| schemas.len() > 1));
        let has_own = keywords.contains_key("properties") || keywords.contains_key("required");
        let combines = is_combined || combines_all || num_kinds > 1 || num_combined > 0 && has_own;
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str)
            && combines
        {
            self.found.insert(reference.to_owned());
        }
        let mut closed: Map<_, _> = keywords
            .iter()
            .map(|(name, value)| (name.clone(), self.keyword(name, value, path, combines)))
            .collect();
        if !combines && is_open(keywords) {
            closed.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        Value::Object(closed)
    }

    /// Closes the schemas in the value of a keyword.
    fn keyword(&mut self, name: &str, value: &Value, path: &mut String, combines: bool) -> Value {
        let Some(&(_, kind)) = SUBSCHEMAS.iter().find(|(keyword, _)| *keyword == name) else {
            return value.clone();
        };
        // What a definition is combined with depends on the references to it.
        let combines = combines && !["$defs", "definitions"].contains(&name);
        let mut at = |key: &str, schema: &Value| {
            let len = path.len();
            path.push_str(&format!("/{name}{}{key}", if key.is_empty() { "" } else { "/" }));
            let closed = self.schema(schema, path, combines);
            path.truncate(len);
            closed
        };
        match (kind, value) {
            (Subschemas::Named, Value::Object(fields)) => {
                let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
                let closed =
                    fields.iter().map(|(key, field)| (key.clone(), at(&escaped(key), field)));
                Value::Object(closed.collect())
            }
            (_, Value::Array(items)) => {
                let closed = items.iter().enumerate();
                Value::Array(closed.map(|(index, item)| at(&index.to_string(), item)).collect())
            }
            (_, schema) => at("", schema),
        }
    }
}

/// Whether a schema declares properties, and allows others only by default.
fn is_open(keywords: &Map<String, Value>) -> bool {
    let Some(properties) = keywords.get("properties").and_then(Value::as_object) else {
        return false;
    };
    let required = keywords.get("required").and_then(Value::as_array);
    let is_declared = |name: &Value| name.as_str().is_some_and(|it| properties.contains_key(it));
    let min = keywords.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
    !DECISIONS.iter().any(|name| keywords.contains_key(*name))
        && required.is_none_or(|names| names.iter().all(is_declared))
        && min <= properties.len() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_that_declare_properties_have_no_others() {
        let inner = json!({"type": "object", "properties": {"x": {}}});
        let schema = json!({
            "properties": {"a": inner, "b": {"type": "array", "items": inner}, "c": {"$ref": "#/$defs/d"}},
            "$defs": {"d": inner},
        });
        let inner =
            json!({"type": "object", "properties": {"x": {}}, "additionalProperties": false});
        let expected = json!({
            "properties": {"a": inner, "b": {"type": "array", "items": inner}, "c": {"$ref": "#/$defs/d"}},
            "$defs": {"d": inner}, "additionalProperties": false,
        });
        assert_eq!(closed(&schema), expected);
        let empty = json!({"type": "object", "properties": {}});
        assert_eq!(closed(&empty)["additionalProperties"], false);
        let single = json!({"allOf": [{"properties": {"x": {}}}]});
        assert_eq!(closed(&single)["allOf"][0]["additionalProperties"], false);
    }

    #[test]
    fn objects_that_mention_others_remain_open() {
        for schema in [
            json!({"type": "object"}),
            json!({"properties": {"a": {}}, "additionalProperties": true}),
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
            json!({"properties": {"a": {}}, "patternProperties": {"^x": {}}}),
            json!({"properties": {"a": {}}, "required": ["b"]}),
            json!({"properties": {"a": {}}, "minProperties": 2}),
        ] {
            assert_eq!(closed(&schema), schema);
        }
    }

    #[test]
    fn long_chains_of_references_take_little_time() {
        let link = |index: usize| json!({"anyOf": [{"$ref": format!("#/$defs/a{}", index + 1)}]});
        let chain = |num_links: usize| {
            let mut definitions: Map<_, _> =
                (0..num_links).map(|index| (format!("a{index}"), link(index))).collect();
            definitions.insert(format!("a{num_links}"), json!({"properties": {"x": {}}}));
            json!({"allOf": [{"$ref": "#/$defs/a0"}, {}], "$defs": definitions})
        };
        let started = std::time::Instant::now();
        for num_links in [10, 3000, 100_000] {
            let schema = chain(num_links);
            assert_eq!(closed(&schema), schema);
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn objects_that_are_combined_remain_open() {
        let [a, b] = ["a", "b"].map(|name| json!({"properties": {name: {"properties": {}}}}));
        for schema in [
            json!({"allOf": [a, b]}),
            json!({"properties": {"c": {}}, "anyOf": [a, b]}),
            json!({"properties": {"c": {}}, "$ref": "#/$defs/a~1b", "$defs": {"a/b": a}}),
            json!({"allOf": [{"$ref": "#/$defs/a"}, b], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/c"}]}, "c": a}}),
            json!({"allOf": [{"$ref": "#anchor"}, b], "$defs": {"a": {"$anchor": "anchor", "properties": {}}}}),
        ] {
            assert_eq!(closed(&schema), schema);
        }
    }
}
