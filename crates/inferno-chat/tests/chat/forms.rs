//! Answers in the forms of real templates: what a template writes for an answer is parsed to what went in.
//!
//! `INFERNO_ORACLE` names the folder of the templates; the templates in this file are checked without it.

use crate::shared::{CALLS_ALONE, calling, own_templates, real_templates, written};
use inferno_chat::{AnswerDelta, AnswerParser, ChatTemplate, Tool, ToolChoice, Tools};
use serde_json::{Value, json};

/// Families whose templates write one call per message.
const SINGLE_CALLS: [&str; 2] = ["meta-llama", "openai"];

/// An answer, as a client sees it.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    reasoning: String,
    content: String,
    calls: Vec<(String, Value)>,
}

fn tools() -> Tools {
    let parameters = json!({"type": "object", "properties": {
        "text": {"type": "string"}, "other": {"type": "string"}, "count": {"type": "integer"},
        "ratio": {"type": "number"}, "flag": {"type": "boolean"}, "nothing": {"type": ["null", "integer"]},
        "list": {"type": "array"}, "object": {"type": "object"}, "more": {"type": ["string", "null"]},
    }});
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: Some("Does something.".to_owned()),
        parameters: parameters.clone(),
        strict: false,
    };
    Tools {
        list: vec![tool("first_tool"), tool("second")],
        choice: ToolChoice::Auto,
        single: false,
    }
}

/// Arguments of several shapes.
fn shapes() -> Vec<Value> {
    vec![
        json!({"text": "Zürich", "other": "plain"}),
        json!({"text": "a \"quoted\" 'word'\nand a <tag> </tag> & {brace} [x], y: 日本語 🦀 \\n"}),
        json!({"text": "17", "other": "true"}),
        json!({"text": "", "other": " spaces "}),
        json!({"count": -3, "ratio": 2.5, "flag": true}),
        json!({"flag": false, "nothing": null}),
        json!({"list": [1, "two", [3.5, false], {"a": null}], "object": {"b": {"c": ["d", "e, f"]}}}),
        json!({"list": [], "object": {}}),
        json!({}),
    ]
}

fn parse(template: &ChatTemplate, is_reasoning: bool, cuts: [&str; 2]) -> Answer {
    let mut parser = AnswerParser::new(template.answer_form(), Some(&tools()), is_reasoning);
    let mut deltas = Vec::new();
    cuts.iter().for_each(|cut| parser.push(cut, &mut deltas));
    parser.finish(&mut deltas);
    let mut answer = Answer::default();
    let mut arguments: Vec<String> = Vec::new();
    for delta in deltas {
        match delta {
            AnswerDelta::Reasoning(text) => answer.reasoning += &text,
            AnswerDelta::Content(text) => answer.content += &text,
            AnswerDelta::ToolCall { name, .. } => {
                answer.calls.push((name, Value::Null));
                arguments.push(String::new());
            }
            AnswerDelta::Arguments { index, text } => arguments[index] += &text,
        }
    }
    for (call, arguments) in answer.calls.iter_mut().zip(&arguments) {
        call.1 = serde_json::from_str(arguments)
            .unwrap_or_else(|_| json!(format!("not JSON: {arguments}")));
    }
    answer.content = answer.content.trim().to_owned();
    answer.reasoning = answer.reasoning.trim().to_owned();
    answer
}

/// Checks an answer that a template has written, at every split point; returns what is wrong.
fn check(template: &ChatTemplate, message: &Value, expected: &Answer) -> Result<(), String> {
    let Some((text, is_reasoning)) = written(template, &tools(), message) else {
        return Err("the template rejects it".to_owned());
    };
    for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
        let parsed = parse(template, is_reasoning, [&text[..at], &text[at..]]);
        if parsed != *expected {
            return Err(format!("{text:?} split at {at}:\n  {parsed:?}\n  expected {expected:?}"));
        }
    }
    Ok(())
}

