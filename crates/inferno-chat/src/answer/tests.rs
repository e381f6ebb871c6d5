//! Expected values are what the publishers of the models document for each format.

use serde_json::json;

use super::*;
use crate::form::Delimiters;
use crate::form::test_forms::{elements, llama, mistral, mistral_args};

fn rules(form: &AnswerForm, single: bool) -> ToolCallRules {
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: None,
        parameters: json!({}),
        strict: false,
    };
    ToolCallRules::of(Arc::clone(&form.calls), ["a", "b"].map(tool).into(), single)
}

/// The deltas of an answer that may call `a` and `b`, adjacent ones of a kind joined, without ids.
fn parse(form: Option<&AnswerForm>, has_begun: bool, cuts: &[&str]) -> Vec<AnswerDelta> {
    let calls = form.map(|form| rules(form, false));
    let form = form.cloned().unwrap_or_default();
    let mut parser = AnswerParser::with_rules(&form, calls, has_begun);
    let mut deltas = Vec::new();
    for cut in cuts {
        parser.push(cut, &mut deltas);
    }
    parser.finish(&mut deltas);
    let mut joined: Vec<AnswerDelta> = Vec::new();
    for mut delta in deltas {
        if let AnswerDelta::ToolCall { id, .. } = &mut delta {
            assert!(!id.is_empty());
            id.clear();
        }
        match (joined.last_mut(), &delta) {
            (Some(AnswerDelta::Content(last)), AnswerDelta::Content(text))
            | (Some(AnswerDelta::Reasoning(last)), AnswerDelta::Reasoning(text))
            | (
                Some(AnswerDelta::Arguments { text: last, .. }),
                AnswerDelta::Arguments { text, .. },
            ) => {
                last.push_str(text);
            }
            _ => joined.push(delta),
        }
    }
    joined
}

/// Checks an answer, split in three at every position.
fn check(form: Option<&AnswerForm>, has_begun: bool, text: &str, expected: &[AnswerDelta]) {
    let places: Vec<_> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
    for (place, &a) in places.iter().enumerate() {
        for &b in &places[place..] {
            let cuts = [&text[..a], &text[a..b], &text[b..]];
            assert_eq!(parse(form, has_begun, &cuts), expected, "{cuts:?}");
        }
    }
}

fn content(text: &str) -> AnswerDelta {
    AnswerDelta::Content(text.to_owned())
}

fn reasoning(text: &str) -> AnswerDelta {
    AnswerDelta::Reasoning(text.to_owned())
}

fn call(index: usize, name: &str, arguments: &str) -> [AnswerDelta; 2] {
    [
        AnswerDelta::ToolCall { index, id: String::new(), name: name.to_owned() },
        AnswerDelta::Arguments { index, text: arguments.to_owned() },
    ]
}

#[test]
fn reasoning_is_separated_from_content() {
    let expected = [reasoning("Hm — 4."), content("Four é.")];
    check(None, false, "<think>\nHm — 4.\n</think>\n\nFour é.", &expected);
    check(None, true, "Hm — 4.\n</think>\n\nFour é.", &expected);
    check(None, false, "<think>Hm", &[reasoning("Hm")]);
}

#[test]
fn a_delimiter_after_the_beginning_is_content() {
    let text = " It is <think>x</think>.";
    check(None, false, text, &[content(text)]);
    check(None, false, " <thi", &[content(" <thi")]);
}

#[test]
fn headers_that_are_cut_off_are_no_content() {
    let form = AnswerForm { has_channels: true, ..AnswerForm::default() };
    let thought = "<|channel|>analysis<|message|>Hm<|end|>";
    for rest in [
        "<|start|>",
        "<|start|>assistant<|channel|>",
        "<|start|>assistant<|channel|>commentary to=functions.a <|constrain|>json<|message|>",
    ] {
        check(Some(&form), false, &format!("{thought}{rest}"), &[reasoning("Hm")]);
    }
    check(Some(&form), false, "Hello.", &[content("Hello.")]);
}

#[test]
fn hermes_calls_are_read() {
    let text = "Wait.\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": \"}é\\\"\"}}\n</tool_call>\n\
                <tool_call>\n{\"arguments\": {}, \"name\": \"b\"}\n</tool_call>";
    let [first, arguments] = call(0, "a", "{\"x\": \"}é\\\"\"}");
    let [second, none] = call(1, "b", "{}");
    let expected = [content("Wait."), first, arguments, second, none];
    check(Some(&AnswerForm::default()), false, text, &expected);
}

#[test]
fn reasoning_may_come_before_calls() {
    let text =
        "<think>\nx\n</think>\n\n<tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n</tool_call>";
    let [first, arguments] = call(0, "a", "{}");
    check(Some(&AnswerForm::default()), false, text, &[reasoning("x"), first, arguments]);
}

