//! Constrained answers.

use serde_json::{Value, json};

use crate::client::post;
use crate::server::shared;

const CHAT: &str = "/v1/chat/completions";
const UNENFORCED: &str = "x-inferno-unenforced-schema";

fn ask(fields: Value) -> Value {
    let mut request = json!({
        "messages": [{"role": "user", "content": "Tell me about a dragon."}],
        "temperature": 1, "seed": 3, "max_tokens": 200,
        "chat_template_kwargs": {"enable_thinking": false},
    });
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request
}

fn content(request: &Value) -> String {
    let answer = post(shared(), "/v1/chat/completions", request).ok();
    assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
    answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

#[test]
fn an_answer_matches_its_schema() {
    let schema = json!({
        "type": "object",
        "properties": {"kind": {"enum": ["dragon", "bear"]}, "age": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["kind", "age"], "additionalProperties": false,
    });
    let check = |text: String| {
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(["dragon", "bear"].contains(&answer["kind"].as_str().unwrap()), "{text}");
        assert!((1..=9).contains(&answer["age"].as_i64().unwrap()), "{text}");
        assert_eq!(answer.as_object().unwrap().len(), 2);
    };
    let format = json!({"type": "json_schema", "json_schema": {"name": "animal", "schema": schema, "strict": true}});
    check(content(&ask(json!({"response_format": format}))));
    check(content(&ask(json!({"structured_outputs": {"json": schema}}))));
    // After reasoning, if the model reasons.
    let thinking = json!({"response_format": format, "chat_template_kwargs": {"enable_thinking": true}, "temperature": 0});
    check(content(&ask(thinking)));
}

#[test]
fn an_unsatisfiable_grammar_is_a_client_error() {
    let tokens = json!({"prompt": "a", "add_special_tokens": false});
    let tokens = post(shared(), "/tokenize", &tokens).ok()["tokens"].clone();
    let asked = json!({
        "prompt": "Once", "structured_outputs": {"regex": "a"}, "stop_token_ids": tokens, "min_tokens": 1, "max_tokens": 4,
    });
    let refused = post(shared(), "/v1/completions", &asked).error(400);
    assert_eq!(refused["code"], "no_candidates");
}

#[test]
fn a_grammar_too_large_to_compile_is_rejected() {
    let texts: Vec<_> = (0..300).map(|number| format!("{number} {}", "a".repeat(1000))).collect();
    let asked = json!({"prompt": "Once", "structured_outputs": {"choice": texts}, "max_tokens": 4});
    let refused = post(shared(), "/v1/completions", &asked).error(400);
    assert_eq!(refused["code"], "invalid_grammar");
    assert!(refused["message"].as_str().unwrap().contains("bytes of grammar"), "{refused}");
}

#[test]
fn an_answer_matches_its_regex_or_choices() {
    let text = content(&ask(json!({"structured_outputs": {"regex": "[a-c]{3}/[0-9]{2}"}})));
    let (letters, digits) = text.split_once('/').unwrap();
    assert!(letters.len() == 3 && letters.bytes().all(|it| (b'a'..=b'c').contains(&it)), "{text}");
    assert!(digits.len() == 2 && digits.bytes().all(|it| it.is_ascii_digit()), "{text}");

    let text = content(&ask(json!({"structured_outputs": {"choice": ["red", "blue \"sky\""]}})));
    assert!(["red", "blue \"sky\""].contains(&text.as_str()), "{text}");

    // More choices than a parser supports as rules.
    let many: Vec<_> = (0..5000).map(|number| format!("item {number}")).collect();
    let text = content(&ask(json!({"structured_outputs": {"choice": many}})));
    assert!(many.contains(&text), "{text}");

    let completion = json!({
        "prompt": "Two digits:", "max_tokens": 10, "structured_outputs": {"regex": "[0-9]{2}"},
    });
    let answer = post(shared(), "/v1/completions", &completion).ok();
    assert!(answer["choices"][0]["text"].as_str().unwrap().parse::<u8>().is_ok(), "{answer}");
}

#[test]
fn an_answer_matches_a_user_grammar() {
    let grammar = "start: animal \" is \" age\nanimal: \"dragon\" | \"bear\"\nage: /[1-9]/";
    for thinking in [false, true] {
        let text = content(&ask(json!({
            "structured_outputs": {"grammar": grammar},
            "chat_template_kwargs": {"enable_thinking": thinking},
        })));
        let (animal, age) = text.split_once(" is ").unwrap();
        assert!(["dragon", "bear"].contains(&animal), "{text}");
        assert!((1..=9).contains(&age.parse::<u8>().unwrap()), "{text}");
    }
}

#[test]
fn grammars_that_do_not_compile_are_rejected() {
    let cases = [
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "nonsense"}, "strict": true}}}),
            "response_format",
        ),
        (json!({"structured_outputs": {"regex": "(["}}), "structured_outputs"),
        (json!({"structured_outputs": {"grammar": "start: ("}}), "structured_outputs"),
        (json!({"structured_outputs": {"json": "{"}}), "structured_outputs.json"),
        (json!({"structured_outputs": {}}), "structured_outputs"),
        (json!({"structured_outputs": {"choice": []}}), "structured_outputs.choice"),
        (json!({"structured_outputs": {"regex": "a", "json": {}}}), "structured_outputs"),
    ];
    for (fields, param) in cases {
        let error = post(shared(), "/v1/chat/completions", &ask(fields)).error(400);
        assert_eq!(error["param"], param, "{error}");
        // The error does not mention the surrounding grammar, which the caller did not write.
        assert!(!error["message"].as_str().unwrap().contains("thoughts"), "{error}");
    }
    let tool = |name: &str, schema: Value| {
        let function = json!({"name": name, "parameters": schema, "strict": true});
        json!({"type": "function", "function": function})
    };
    let tools = [tool("good", json!({"type": "object"})), tool("bad", json!({"type": "nonsense"}))];
    let error = post(shared(), "/v1/chat/completions", &ask(json!({"tools": tools}))).error(400);
    assert_eq!(error["param"], "tools[1]");
    let message = error["message"].as_str().unwrap();
    assert_eq!(message, "tools[1] does not compile: the schema of \"bad\": Invalid type: nonsense");
}

