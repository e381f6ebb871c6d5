//! Bounds on a grammar before it is compiled.
//!
//! Compiling recurses over rules, references and properties, and some of its steps take quadratic or exponential time without
//! spending the compiler's own fuel. It cannot be interrupted. Each bound here was set so that the worst grammar found within
//! it compiles in a few seconds and in [`GRAMMAR_STACK_BYTES`](super::GRAMMAR_STACK_BYTES) of stack.

use serde_json::Value;

/// Bytes of a grammar with all schemas in it.
const MAX_BYTES: usize = 256 << 10;
/// Brackets inside brackets.
const MAX_DEPTH: usize = 256;
/// Rules and terminals.
const MAX_DEFINITIONS: usize = 1000;
/// Uses of the intersection operator `&`, which multiplies the states of its operands.
const MAX_INTERSECTIONS: usize = 16;
/// Objects in a schema: each may be a level of recursion, however they are nested and refer to each other.
const MAX_OBJECTS: usize = 8000;
/// Properties of all objects in a schema, and again names in `required`.
const MAX_PROPERTIES: usize = 2500;
/// Patterns in `patternProperties`, each of which is compared with each other one.
const MAX_PATTERN_PROPERTIES: usize = 64;
/// Schemas in `anyOf` and `oneOf`.
const MAX_ALTERNATIVES: usize = 2000;
/// Schemas in `allOf`, each of which may intersect a regular expression with another.
const MAX_CONJUNCTIONS: usize = 256;
/// Alternatives and values of `enum`, times the bytes of the longest `pattern`: each pair may become an expression of its own.
const MAX_PATTERN_COPIES_BYTES: usize = 8 << 20;

/// What a grammar consists of.
#[derive(Default)]
struct Counts {
    depth: usize,
    max_depth: usize,
    definitions: usize,
    intersections: usize,
    objects: usize,
    properties: usize,
    required: usize,
    pattern_properties: usize,
    alternatives: usize,
    conjunctions: usize,
    enum_values: usize,
    longest_pattern: usize,
}

/// Checks a grammar in llguidance's dialect of Lark, and the schemas inside it.
///
/// **Errors**: the first bound that is exceeded, with what was found.
pub(super) fn check(lark: &str) -> Result<(), String> {
    if lark.len() > MAX_BYTES {
        let found = lark.len();
        return Err(format!(
            "it expands to {found} bytes of grammar, but at most {MAX_BYTES} are accepted"
        ));
    }
    let counts = Counts::of_lark(lark);
    let copies = (counts.alternatives + counts.enum_values).saturating_mul(counts.longest_pattern);
    let bounds = [
        ("levels of brackets", counts.max_depth, MAX_DEPTH),
        ("rules and terminals", counts.definitions, MAX_DEFINITIONS),
        ("intersections (&)", counts.intersections, MAX_INTERSECTIONS),
        ("objects in schemas", counts.objects, MAX_OBJECTS),
        ("properties", counts.properties, MAX_PROPERTIES),
        ("required properties", counts.required, MAX_PROPERTIES),
        ("patternProperties", counts.pattern_properties, MAX_PATTERN_PROPERTIES),
        ("alternatives in anyOf and oneOf", counts.alternatives, MAX_ALTERNATIVES),
        ("schemas in allOf", counts.conjunctions, MAX_CONJUNCTIONS),
        ("bytes of pattern times alternatives", copies, MAX_PATTERN_COPIES_BYTES),
    ];
    match bounds.into_iter().find(|(_, found, limit)| found > limit) {
        Some((what, found, limit)) => Err(format!(
            "it is too complex: it has {found} {what}, but at most {limit} are accepted"
        )),
        None => Ok(()),
    }
}

impl Counts {
    fn of_lark(lark: &str) -> Self {
        let mut counts = Self::default();
        let mut rest = lark;
        while let Some(first) = rest.chars().next() {
            let len = match first {
                '"' => delimited(rest, '"'),
                '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                '/' => delimited(rest, '/'),
                '%' if rest.starts_with("%json") => {
                    "%json".len() + counts.add_json(&rest["%json".len()..])
                }
                _ => first.len_utf8(),
            };
            match first {
                '(' | '[' | '{' => counts.depth += 1,
                ')' | ']' | '}' => counts.depth = counts.depth.saturating_sub(1),
                ':' => counts.definitions += 1,
                '&' => counts.intersections += 1,
                _ => {}
            }
            counts.max_depth = counts.max_depth.max(counts.depth);
            rest = &rest[len..];
        }
        counts
    }

