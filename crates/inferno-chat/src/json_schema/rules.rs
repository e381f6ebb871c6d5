//! The rules by which keywords are enforced, repaired or ignored.

use llguidance::derivre::{RegexAst, RegexBuilder};
use llguidance::regex_to_lark;
use serde_json::{Value, json};

use super::Enforcement;
use super::references::Declarations;

/// What becomes of a keyword.
pub(super) enum Repair {
    Keep,
    Replace(Value),
    /// It is ignored.
    Drop,
    /// It is ignored, and has no effect on which values match.
    DropSilently,
}

/// The check of a keyword's value.
type CheckFn = fn(&Value, &Declarations<'_>) -> Repair;

/// Where the value of a keyword contains schemas.
#[derive(Clone, Copy)]
pub(super) enum Subschemas {
    /// In each field of an object.
    Named,
    /// The value is one, or a list of them.
    Direct,
}

/// The keywords whose values contain schemas.
pub(super) const SUBSCHEMAS: &[(&str, Subschemas)] = &[
    ("properties", Subschemas::Named),
    ("patternProperties", Subschemas::Named),
    ("$defs", Subschemas::Named),
    ("definitions", Subschemas::Named),
    ("items", Subschemas::Direct),
    ("prefixItems", Subschemas::Direct),
    ("additionalItems", Subschemas::Direct),
    ("additionalProperties", Subschemas::Direct),
    ("allOf", Subschemas::Direct),
    ("anyOf", Subschemas::Direct),
    ("oneOf", Subschemas::Direct),
];

/// Keywords about structure, and the checks of their values.
const STRUCTURE: &[(&str, CheckFn)] = &[
    ("type", check_type),
    ("enum", check_values),
    ("const", check_constant),
    ("properties", check_object),
    ("$defs", check_object),
    ("definitions", check_object),
    ("required", check_required),
    ("additionalProperties", check_schema),
    ("items", check_items),
    ("prefixItems", check_array),
    ("additionalItems", check_schema),
    ("allOf", check_list),
    ("anyOf", check_list),
    ("oneOf", check_list),
    ("$ref", check_reference),
    ("$schema", check_dialect),
    ("$id", check_identifier),
];

/// Keywords that bound strings, numbers and lengths, and the checks of their values.
const BOUNDS: &[(&str, CheckFn)] = &[
    ("patternProperties", check_patterns),
    ("pattern", check_pattern),
    ("format", check_format),
    ("minLength", check_count),
    ("maxLength", check_count),
    ("minItems", check_count),
    ("maxItems", check_count),
    ("minProperties", check_count),
    ("maxProperties", check_count),
    ("minimum", check_number),
    ("maximum", check_number),
    ("exclusiveMinimum", check_number_or_boolean),
    ("exclusiveMaximum", check_number_or_boolean),
    ("multipleOf", check_multiple),
];

/// Keywords that no grammar enforces.
const UNSUPPORTED: &[&str] = &[
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
    "contentSchema",
];

/// Keywords that may declare properties of the object that they are in.
pub(super) const DECLARING: &[&str] = &[
    "patternProperties",
    "if",
    "then",
    "else",
    "dependencies",
    "dependentSchemas",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
];

/// Names of types in other languages, and what they mean.
const TYPES: &[(&str, &str)] = &[
    ("int", "integer"),
    ("int32", "integer"),
    ("int64", "integer"),
    ("long", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("decimal", "number"),
    ("str", "string"),
    ("text", "string"),
    ("bool", "boolean"),
    ("list", "array"),
    ("tuple", "array"),
    ("set", "array"),
    ("dict", "object"),
    ("map", "object"),
    ("none", "null"),
    ("null", "null"),
    ("boolean", "boolean"),
    ("number", "number"),
    ("integer", "integer"),
    ("string", "string"),
    ("array", "array"),
    ("object", "object"),
];

/// Formats of strings that are enforced. All others are annotations.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

/// The largest divisor: a grammar needs a state for each remainder.
const MAX_MULTIPLE: f64 = 1000.0;

/// Bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 16 << 10;

/// Returns what becomes of a keyword with this value.
pub(super) fn repair(
    keyword: &str,
    value: &Value,
    declarations: &Declarations<'_>,
    enforcement: Enforcement,
) -> Repair {
    let find = |table: &[(&str, CheckFn)]| {
        table.iter().find(|(name, _)| *name == keyword).map(|&(_, check)| check)
    };
    if let Some(check) = find(STRUCTURE) {
        check(value, declarations)
    } else if let Some(check) = find(BOUNDS) {
        match enforcement {
            Enforcement::Keywords => check(value, declarations),
            Enforcement::Structure | Enforcement::Object => Repair::Drop,
        }
    } else if UNSUPPORTED.contains(&keyword) {
        match value {
            Value::Bool(false) if keyword == "uniqueItems" => Repair::DropSilently,
            _ => Repair::Drop,
        }
    } else {
        Repair::Keep
    }
}

fn keep_if(is_sound: bool) -> Repair {
    if is_sound { Repair::Keep } else { Repair::Drop }
}

/// The type of JSON that a name means.
fn canonical(name: &Value) -> Option<&'static str> {
    let name = name.as_str()?.to_ascii_lowercase();
    TYPES.iter().find(|(other, _)| *other == name).map(|&(_, canonical)| canonical)
}

/// Whether a type is neither known nor written for any type.
pub(super) fn unknown_type(value: &Value) -> bool {
    let is_known = |name: &Value| {
        let is_any = name.as_str().is_some_and(|name| name.eq_ignore_ascii_case("any"));
        is_any || name.is_null() || canonical(name).is_some()
    };
    match value {
        Value::Array(names) => !names.iter().all(is_known),
        name => !is_known(name),
    }
}

fn check_type(value: &Value, _: &Declarations<'_>) -> Repair {
    match value {
        Value::Array(names) => {
            let known: Option<Vec<_>> = names.iter().map(canonical).collect();
            known
                .filter(|names| !names.is_empty())
                .map_or(Repair::Drop, |it| Repair::Replace(json!(it)))
        }
        name => canonical(name).map_or(Repair::Drop, |name| Repair::Replace(json!(name))),
    }
}

fn check_object(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.is_object())
}

