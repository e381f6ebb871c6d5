//! Templates that Jinja2 rendered, as transformers configures it; `fixtures/make_answers.py` wrote the
//! expected results.

use inferno_jinja::{Context, Error, Limits, Template};
use serde_json::{Map, Value};

const INPUT: &str = include_str!("../fixtures/input.json");
const ANSWERS: &str = include_str!("../fixtures/answers.jsonl");

fn render(template: &str) -> Result<String, Error> {
    let fields: Map<String, Value> = serde_json::from_str(INPUT).unwrap();
    let mut context = Context::new();
    context.fix_time("26 Jul 2024");
    context.set("documents", &Value::Null);
    for (name, value) in &fields {
        context.set(name, value);
    }
    Template::parse(template)?.render(&context, Limits::default())
}

fn answers() -> impl Iterator<Item = Value> {
    ANSWERS.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn templates_render_as_jinja2_renders_them() {
    let mut num_rendered = 0;
    for answer in answers() {
        let Some(expected) = answer["ok"].as_str() else { continue };
        let template = answer["template"].as_str().unwrap();
        let rendered = render(template).unwrap_or_else(|error| panic!("{template}\n{error}"));
        assert_eq!(rendered, expected, "{template}");
        num_rendered += 1;
    }
    assert!(num_rendered > 100, "{num_rendered}");
}

#[test]
fn templates_fail_where_jinja2_fails() {
    let mut num_failed = 0;
    for answer in answers() {
        let Some(expected) = answer["error"].as_str() else { continue };
        let template = answer["template"].as_str().unwrap();
        let error = match render(template) {
            Ok(rendered) => panic!("{template}\nrendered {rendered:?}, not {expected}"),
            Err(error) => error.to_string(),
        };
        if let Some(line) = answer["line"].as_u64() {
            assert!(error.starts_with(&format!("line {line}: ")), "{template}\n{error}");
        }
        num_failed += 1;
    }
    assert!(num_failed > 50, "{num_failed}");
}