    /// Counts what is in the JSON value that the text begins with, and returns its length.
    fn add_json(&mut self, text: &str) -> usize {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        if let Some(Ok(schema)) = values.next() {
            self.add_schema(&schema);
        }
        values.byte_offset()
    }

    /// JSON has at most 128 levels, so this recursion is bounded.
    fn add_schema(&mut self, schema: &Value) {
        match schema {
            Value::Object(fields) => {
                self.objects += 1;
                for (name, value) in fields {
                    self.add_keyword(name, value);
                    self.add_schema(value);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.add_schema(value)),
            _ => {}
        }
    }

    fn add_keyword(&mut self, name: &str, value: &Value) {
        let len = match value {
            Value::Object(fields) => fields.len(),
            Value::Array(values) => values.len(),
            Value::String(text) => text.len(),
            _ => 0,
        };
        match name {
            "properties" => self.properties += len,
            "required" => self.required += len,
            "patternProperties" => {
                self.pattern_properties += len;
                let patterns = value.as_object().into_iter().flat_map(|fields| fields.keys());
                let longest = patterns.map(String::len).max().unwrap_or(0);
                self.longest_pattern = self.longest_pattern.max(longest);
            }
            "anyOf" | "oneOf" => self.alternatives += len,
            "allOf" => self.conjunctions += len,
            "enum" => self.enum_values += len,
            "pattern" => self.longest_pattern = self.longest_pattern.max(len),
            _ => {}
        }
    }
}

/// The length of a literal with its delimiters, in which a backslash escapes the next character; that of a lone delimiter where
/// the literal does not end on its line.
fn delimited(text: &str, delimiter: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\n' => break,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            character if character == delimiter => return at + delimiter.len_utf8(),
            _ => {}
        }
    }
    delimiter.len_utf8()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_and_comments_are_not_counted() {
        let lark =
            "start: \"a: & \\\"\" /b:&\\/&/ // c: &\nd: %json {\"pattern\": \"e: &\"} & \"f\"";
        let counts = Counts::of_lark(lark);
        assert_eq!((counts.definitions, counts.intersections), (2, 1));
        assert_eq!(counts.longest_pattern, 4);
    }

    #[test]
    fn each_bound_is_named_with_what_was_found() {
        let names: Vec<_> = (0..2501).map(|number| number.to_string()).collect();
        let fields: serde_json::Map<_, _> =
            names.iter().map(|name| (name.clone(), json!({}))).collect();
        let cases = [
            ("r:\n".repeat(1001), "1001 rules and terminals, but at most 1000"),
            ("a{".repeat(257), "257 levels of brackets, but at most 256"),
            (format!("s: %json {}", json!({"prefixItems": vec![json!({}); 8000]})), "8001 objects"),
            ("a & ".repeat(17), "17 intersections (&), but at most 16"),
            (format!("s: %json {}", json!({"properties": fields})), "2501 properties"),
            (format!("s: %json {}", json!({"required": names})), "2501 required properties"),
            (
                format!("s: %json {}", json!({"patternProperties": fields})),
                "2501 patternProperties",
            ),
            (format!("s: %json {}", json!({"items": {"oneOf": names}})), "2501 alternatives"),
            (format!("s: %json {}", json!({"allOf": names})), "2501 schemas in allOf"),
            (
                format!("s: %json {}", json!({"enum": names, "pattern": "a".repeat(4000)})),
                "10004000 bytes of pattern times alternatives",
            ),
            ("a".repeat(262_145), "262145 bytes of grammar, but at most 262144"),
        ];
        for (lark, expected) in cases {
            let message = check(&lark).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        check("start: \"a\" b\nb: /c+/ & /[^d]*/").unwrap();
    }
}