/// Checks reasoning and content next to a call and without one, as far as a template writes them.
fn check_parts(template: &ChatTemplate, name: &str) -> Result<(), String> {
    let (reasoning, content) = ("First, I look.\nThen I go.", "I will do that.");
    let call = ("first_tool", json!({"text": "x"}));
    for mut message in [calling(std::slice::from_ref(&call)), json!({"role": "assistant"})] {
        message["content"] = json!(content);
        message["reasoning_content"] = json!(reasoning);
        let has_call = message.get("tool_calls").is_some();
        let Some((text, _)) = written(template, &tools(), &message) else {
            return Err("the template rejects it".to_owned());
        };
        let part = |part: &str| if text.contains(part) { part.to_owned() } else { String::new() };
        let mut expected =
            Answer { reasoning: part(reasoning), content: part(content), calls: Vec::new() };
        if has_call {
            expected.calls.push((call.0.to_owned(), call.1.clone()));
            if name.starts_with("openai") {
                // The template writes content next to a call as reasoning, after other reasoning.
                let parts = [&expected.reasoning, &expected.content];
                let parts = parts.into_iter().filter(|part| !part.is_empty()).cloned();
                expected.reasoning = parts.collect::<Vec<_>>().join("\n\n");
                expected.content.clear();
            }
        }
        check(template, &message, &expected)?;
    }
    Ok(())
}

#[test]
fn answers_of_all_templates_are_parsed_to_what_went_in() {
    let mut failures = Vec::new();
    let mut templates = own_templates();
    templates.extend(real_templates());
    for (name, template) in templates {
        let mut fail = |what: &str, result: Result<(), String>| {
            if let Err(error) = result {
                failures.push(format!("{name}, {what}: {error}\n{:?}", template.answer_form()));
            }
        };
        for shape in shapes() {
            let call = ("first_tool", shape.clone());
            let expected =
                Answer { calls: vec![("first_tool".to_owned(), shape)], ..Answer::default() };
            fail("one call", check(&template, &calling(&[call]), &expected));
        }
        if !CALLS_ALONE.contains(&name.as_str()) {
            fail("reasoning and content", check_parts(&template, &name));
        }
        if SINGLE_CALLS.iter().any(|family| name.starts_with(family)) {
            continue;
        }
        let [first, second] = [json!({"text": "x", "count": 1}), json!({"flag": true})];
        let calls = [("first_tool", first.clone()), ("second", second.clone())];
        let expected = Answer {
            calls: vec![("first_tool".to_owned(), first), ("second".to_owned(), second)],
            ..Answer::default()
        };
        fail("two calls", check(&template, &calling(&calls), &expected));
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn calls_of_unknown_tools_are_content() {
    let mut failures = Vec::new();
    let mut templates = own_templates();
    templates.extend(real_templates());
    for (name, template) in templates {
        let call = calling(&[("other_tool", json!({"text": "x"}))]);
        let (text, is_reasoning) = written(&template, &tools(), &call).unwrap();
        for at in [0, text.len() / 2, text.len()] {
            let at = (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            let parsed = parse(&template, is_reasoning, [&text[..at], &text[at..]]);
            if !parsed.calls.is_empty() || !parsed.content.contains("other_tool") {
                failures.push(format!("{name}: {text:?} is {parsed:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn names_and_values_are_streamed_as_they_are_known() {
    let (_, template) =
        own_templates().into_iter().find(|(name, _)| name == "own elements").unwrap();
    let arguments = json!({"count": 3, "text": "A long text\nof several \"words\"."});
    let (text, _) =
        written(&template, &tools(), &calling(&[("first_tool", arguments.clone())])).unwrap();
    let mut parser = AnswerParser::new(template.answer_form(), Some(&tools()), false);
    let (mut deltas, mut seen) = (Vec::new(), String::new());
    for character in text.chars() {
        parser.push(character.encode_utf8(&mut [0; 4]), &mut deltas);
        seen.push(character);
        let is_named = matches!(deltas.first(), Some(AnswerDelta::ToolCall { name, .. }) if name == "first_tool");
        assert_eq!(is_named, seen.contains("first_tool>"), "{seen}");
    }
    parser.finish(&mut deltas);
    let parts: Vec<_> = deltas
        .iter()
        .filter_map(|delta| match delta {
            AnswerDelta::Arguments { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(parts.len() > 20, "{parts:?}");
    assert_eq!(serde_json::from_str::<Value>(&parts.concat()).unwrap(), arguments);
}
