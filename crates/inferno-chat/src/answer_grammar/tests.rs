//! Texts that match the grammars of answers, and texts that do not.

use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use super::*;
use crate::form::test_forms::{elements, llama, llama_4, mistral};

fn tools(single: bool) -> Tools {
    let parameters = json!({
        "type": "object", "properties": {"sides": {"enum": [6, 20]}}, "required": ["sides"],
        "additionalProperties": false,
    });
    let roll = Tool { name: "roll".to_owned(), description: None, parameters, strict: false };
    Tools { list: vec![roll], choice: ToolChoice::Auto, single }
}

/// Represents a control token in a text.
const MARK: char = '\u{1}';
const MARK_ID: u32 = 256;
const END_ID: u32 = 257;

/// The tags that are control tokens.
fn token_id(tag: &str) -> Option<u32> {
    ["[TOOL_CALLS]", "<|python_tag|>"].contains(&tag).then_some(MARK_ID)
}

/// Whether the whole text matches the grammar; each byte is a token, except for the control token.
fn admits(lark: &str, text: &str) -> bool {
    let bytes = (0..=255).map(|byte| vec![byte]);
    let control = ["mark", "end"].map(|name| [&[0xff], name.as_bytes()].concat());
    let words: Vec<_> = bytes.chain(control).collect();
    let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, END_ID), &words);
    let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
    let mut factory = ParserFactory::new_simple(&environment).unwrap();
    factory.quiet();
    let grammar = TopLevelGrammar::from_lark(lark.to_owned());
    let mut matcher = Matcher::new(factory.create_parser(grammar));
    let id = |byte| if byte == MARK as u8 { MARK_ID } else { u32::from(byte) };
    let tokens: Vec<_> = text.bytes().map(id).collect();
    let num_consumed = matcher.try_consume_tokens(&tokens).expect("the grammar compiles");
    num_consumed == tokens.len() && matcher.is_accepting().unwrap()
}

/// Checks texts that match the grammar of free text with calls, and texts that do not.
fn check_free_text(
    form: &AnswerForm,
    single: bool,
    reasoning: Reasoning,
    fitting: &[String],
    others: &[String],
) {
    check_choice(form, tools(single), reasoning, fitting, others);
}

/// Checks texts that match the grammar of answers with tools, and texts that do not.
fn check_choice(
    form: &AnswerForm,
    tools: Tools,
    reasoning: Reasoning,
    fitting: &[String],
    others: &[String],
) {
    let lark = lark(&OutputFormat::Text, form, Some(&tools), reasoning, token_id);
    let lark = lark.unwrap();
    for text in fitting {
        assert!(admits(&lark, text), "{text:?} fits\n{lark}");
    }
    for text in others {
        assert!(!admits(&lark, text), "{text:?} does not fit\n{lark}");
    }
}