#[test]
fn llama_calls_are_read() {
    let [first, arguments] = call(0, "a", "{\"x\": [1, 2]}");
    let [second, none] = call(1, "b", "{}");
    let text = "{\"name\": \"a\", \"parameters\": {\"x\": [1, 2]}}";
    let llama = llama();
    let format = Some(&llama);
    check(format, false, text, &[first.clone(), arguments.clone()]);
    check(format, false, &format!("<|python_tag|>{text}"), &[first.clone(), arguments.clone()]);
    let two = format!("{text}; {{\"name\": \"b\", \"parameters\": {{}}}}");
    check(format, false, &two, &[first, arguments, second, none]);
    check(format, false, "{\"x\": 1} is JSON.", &[content("{\"x\": 1} is JSON.")]);
    check(format, false, "Hello.", &[content("Hello.")]);
}

#[test]
fn mistral_calls_are_read() {
    let [first, arguments] = call(0, "a", "{\"x\": 1}");
    let [second, none] = call(1, "b", "{}");
    let expected = [content("So."), first, arguments, second, none];
    let older = "So. [TOOL_CALLS] [{\"name\": \"a\", \"arguments\": {\"x\": 1}}, \
                 {\"name\": \"b\", \"arguments\": {}, \"id\": \"123456789\"}]";
    check(Some(&mistral()), false, older, &expected);
    let newer = "So.[TOOL_CALLS]a[ARGS]{\"x\": 1}[TOOL_CALLS]b[ARGS]{}";
    check(Some(&mistral_args()), false, newer, &expected);
}

#[test]
fn what_is_not_a_call_is_content() {
    let form = AnswerForm::default();
    let format = Some(&form);
    for text in ["<tool_call>\nnot JSON", "<tool_call>{\"x\": 1}", "a <tool", "<tool_call>{\"name"]
    {
        let joined = parse(format, false, &[text]);
        let text_of_all: String = joined
            .iter()
            .map(|delta| match delta {
                AnswerDelta::Content(text) => text.as_str(),
                delta => panic!("{delta:?}"),
            })
            .collect();
        assert_eq!(text_of_all, text);
    }
}

#[test]
fn an_object_that_calls_no_available_tool_is_content() {
    let cases = [
        (llama(), "{\"name\":\"Bob\",\"age\":3}"),
        (llama(), " \n{\"name\": \"c\", \"parameters\": {}} "),
        (llama(), "\u{a0}{\"parameters\": {}, \"name\": \"c\"}"),
        // The name of a tool, without arguments.
        (llama(), "{\"name\": \"a\", \"age\": 3}"),
        (llama(), "<|python_tag|>{\"name\": \"c\", \"parameters\": {}}"),
        (
            AnswerForm::default(),
            "So:\n <tool_call>\n{\"name\": \"c\", \"arguments\": {}}\n</tool_call> é",
        ),
        (mistral(), "So. [TOOL_CALLS] [{\"name\": \"c\", \"arguments\": {}}]"),
        (mistral_args(), "So. [TOOL_CALLS]c[ARGS]{}"),
    ];
    for (format, text) in cases {
        check(Some(&format), false, text, &[content(text)]);
    }
    let after = "<think>x</think>\n{\"name\": \"c\", \"parameters\": {}}";
    let expected = [reasoning("x"), content("{\"name\": \"c\", \"parameters\": {}}")];
    check(Some(&llama()), false, after, &expected);
}

#[test]
fn llama_calls_may_follow_whitespace() {
    let text = "{\"name\": \"a\", \"parameters\": {}}";
    for before in ["\n\n", " ", "\u{a0}", "\n<|python_tag|>"] {
        check(Some(&llama()), false, &format!("{before}{text}"), &call(0, "a", "{}"));
    }
}

#[test]
fn arguments_in_a_json_string_are_read() {
    let text = "<tool_call>{\"name\": \"a\", \"arguments\": \"{\\\"x\\\": 1}\"}</tool_call>";
    check(Some(&AnswerForm::default()), false, text, &call(0, "a", "{\"x\": 1}"));
}

#[test]
fn a_second_call_is_dropped_if_one_is_allowed() {
    let form = AnswerForm::default();
    let mut parser = AnswerParser::with_rules(&form, Some(rules(&form, true)), false);
    let mut deltas = Vec::new();
    let one = "<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>";
    parser.push(&format!("{one}\n{one}"), &mut deltas);
    parser.finish(&mut deltas);
    assert_eq!(parser.num_calls(), 1);
}