#[test]
fn an_unknown_type_is_an_error_in_response_schemas_only() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "objct"}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "a", "schema": schema}});
    let hello = json!([{"role": "user", "content": "Hello!"}]);
    for (path, fields, field) in [
        (CHAT, json!({"messages": hello, "response_format": format}), "response_format"),
        (
            CHAT,
            json!({"messages": hello, "structured_outputs": {"json": schema}}),
            "structured_outputs",
        ),
        (
            "/v1/completions",
            json!({"prompt": "Hi", "structured_outputs": {"json": schema}}),
            "structured_outputs",
        ),
        ("/completion", json!({"prompt": "Hi", "json_schema": schema}), "json_schema"),
        ("/api/chat", json!({"messages": hello, "format": schema}), "format"),
        ("/api/generate", json!({"prompt": "Hi", "raw": true, "format": schema}), "format"),
    ] {
        let reply = post(shared(), path, &fields);
        assert_eq!(reply.status, 400, "{path} {field}: {}", reply.body);
        let expected =
            "does not compile: unknown \\\"type\\\" at /properties/a: \\\"objct\\\"; use null,";
        assert!(reply.body.contains(&format!("{field} {expected}")), "{}", reply.body);
    }
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema}});
    let reply = post(shared(), CHAT, &ask(json!({"tools": [tool], "max_tokens": 1})));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let expected = "tool \"f\": \"type\" at /properties/a";
    assert_eq!(reply.header(UNENFORCED), Some(expected));
}

#[test]
fn parts_of_schemas_that_are_not_enforced_are_reported() {
    let schema = json!({"type": "object", "not": {"required": ["x"]}, "properties": {"a": {"pattern": "(?=a)"}}});
    let expected = "response schema: \"not\"; response schema: \"pattern\" at /properties/a";
    let chat = ask(json!({"structured_outputs": {"json": schema}, "max_tokens": 1}));
    for (path, request) in [
        (CHAT, chat.clone()),
        (CHAT, {
            let mut chat = chat;
            chat["stream"] = json!(true);
            chat
        }),
        (
            "/v1/completions",
            json!({"prompt": "Hi", "max_tokens": 1, "structured_outputs": {"json": schema}}),
        ),
        ("/completion", json!({"prompt": "Hi", "n_predict": 1, "json_schema": schema})),
        (
            "/api/generate",
            json!({"prompt": "Hi", "raw": true, "options": {"num_predict": 1}, "format": schema}),
        ),
    ] {
        let reply = post(shared(), path, &request);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert_eq!(reply.header(UNENFORCED), Some(expected), "{path}");
    }
    let whole = ask(json!({"structured_outputs": {"json": {"type": "integer"}}, "max_tokens": 1}));
    assert_eq!(post(shared(), CHAT, &whole).header(UNENFORCED), None);
}