#[test]
fn llama_calls_match_their_schema_wherever_they_are_parsed() {
    let call = |sides: u32| format!(r#"{{"name": "roll", "parameters": {{"sides": {sides}}}}}"#);
    let (good, bad) = (call(6), call(7));
    let mut fitting = ["", "\n", "<think>x", "<think></think>"].map(str::to_owned).to_vec();
    let mut others = ["{", " {\"x\": 1}", "<|python_tag|>x"].map(str::to_owned).to_vec();
    for before in ["", " ", "\n\n", "\u{a0}", "<think>\nx\n</think>\n\n", "\n<think>x</think> "] {
        fitting.extend([format!("{before}{good}"), format!("{before}Hello {bad}")]);
        others.push(format!("{before}{bad}"));
    }
    fitting.push(format!("{good}; {good}"));
    others.push(format!("{good}; {bad}"));
    for reasoning in [Reasoning::None, Reasoning::Optional] {
        check_free_text(&llama(), false, reasoning, &fitting, &others);
    }
    let fitting = [format!("x</think>\n{good}"), "x</think>Hello".to_owned(), bad.clone()];
    let others = [format!("x</think>\n{bad}")];
    check_free_text(&llama(), false, Reasoning::Open, &fitting, &others);
}

#[test]
fn hermes_calls_match_their_schema_after_reasoning_that_mentions_the_delimiter() {
    let call = |name: &str| {
        let call = format!(r#"{{"name": "{name}", "arguments": {{"sides": 20}}}}"#);
        format!("<tool_call>\n{call}\n</tool_call>")
    };
    let (good, bad) = (call("roll"), call("walk"));
    let reasoning = "<think>\nA <tool_call> is due.\n</think>\n\n";
    let fitting = [format!("So. {good}"), format!("{reasoning}{good}"), reasoning.to_owned()];
    let others = [format!("So. {bad}"), format!("{reasoning}{bad}")];
    for single in [false, true] {
        check_free_text(&AnswerForm::default(), single, Reasoning::Optional, &fitting, &others);
    }
}

#[test]
fn calls_begin_with_the_token_of_their_delimiter_and_not_with_its_letters() {
    let call = |name: &str| format!(r#"[{{"name": "{name}", "arguments": {{"sides": 6}}}}]"#);
    let (good, bad) = (call("roll"), call("walk"));
    let fitting = [
        "So.".to_owned(),
        format!("So. {MARK}{good}"),
        format!("<think>[TOOL_CALLS]{bad}</think>{MARK}{good}"),
    ];
    let others = [
        format!("So. {MARK}{bad}"),
        format!("So. [TOOL_CALLS]{bad}"),
        format!("<think></think>{MARK}{bad}"),
    ];
    check_free_text(&mistral(), false, Reasoning::Optional, &fitting, &others);

    let call = |sides| format!(r#"{MARK}{{"name": "roll", "parameters": {{"sides": {sides}}}}}"#);
    let fitting = [call(6), format!(" {}", call(6)), format!("<think></think>\n{}", call(6))];
    let others = [call(7), format!("{MARK}So.")];
    check_free_text(&llama(), false, Reasoning::None, &fitting, &others);
}

#[test]
fn slashes_in_a_regular_expression_are_escaped_once() {
    assert_eq!(regex_literal("a/b"), "/a\\/b/");
    assert_eq!(regex_literal("a\\/b"), "/a\\/b/");
    assert_eq!(regex_literal("a\\\\/b"), "/a\\\\\\/b/");
}

#[test]
fn calls_in_reasoning_match_their_schema() {
    let call = |sides| {
        let call = format!("{{\"name\": \"roll\", \"arguments\": {{\"sides\": {sides}}}}}");
        format!("<tool_call>\n{call}\n</tool_call>")
    };
    let mention = "A <tool_call> of \"roll\" or <tool_call>{\"name\": \"walk\"} is due.\n";
    let (good, bad) = (call(6), call(7));
    let fitting = [
        format!("{mention}{good}"),
        format!("{mention}{}", good.replace(": \"roll", ":\n\"roll")),
        format!("{mention}{good}\n{good}"),
    ];
    let others = [format!("{mention}{bad}"), format!("{good}\n{bad}"), format!("{bad}</think>")];
    let form = AnswerForm { reasons: true, ..AnswerForm::default() };
    for choice in [ToolChoice::Auto, ToolChoice::Required] {
        let tools = Tools { choice, ..tools(false) };
        check_choice(&form, tools, Reasoning::Open, &fitting, &others);
    }
    let text = [format!("{good} Then"), format!("{mention}</think>{good}"), mention.to_owned()];
    check_free_text(&form, false, Reasoning::Open, &text, &[]);
    let required = || Tools { choice: ToolChoice::Required, ..tools(false) };
    check_choice(&form, required(), Reasoning::Open, &text[1..2], &text[..1]);

    let call = |sides| format!("[{{\"name\": \"roll\", \"arguments\": {{\"sides\": {sides}}}}}]");
    let fitting = [format!("Hm {MARK}{}", call(6)), format!("Hm [TOOL_CALLS]{}", call(6))];
    let others = [format!("Hm {MARK}{}", call(7)), format!("Hm [TOOL_CALLS]{}", call(7))];
    for tools in [tools(false), tools(true), required()] {
        check_choice(&mistral(), tools, Reasoning::Open, &fitting, &others);
    }
}

#[test]
fn calls_without_their_trigger_match_their_schema() {
    let call = |name: &str, sides: &str| {
        format!(
            "<function={name}>\n<parameter=sides>\n{sides}\n</parameter>\n</function>\n</tool_call>"
        )
    };
    let (good, bad) = (call("roll", "20"), call("roll", "7"));
    let fitting = [
        format!("So.\n{good}"),
        format!("So.\n{good}\n{good} And <tool_call>\n{good}"),
        format!("{} is none.", call("walk", "7")),
    ];
    let others = [format!("So.\n{bad}"), format!("{good}\n{bad}")];
    check_free_text(&elements(), false, Reasoning::None, &fitting, &others);
    let [fitting, others] = [fitting, [good.clone(), bad.clone(), bad]]
        .map(|texts| texts.map(|text| format!("I `<function=roll>`.\n{text}")));
    check_free_text(&elements(), false, Reasoning::Open, &fitting, &others[1..]);
}

#[test]
fn names_that_other_names_begin_with_are_told_apart() {
    let mut both = tools(false);
    both.list.push(both.list[0].clone());
    both.list[1].name = "roll_all".to_owned();
    both.list[1].parameters =
        json!({"type": "object", "properties": {}, "additionalProperties": false});
    let text = |name: &str, arguments: &str| {
        format!(
            "Hm.\n<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>"
        )
    };
    let fitting = [text("roll", "{\"sides\": 6}"), text("roll_all", "{}")];
    let others = [text("roll", "{}"), text("roll_all", "{\"sides\": 6}")];
    check_choice(&AnswerForm::default(), both, Reasoning::Open, &fitting, &others);
}

#[test]
fn calls_with_optional_tags_match_their_schema() {
    let call = |sides| format!("{{\"name\": \"roll\", \"parameters\": {{\"sides\": {sides}}}}}");
    let tagged = |sides| format!("<|python_start|><|python_end|>{}", call(sides));
    let bare = format!("\n{}", call(6));
    let fitting = [call(6), call(6) + &call(20), bare, tagged(6), "Hi {".to_owned()];
    let others = [call(7), format!(" {}", call(7)), tagged(7), "{\"x\"".to_owned()];
    check_free_text(&llama_4(), false, Reasoning::None, &fitting, &others);
    let required = Tools { choice: ToolChoice::Required, ..tools(false) };
    let fitting = [call(6), format!("<|python_end|>{}", call(6))];
    check_choice(&llama_4(), required, Reasoning::None, &fitting, &others);
}

#[test]
fn grammars_of_many_tools_compile() {
    for form in [AnswerForm::default(), elements()] {
        let mut many = tools(false);
        let tool = many.list[0].clone();
        many.list =
            (0..128).map(|at| Tool { name: format!("roll_{at}"), ..tool.clone() }).collect();
        let call = form.calls.write(&[("roll_12", &json!({"sides": 6}))]);
        let [fitting, others] =
            [call.clone(), call.replace('6', "7")].map(|call| [format!("Hm.\n{call}"), call]);
        check_choice(&form, many, Reasoning::Open, &fitting, &others);
    }
}