#[test]
fn arguments_in_strings_are_objects_or_nothing() {
    let text = |arguments: &str| {
        let arguments = serde_json::Value::from(arguments);
        format!("<tool_call>{{\"name\": \"a\", \"arguments\": {arguments}}}</tool_call>")
    };
    for (string, expected) in [("{\"x\": 1}", "{\"x\": 1}"), ("", "{}"), (" \n", "{}")] {
        check(Some(&AnswerForm::default()), false, &text(string), &call(0, "a", expected));
    }
    for invalid in ["{\"x\":", "x", "[1]", "null", "{} {}"] {
        let text = text(invalid);
        check(Some(&AnswerForm::default()), false, &text, &[content(&text)]);
    }
}

#[test]
fn calls_end_reasoning() {
    let form = AnswerForm::default();
    let one = "<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": 1}}\n</tool_call>";
    let [first, arguments] = call(0, "a", "{\"x\": 1}");
    let expected = [reasoning("Look."), first.clone(), arguments.clone()];
    check(Some(&form), true, &format!("Look.\n{one}"), &expected);
    check(Some(&form), true, &format!("Look.\n\n{one}\n</think>\n\n"), &expected);
    let elements = elements();
    for tag in ["<tool_call>\n", ""] {
        let text = format!("{tag}<function=b>\n</function>\n</tool_call>");
        let [second, none] = call(0, "b", "{}");
        check(Some(&elements), true, &format!("Hm\n{text}"), &[reasoning("Hm"), second, none]);
    }
    let [second, none] = call(0, "b", "{}");
    let text = "Hm [TOOL_CALLS][{\"name\": \"b\", \"arguments\": {}}]</think>So.";
    let expected = [reasoning("Hm "), second, none, content("So.")];
    check(Some(&mistral()), true, text, &expected);
}

#[test]
fn mentions_of_calls_are_reasoning() {
    let form = AnswerForm::default();
    for text in [
        "A <tool_call> is\n<tool_call>\n due",
        "A <tool_call>{\"name\": \"c\", \"arguments\": {}}</tool_call>",
        "A <tool_call>{\"name\": \"ab\"",
        "A\n<tool_call>{\"name\": \"a\"",
        "A\n<tool_call>{\"name\": \"a\", \"x\": 1} x",
        "A <function=a>",
        "I could send <tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_call>, but",
    ] {
        check(Some(&form), true, text, &[reasoning(text)]);
        let expected = [reasoning(text), content("So.")];
        check(Some(&form), true, &format!("{text}</think>So."), &expected);
    }
    let text = "A <function=c> and <tool_call>\n<function=a";
    check(Some(&elements()), true, text, &[reasoning(text)]);
}

#[test]
fn calls_without_their_trigger_are_read() {
    let one = |name: &str| {
        format!("<function={name}>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>")
    };
    let elements = elements();
    let [first, arguments] = call(0, "a", "{\"x\": 1}");
    let [second, others] = call(1, "b", "{\"x\": 1}");
    let text = format!("Look.\n{}\n{}", one("a"), one("b"));
    let expected = [content("Look."), first, arguments, second, others];
    check(Some(&elements), false, &text, &expected);
    let mention = "I write `<function=a>` there.".to_owned();
    for text in [one("c"), one("ab"), "A <function=a".to_owned(), mention] {
        check(Some(&elements), false, &text, &[content(&text)]);
    }
}

#[test]
fn a_closing_tag_of_reasoning_that_closes_nothing_is_dropped() {
    check(None, false, "</think>\n\nHello.", &[content("Hello.")]);
    check(None, false, "\n</think>", &[]);
    check(None, false, "</thing>", &[content("</thing>")]);
    let text = "</think>{\"name\": \"a\", \"parameters\": {}}";
    check(Some(&llama()), false, text, &call(0, "a", "{}"));
}

#[test]
fn control_tokens_of_reasoning_are_no_content() {
    let reasoning_tags = Delimiters::new("<|channel>thought", "<channel|>");
    let form = AnswerForm { reasoning: reasoning_tags, ..AnswerForm::default() };
    for text in [
        "Hello<channel|>",
        "Hello<|channel>thought\n<channel|>",
        "<|channel><|channel>thought\n<channel|>Hello",
        "<channel|>Hel<channel|>lo<|channel>",
    ] {
        check(Some(&form), false, text, &[content("Hello")]);
    }
    let expected = [content("A"), reasoning("Hm"), content("B <|chan nel")];
    check(Some(&form), false, "A<|channel>thought\nHm\n<channel|>B <|chan nel", &expected);
    check(Some(&form), false, "A <channel|>b ", &[content("A b ")]);
}

#[test]
fn the_last_channel_of_a_header_counts() {
    let form = AnswerForm { has_channels: true, ..AnswerForm::default() };
    let header = "<|channel|>commentary to=assistant<|channel|>";
    let text =
        format!("{header}analysis<|message|>Hm<|end|><|start|>assistant{header}final<|message|>Hi");
    check(Some(&form), false, &text, &[reasoning("Hm"), content("Hi")]);
}
