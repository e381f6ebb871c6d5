//! The types that a JSON schema allows.

use serde_json::Value;

/// Levels of schemas in schemas that are searched for types.
const MAX_DEPTH: usize = 8;

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

/// The types that a schema allows; `None` if any.
pub(crate) fn types<'a>(schema: &'a Value, root: &'a Value) -> Option<Vec<&'a str>> {
    types_at(schema, root, 0)
}

fn types_at<'a>(schema: &'a Value, root: &'a Value, depth: usize) -> Option<Vec<&'a str>> {
    let schema = resolved(schema, root);
    if depth > MAX_DEPTH || schema.get("$ref").is_some() {
        return None;
    }
    match &schema["type"] {
        Value::String(name) => return Some(vec![name]),
        Value::Array(names) => return names.iter().map(Value::as_str).collect(),
        _ => {}
    }
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.iter().map(type_of).collect());
    }
    if let Some(value) = schema.get("const") {
        return Some(vec![type_of(value)]);
    }
    let alternatives = schema["anyOf"].as_array().or(schema["oneOf"].as_array())?;
    let types = alternatives.iter().map(|schema| types_at(schema, root, depth + 1));
    types.collect::<Option<Vec<_>>>().map(|types| types.concat())
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
