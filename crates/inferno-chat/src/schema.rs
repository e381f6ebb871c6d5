//! The types that a JSON schema allows.

use serde_json::Value;

/// Levels of schemas in schemas that are searched for types.
const MAX_DEPTH: usize = 8;
/// Most schemas and values that are searched for types.
const MAX_SCHEMAS: usize = 10_000;

/// The schema that a reference points to; other schemas are returned as they are.
pub(crate) fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        let reference = schema["$ref"].as_str().and_then(|text| text.strip_prefix('#'));
        match reference.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// The values in `enum` or `const`.
pub(crate) fn listed(schema: &Value) -> Option<&[Value]> {
    let constant = || schema.get("const").map(std::slice::from_ref);
    schema["enum"].as_array().map(Vec::as_slice).or_else(constant)
}

static NULL: Value = Value::Null;

/// The values that a schema lists, also in alternatives; `None` if it allows others, or if they are too many.
pub(crate) fn constants<'a>(schema: &'a Value, root: &'a Value) -> Option<Vec<&'a Value>> {
    let mut found = Vec::new();
    add_constants(schema, root, 0, &mut found).then_some(found)
}

fn add_constants<'a>(
    schema: &'a Value,
    root: &'a Value,
    depth: usize,
    found: &mut Vec<&'a Value>,
) -> bool {
    let schema = resolved(schema, root);
    if depth > MAX_DEPTH || found.len() > MAX_SCHEMAS {
        return false;
    }
    if let Some(values) = listed(schema) {
        found.extend(values);
    } else if schema["type"] == "null" {
        found.push(&NULL);
    } else if let Some(options) = alternatives(schema) {
        return options.iter().all(|option| add_constants(option, root, depth + 1, found));
    } else {
        return false;
    }
    true
}

/// The schemas one of which must match, if there is nothing else to match.
fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    let only_one = schema["allOf"].as_array().filter(|schemas| schemas.len() == 1);
    schema["anyOf"].as_array().or(schema["oneOf"].as_array()).or(only_one)
}

/// The types that a schema allows, each once; `None` if any, or if the schema is too complex.
pub(crate) fn types<'a>(schema: &'a Value, root: &'a Value) -> Option<Vec<&'a str>> {
    let mut types = Types { root, names: Vec::new(), num_left: MAX_SCHEMAS };
    types.add(schema, 0).then_some(types.names)
}

struct Types<'a> {
    root: &'a Value,
    names: Vec<&'a str>,
    /// Schemas and values that may still be visited.
    num_left: usize,
}

impl<'a> Types<'a> {
    /// Adds the types of a schema; returns false if it allows any type.
    fn add(&mut self, schema: &'a Value, depth: usize) -> bool {
        let schema = resolved(schema, self.root);
        if depth > MAX_DEPTH || schema.get("$ref").is_some() || !self.spend(1) {
            return false;
        }
        match &schema["type"] {
            Value::String(name) => return self.push(name),
            Value::Array(names) => {
                return names.iter().all(|name| name.as_str().is_some_and(|name| self.push(name)));
            }
            _ => {}
        }
        if let Some(values) = listed(schema) {
            return values.iter().all(|value| self.push(type_of(value)));
        }
        match alternatives(schema) {
            Some(options) => options.iter().all(|schema| self.add(schema, depth + 1)),
            None => false,
        }
    }

    /// Adds a type; returns false if too much was visited.
    fn push(&mut self, name: &'a str) -> bool {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
        self.spend(1)
    }

    fn spend(&mut self, count: usize) -> bool {
        let left = self.num_left.checked_sub(count);
        self.num_left = left.unwrap_or(0);
        left.is_some()
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_listed_once_and_any_type_is_none() {
        let root = json!({"$defs": {"text": {"enum": ["a", "b"]}}});
        let types_of = |schema: &Value| types(schema, &root).map(|names| names.join(" "));
        let schema = json!({"anyOf": [{"$ref": "#/$defs/text"}, {"type": ["string", "null"]}]});
        assert_eq!(types_of(&schema).as_deref(), Some("string null"));
        assert_eq!(types_of(&json!({"anyOf": [{"type": "string"}, {}]})), None);
    }

    #[test]
    fn values_are_found_behind_references_and_in_alternatives() {
        let root = json!({"$defs": {"color": {"type": "string", "enum": ["red", "blue"]}}});
        let of = |schema: &Value| constants(schema, &root).map(|values| json!(values));
        let reference = json!({"$ref": "#/$defs/color"});
        let optional = json!({"anyOf": [reference, {"type": "null"}]});
        assert_eq!(of(&reference), Some(json!(["red", "blue"])));
        assert_eq!(of(&optional), Some(json!(["red", "blue", null])));
        assert_eq!(
            of(&json!({"allOf": [reference], "default": "red"})),
            Some(json!(["red", "blue"]))
        );
        assert_eq!(of(&json!({"anyOf": [reference, {"type": "string"}]})), None);
        assert_eq!(of(&json!({"type": "string"})), None);
    }

    #[test]
    fn definitions_that_multiply_are_any_type() {
        let option = |level: usize| json!({"$ref": format!("#/$defs/a{level}")});
        let level =
            |level: usize| (format!("a{level}"), json!({"anyOf": vec![option(level + 1); 100]}));
        let mut definitions: serde_json::Map<_, _> = (0..7).map(level).collect();
        definitions.insert("a7".to_owned(), json!({"type": "string"}));
        let root = json!({"$defs": definitions});
        assert_eq!(types(&option(0), &root), None);
    }
}
