use super::*;
use crate::matching::matches;

/// The schema after a reduction, and what was ignored.
fn reduced(schema: &Value) -> (Value, Vec<String>) {
    let Reduced { schema, ignored, .. } = reduce(schema, Enforcement::Keywords);
    (schema, ignored.into_iter().collect())
}

/// Checks what is ignored in a schema, and which texts match what is left.
fn check(schema: &Value, ignored: &[&str], fitting: &[&str], others: &[&str]) {
    let (left, found) = reduced(schema);
    assert_eq!(found, ignored, "{schema}");
    let mut options = left.clone();
    if let Some(fields) = options.as_object_mut() {
        fields.insert("x-guidance".to_owned(), json!({"lenient": true}));
    }
    let lark = format!("start: %json {options}");
    for (texts, expected) in [(fitting, true), (others, false)] {
        for text in texts {
            let matches = matches(&lark, text).unwrap_or_else(|error| panic!("{left}\n{error}"));
            assert_eq!(matches, expected, "{text} {schema}\n{left}");
        }
    }
}

#[test]
fn unsupported_keywords_are_ignored_by_name_and_place() {
    let schema = json!({
        "type": "object", "propertyNames": {"pattern": "^a"}, "not": {"required": ["x"]},
        "if": {"required": ["a"]}, "then": {"required": ["b"]},
        "properties": {"a": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}}},
        "required": ["a"],
    });
    let ignored =
        ["\"if\"", "\"not\"", "\"propertyNames\"", "\"then\"", "\"uniqueItems\" at /properties/a"];
    check(&schema, &ignored, &["{\"a\":[1,1]}", "{\"a\":[],\"x\":0}"], &["{}", "{\"a\":[\"1\"]}"]);
    check(&json!({"type": "array", "uniqueItems": false}), &[], &["[1,1]"], &["{}"]);
}

#[test]
fn types_of_other_languages_are_understood_and_unknown_ones_ignored() {
    let of = |name: &str| json!({"type": name});
    check(&of("int"), &[], &["1"], &["1.5", "\"1\""]);
    check(&of("float"), &[], &["1.5"], &["\"1\""]);
    check(&of("Dict"), &[], &["{}"], &["1"]);
    check(&of("any"), &["\"type\""], &["1", "{}", "\"a\""], &["x"]);
    check(&json!({"type": ["str", "null"]}), &[], &["\"a\"", "null"], &["1"]);
    check(&json!({"type": ["string", "any"]}), &["\"type\""], &["\"a\"", "1"], &["x"]);
    check(&json!({"type": null}), &["\"type\""], &["1"], &["x"]);
}

#[test]
fn the_first_unknown_type_is_named() {
    let unknown = |schema: &Value| reduce(schema, Enforcement::Structure).unknown_type;
    for known in [json!("int"), json!("any"), json!(null), json!(["string", "Any", null])] {
        assert_eq!(unknown(&json!({"type": known})), None, "{known}");
    }
    // Neither a property nor a value is a type.
    let schema = json!({"properties": {"type": {"enum": ["objct"]}}, "const": {"type": "objct"}});
    assert_eq!(unknown(&schema), None);
    let types = "use null, boolean, object, array, number, string or integer";
    let schema = json!({"properties": {"a": {"items": {"type": ["string", "nul"]}}}});
    let expected =
        format!("unknown \"type\" at /properties/a/items: [\"string\",\"nul\"]; {types}");
    assert_eq!(unknown(&schema), Some(expected));
    assert_eq!(unknown(&json!({"type": 7})), Some(format!("unknown \"type\": 7; {types}")));
}

#[test]
fn mistakes_that_validators_overlook_are_ignored() {
    let schema = json!({"type": "object", "required": null, "properties": null});
    check(&schema, &["\"properties\"", "\"required\""], &["{}", "{\"a\":1}"], &["1"]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "required": true}, "b": null}});
    let ignored = [
        "\"required\" at /properties/a",
        "a schema that is neither an object nor a boolean at /properties/b",
    ];
    check(&schema, &ignored, &["{\"a\":\"\",\"b\":1}"], &["{\"a\":1}"]);
    let schema = json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b"], "additionalProperties": false});
    check(&schema, &["\"required\": \"b\""], &["{\"a\":1}"], &["{}", "{\"a\":1,\"b\":2}"]);
    // Other names may be declared by the required ones.
    let schema = json!({"type": "object", "properties": {"a": {}}, "required": ["b"]});
    check(&schema, &[], &["{\"a\":1,\"b\":2}"], &["{\"a\":1}"]);
    check(&json!({"type": "string", "maxLength": 2.0}), &[], &["\"ab\""], &["\"abc\""]);
    check(&json!({"type": "string", "maxLength": "2"}), &["\"maxLength\""], &["\"abc\""], &["1"]);
    check(&json!({"enum": []}), &["\"enum\""], &["1"], &["x"]);
}