fn check_array(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.is_array())
}

fn check_list(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.as_array().is_some_and(|values| !values.is_empty()))
}

/// Values of which the grammar keeps every digit.
fn check_values(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.as_array().is_some_and(|values| !values.is_empty()) && is_exact(value))
}

fn check_constant(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(is_exact(value))
}

/// Whether all integers in a value are numbers in double precision, as which grammars write them.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let integer = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            integer.is_none_or(|integer| integer as f64 as i128 == integer)
        }
        Value::Array(values) => values.iter().all(is_exact),
        Value::Object(fields) => fields.values().all(is_exact),
        _ => true,
    }
}

fn check_schema(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.is_object() || value.is_boolean())
}

fn check_items(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.is_object() || value.is_boolean() || value.is_array())
}

fn check_required(value: &Value, _: &Declarations<'_>) -> Repair {
    let names = value.as_array();
    keep_if(names.is_some_and(|names| names.iter().all(Value::is_string)))
}

fn check_reference(value: &Value, declarations: &Declarations<'_>) -> Repair {
    keep_if(value.as_str().is_some_and(|reference| declarations.resolves(reference)))
}

/// Only these versions of JSON Schema are known; the others differ little.
fn check_dialect(value: &Value, _: &Declarations<'_>) -> Repair {
    let known = |uri: &str| {
        let uri = uri.trim_end_matches('#');
        let version = uri.strip_prefix("https://json-schema.org/draft/");
        let old = uri.strip_prefix("http://json-schema.org/draft-");
        matches!(version, Some("2020-12/schema" | "2019-09/schema"))
            || matches!(old, Some("07/schema" | "06/schema" | "04/schema"))
    };
    if value.as_str().is_some_and(known) { Repair::Keep } else { Repair::DropSilently }
}

fn check_identifier(value: &Value, _: &Declarations<'_>) -> Repair {
    let is_uri = |uri: &str| uri.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if value.as_str().is_some_and(is_uri) { Repair::Keep } else { Repair::DropSilently }
}

fn check_count(value: &Value, _: &Declarations<'_>) -> Repair {
    match value.as_f64() {
        Some(count) if count >= 0.0 && count.fract() == 0.0 && count < 1e15 => {
            Repair::Replace(json!(count as u64))
        }
        _ => Repair::Drop,
    }
}

fn check_number(value: &Value, _: &Declarations<'_>) -> Repair {
    /// A grammar compares bounds as integers of 64 bits.
    const MAX_BOUND: f64 = 9e18;
    keep_if(value.as_f64().is_some_and(|bound| bound.abs() < MAX_BOUND))
}

fn check_number_or_boolean(value: &Value, declarations: &Declarations<'_>) -> Repair {
    match value.is_boolean() {
        true => Repair::Keep,
        false => check_number(value, declarations),
    }
}

/// A divisor of few digits: the number of states is that of remainders.
fn check_multiple(value: &Value, _: &Declarations<'_>) -> Repair {
    let states = |divisor: f64| {
        let mut scaled = divisor.abs();
        while scaled.fract() != 0.0 && scaled <= MAX_MULTIPLE {
            scaled *= 10.0;
        }
        scaled
    };
    keep_if(value.as_f64().is_some_and(|it| it != 0.0 && states(it) <= MAX_MULTIPLE))
}

fn check_format(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.as_str().is_some_and(|format| FORMATS.contains(&format)))
}

fn check_pattern(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.as_str().is_some_and(compiles))
}

/// Keeps the properties whose pattern compiles; all or none of them.
fn check_patterns(value: &Value, _: &Declarations<'_>) -> Repair {
    keep_if(value.as_object().is_some_and(|fields| fields.keys().all(|pattern| compiles(pattern))))
}

/// Whether a regular expression has no look-around, back-reference or anchor inside.
fn compiles(pattern: &str) -> bool {
    let expression = || RegexAst::SearchRegex(regex_to_lark(pattern, "dw"));
    pattern.len() <= MAX_PATTERN_BYTES && RegexBuilder::new().mk(&expression()).is_ok()
}

/// All keywords that have a rule.
#[cfg(test)]
pub(super) fn keywords() -> impl Iterator<Item = &'static str> {
    let checked = STRUCTURE.iter().chain(BOUNDS).map(|&(name, _)| name);
    checked.chain(UNSUPPORTED.iter().copied())
}
