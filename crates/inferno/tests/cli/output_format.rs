//! Constrained output: `--json-schema`, `--grammar`, `--regex`, and tool calls of `--chat --input`.

use std::fs;

use crate::support::Run;
use serde_json::{Value, json};

/// The embedded model as a file, so that no note precedes errors.
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ember.gguf");

fn generate() -> Run {
    Run::inferno().args(["generate", "-m", MODEL, "--greedy", "--max-tokens", "60"])
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"enum": [3, 5, 8]}},
        "required": ["name", "age"],
        "additionalProperties": false,
    })
}

fn check_person(text: &str) {
    let person: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(person["name"].is_string(), "{text}");
    assert!([3, 5, 8].map(Value::from).contains(&person["age"]), "{text}");
}

#[test]
fn a_json_schema_is_enforced_for_text_and_chat() {
    let schema = schema().to_string();
    for mode in [&["Once upon a time"][..], &["--chat", "--no-think", "Tell me about a child."]] {
        let run = generate().args(["--json-schema", &schema]).args(mode);
        check_person(&run.success().stdout);
    }
}

#[test]
fn a_grammar_may_be_gbnf() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.gbnf");
    fs::write(&path, "root ::= item (\"; \" item){2} # three\nitem ::= \"red\" | \"blue\"\n")
        .unwrap();
    let text = generate().args(["--grammar", path.to_str().unwrap(), "Once"]).success().stdout;
    let items: Vec<_> = text.trim_end().split("; ").collect();
    assert!(items.len() == 3 && items.iter().all(|it| ["red", "blue"].contains(it)), "{text}");
}

#[test]
fn reasoning_is_closed_when_its_budget_is_used_up() {
    let request = json!({
        "messages": [{"role": "user", "content": "What is two plus two?"}], "enable_thinking": true,
    });
    let ask = |budget: &str| {
        let run = generate().args(["--chat", "--reasoning-budget", budget, "--input", "-"]);
        run.stdin(request.to_string()).success().stdout
    };
    let num_words = |text: &str| {
        let reasoning = text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
        reasoning.unwrap_or_else(|| panic!("no reasoning: {text}")).0.split_whitespace().count()
    };
    let (unlimited, limited) = (ask("-1"), ask("2"));
    assert!(num_words(&limited) <= 2 && num_words(&unlimited) > 2, "{limited}\n{unlimited}");
}

#[test]
fn a_json_schema_may_be_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schema.json");
    fs::write(&path, schema().to_string()).unwrap();
    let run = generate().args(["--json-schema", path.to_str().unwrap(), "Once upon a time"]);
    check_person(&run.success().stdout);
}

#[test]
fn a_regular_expression_and_a_grammar_are_enforced() {
    let text = generate().args(["--regex", "(cat|dog), [0-9]{2}", "Once"]).success().stdout;
    let (animal, number) = text.trim_end().split_once(", ").unwrap();
    assert!(matches!(animal, "cat" | "dog") && number.parse::<u32>().is_ok(), "{text}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.lark");
    fs::write(&path, "start: ITEM (\"; \" ITEM)~2\nITEM: /(red|blue)/\n").unwrap();
    let text = generate().args(["--grammar", path.to_str().unwrap(), "Once"]).success().stdout;
    let items: Vec<&str> = text.trim_end().split("; ").collect();
    assert_eq!(items.len(), 3, "{text}");
    assert!(items.iter().all(|item| matches!(*item, "red" | "blue")), "{text}");
}

#[test]
fn invalid_formats_are_rejected() {
    for (args, code, expected) in [
        (&["--json-schema", "{", "Once"][..], 2, "--json-schema is not valid JSON"),
        (
            &["--json-schema", "{\"type\": \"any\"}", "Once"],
            1,
            "does not compile: Invalid type: any",
        ),
        (&["--json-schema", "missing.json", "Once"], 1, "missing.json"),
        (&["--regex", "(", "Once"], 1, "unclosed group"),
        (&["--regex", "a", "--json-schema", "{}", "Once"], 2, "cannot be used with"),
    ] {
        let outcome = generate().args(args).failure(code);
        assert!(outcome.stderr.contains(expected), "{args:?}: {}", outcome.stderr);
    }
}

fn request(tool_choice: &Value) -> String {
    let parameters = json!({
        "type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"],
    });
    let tool =
        json!({"name": "weather", "description": "Current weather", "parameters": parameters});
    json!({
        "messages": [{"role": "user", "content": "What is the weather like in Oslo?"}],
        "tools": [{"type": "function", "function": tool}],
        "tool_choice": tool_choice,
    })
    .to_string()
}

#[test]
fn a_tool_call_is_printed_as_one_line_of_json() {
    for choice in [json!("required"), json!({"type": "function", "function": {"name": "weather"}})]
    {
        let run = generate().args(["--chat", "--no-think", "--input", "-"]).stdin(request(&choice));
        let text = run.success().stdout;
        let call: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(call["name"], "weather", "{text}");
        assert!(["Rome", "Oslo"].map(Value::from).contains(&call["arguments"]["city"]), "{text}");
    }
}

#[test]
fn an_unknown_tool_choice_is_rejected() {
    let run = generate().args(["--chat", "--input", "-"]).stdin(request(&json!("sometimes")));
    let outcome = run.failure(1);
    assert!(outcome.stderr.contains("tool_choice must be"), "{}", outcome.stderr);
}