#[test]
fn a_grammar_that_exceeds_a_limit_is_a_client_error() {
    let rules = |count: usize| {
        let texts: Vec<_> = (0..count).map(|number| format!("\"c{number}\"")).collect();
        json!({"structured_outputs": {"grammar": format!("start: {}", texts.join(" | "))}})
    };
    let long = post(shared(), "/v1/chat/completions", &ask(rules(10_000))).error(400);
    assert_eq!(long["param"], "structured_outputs.grammar");
    // It compiles, but its parser fails at the first token.
    let wide = post(shared(), "/v1/chat/completions", &ask(rules(4000))).error(400);
    assert_eq!(wide["code"], "invalid_grammar");
    assert!(!wide["message"].as_str().unwrap().contains("<state>"), "{wide}");
}

#[test]
fn white_space_in_json_is_bounded() {
    let mut bias = serde_json::Map::new();
    for blank in ["\n", "\n\n"] {
        let tokens = post(shared(), "/tokenize", &json!({"prompt": blank})).ok()["tokens"].take();
        for token in tokens.as_array().unwrap() {
            bias.insert(token.to_string(), json!(100));
        }
    }
    let schema = json!({
        "type": "object", "properties": {"kind": {"enum": ["dragon", "bear"]}, "is_old": {"type": "boolean"}},
        "required": ["kind", "is_old"], "additionalProperties": false,
    });
    let text = content(&ask(json!({"structured_outputs": {"json": schema}, "logit_bias": bias})));
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert!(answer["is_old"].is_boolean() && text.contains('\n'), "{text}");
}

#[test]
fn schemas_are_enforced_as_far_as_possible_unless_they_are_strict() {
    let schema = json!({
        "type": "object", "not": {"required": ["x"]}, "required": ["kind", "undeclared"], "additionalProperties": false,
        "properties": {"kind": {"enum": ["dragon"], "format": "animal"}, "age": {"type": "int", "multipleOf": 86400}},
    });
    let format = |strict: bool| json!({"type": "json_schema", "json_schema": {"name": "animal", "schema": schema, "strict": strict}});
    let text = content(&ask(json!({"response_format": format(false)})));
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["kind"], "dragon");
    let refused =
        post(shared(), "/v1/chat/completions", &ask(json!({"response_format": format(true)})));
    assert_eq!(refused.error(400)["param"], "response_format");

    // A schema that does not compile at all leaves the other tools' schemas in force.
    let costly = json!({"type": "string", "pattern": "((a{1,900}b?){900}c?){900}"});
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let tools = [
        tool(
            "roll",
            json!({"type": "object", "properties": {"sides": {"enum": [6]}}, "required": ["sides"], "additionalProperties": false}),
        ),
        tool("many", json!({"type": "object", "properties": {"letters": costly}})),
    ];
    let mut num_rolls = 0;
    for seed in 0..6 {
        let asked = json!({
            "messages": [{"role": "user", "content": "Please roll a die with 6 sides."}],
            "tools": tools, "tool_choice": "required", "parallel_tool_calls": false, "seed": seed,
        });
        let answer = post(shared(), "/v1/chat/completions", &ask(asked)).ok();
        let call = &answer["choices"][0]["message"]["tool_calls"][0]["function"];
        if call["name"] == "roll" {
            let arguments: Value =
                serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
            assert_eq!(arguments, json!({"sides": 6}));
            num_rolls += 1;
        }
    }
    assert!(num_rolls > 0, "the tool is never called");
}

#[test]
fn an_answer_matches_a_gbnf_grammar() {
    let grammar = "root ::= animal \" is \" age # years\nanimal ::= \"dragon\" | \"bear\"\nage ::= [1-9]{1,2}";
    let text = content(&ask(json!({"structured_outputs": {"grammar": grammar}})));
    let (animal, age) = text.split_once(" is ").unwrap();
    assert!(["dragon", "bear"].contains(&animal) && age.parse::<u8>().is_ok(), "{text}");
    let broken = json!({"structured_outputs": {"grammar": "root ::= \"a\"\nother ::= ("}});
    let refused = post(shared(), "/v1/chat/completions", &ask(broken)).error(400);
    assert!(refused["message"].as_str().unwrap().contains("GBNF: line 2"), "{refused}");
}