#[test]
fn references_resolve_or_are_ignored() {
    let schema = json!({
        "$defs": {"a/b": {"type": "integer"}, "named": {"$anchor": "here", "type": "boolean"}},
        "type": "array", "prefixItems": [
            {"$ref": "#/$defs/a~1b"}, {"$ref": "#/%24defs/a~1b"}, {"$ref": "#here"}, {"$ref": "#/$defs/missing"},
            {"$ref": "https://example.com/schema.json"},
        ],
    });
    let ignored = ["\"$ref\" at /prefixItems"];
    check(&schema, &ignored, &["[1,2,true,\"x\",null]"], &["[true]", "[1,2,3]"]);
    let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}}, "additionalProperties": false});
    check(&tree, &[], &["{\"left\":{\"left\":{}}}"], &["{\"left\":1}"]);
}

#[test]
fn patterns_and_formats_are_enforced_if_a_grammar_can() {
    check(&json!({"type": "string", "pattern": "^a+$"}), &[], &["\"aa\""], &["\"b\""]);
    let patterns = ["^(?=a)b", "(?<!a)b", "(a)\\1", "("];
    for pattern in patterns {
        let schema = json!({"type": "string", "pattern": pattern, "maxLength": 1});
        check(&schema, &["\"pattern\""], &["\"b\""], &["\"bb\"", "1"]);
    }
    check(&json!({"type": "string", "format": "date"}), &[], &["\"2024-02-03\""], &["\"x\""]);
    check(&json!({"type": "string", "format": "markdown"}), &["\"format\""], &["\"x\""], &["1"]);
}

#[test]
fn divisors_with_many_remainders_are_ignored() {
    check(&json!({"type": "integer", "multipleOf": 5}), &[], &["15"], &["16"]);
    check(&json!({"type": "number", "multipleOf": 0.25}), &[], &["1.75"], &["1.7"]);
    for divisor in [json!(86400), json!(10_000_019), json!(0.123_456), json!(0), json!(null)] {
        let schema = json!({"type": "integer", "multipleOf": divisor});
        check(&schema, &["\"multipleOf\""], &["7"], &["x"]);
    }
}

#[test]
fn values_and_annotations_are_not_schemas() {
    let schema = json!({
        "type": "object", "title": "not", "examples": [{"not": 1}], "default": {"type": 3},
        "properties": {"not": {"type": "string"}, "pattern": {"const": {"required": null}}},
    });
    check(&schema, &[], &["{\"not\":\"a\",\"pattern\":{\"required\":null}}"], &["{\"not\":1}"]);
    assert_eq!(reduced(&schema).0, schema);
}

#[test]
fn structure_alone_has_no_bounds() {
    let schema = json!({
        "type": "object", "minProperties": 1,
        "properties": {"a": {"type": "string", "maxLength": 100_000}, "b": {"type": "integer", "minimum": 3}},
    });
    let Reduced { schema, ignored, .. } = reduce(&schema, Enforcement::Structure);
    let expected = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    assert_eq!(schema, expected);
    assert_eq!(ignored.len(), 3);
    assert_eq!(reduce(&schema, Enforcement::Object).schema, json!({"type": "object"}));
}

#[test]
fn objects_are_open_where_a_keyword_that_declares_properties_is_ignored() {
    let named = json!({"type": "object", "patternProperties": {"^(?!_)a$": {"type": "integer"}}, "additionalProperties": false});
    let ignored = ["\"additionalProperties\"", "\"patternProperties\""];
    check(&named, &ignored, &["{}", "{\"a\":1}"], &["1"]);
    let condition = json!({
        "type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"],
        "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["size"]},
    });
    let (left, _) = reduced(&condition);
    assert_eq!(closed(&left)["additionalProperties"], true);
}

#[test]
fn numbers_of_properties_are_enforced_if_no_declared_one_is_optional() {
    let optional = json!({"type": "object", "properties": {"a": {}, "b": {}}, "maxProperties": 1});
    check(&optional, &["\"maxProperties\""], &["{}", "{\"a\":1,\"b\":2}"], &["1"]);
    let any =
        json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1});
    check(&any, &[], &["{\"x\":1}"], &["{}"]);
    let required = json!({
        "type": "object", "properties": {"a": {}}, "required": ["a"], "maxProperties": 2,
        "additionalProperties": {"type": "integer"},
    });
    check(&required, &[], &["{\"a\":1,\"b\":2}"], &["{\"a\":1,\"b\":2,\"c\":3}"]);
}

#[test]
fn numbers_that_a_grammar_would_change_are_ignored() {
    let id = 1_234_567_890_123_456_789_u64;
    check(&json!({"enum": [id]}), &["\"enum\""], &["1234567890123456789"], &["x"]);
    check(&json!({"const": [id]}), &["\"const\""], &["[1234567890123456789]"], &["x"]);
    let exact = 1_u64 << 53;
    check(&json!({"enum": [exact, 0.1]}), &[], &["9007199254740992", "0.1"], &["1"]);
    let bounds = json!({"type": "integer", "minimum": i64::MIN, "maximum": 10});
    check(&bounds, &["\"minimum\""], &["5", "-5"], &["11"]);
}

#[test]
fn the_documentation_lists_every_keyword() {
    let page = include_str!("../../../../docs/json-schema.md");
    for keyword in rules::keywords().filter(|keyword| !["$schema", "$id"].contains(keyword)) {
        assert!(
            page.contains(&format!("`{keyword}`")),
            "{keyword} is missing in docs/json-schema.md"
        );
    }
}
