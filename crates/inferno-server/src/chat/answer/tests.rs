//! Expected values are what the makers of the models document for each form.

use super::*;

fn rules(form: ToolForm, single: bool) -> CallRules {
    CallRules { form, names: ["a", "b"].map(str::to_owned).into(), single }
}

/// The pieces of an answer that may call `a` and `b`, pieces of one part joined, without ids.
fn parse(form: Option<ToolForm>, has_begun: bool, cuts: &[&str]) -> Vec<Piece> {
    let mut parser = AnswerParser::new(form.map(|form| rules(form, false)), has_begun);
    let mut pieces = Vec::new();
    for cut in cuts {
        parser.push(cut, &mut pieces);
    }
    parser.finish(&mut pieces);
    let mut joined: Vec<Piece> = Vec::new();
    for mut piece in pieces {
        if let Piece::Call { id, .. } = &mut piece {
            assert!(!id.is_empty());
            id.clear();
        }
        match (joined.last_mut(), &piece) {
            (Some(Piece::Content(last)), Piece::Content(text))
            | (Some(Piece::Reasoning(last)), Piece::Reasoning(text))
            | (Some(Piece::Arguments { text: last, .. }), Piece::Arguments { text, .. }) => {
                last.push_str(text);
            }
            _ => joined.push(piece),
        }
    }
    joined
}

/// Checks an answer, however it is cut in three.
fn check(form: Option<ToolForm>, has_begun: bool, text: &str, expected: &[Piece]) {
    let places: Vec<_> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
    for (place, &a) in places.iter().enumerate() {
        for &b in &places[place..] {
            let cuts = [&text[..a], &text[a..b], &text[b..]];
            assert_eq!(parse(form, has_begun, &cuts), expected, "{cuts:?}");
        }
    }
}

fn content(text: &str) -> Piece {
    Piece::Content(text.to_owned())
}

fn reasoning(text: &str) -> Piece {
    Piece::Reasoning(text.to_owned())
}

fn call(index: usize, name: &str, arguments: &str) -> [Piece; 2] {
    [
        Piece::Call { index, id: String::new(), name: name.to_owned() },
        Piece::Arguments { index, text: arguments.to_owned() },
    ]
}

#[test]
fn thoughts_are_told_from_the_answer() {
    let expected = [reasoning("Hm — 4."), content("Four é.")];
    check(None, false, "<think>\nHm — 4.\n</think>\n\nFour é.", &expected);
    check(None, true, "Hm — 4.\n</think>\n\nFour é.", &expected);
    check(None, false, "<think>Hm", &[reasoning("Hm")]);
}

#[test]
fn a_mark_after_the_beginning_is_text() {
    let text = " It is <think>x</think>.";
    check(None, false, text, &[content(text)]);
    check(None, false, " <thi", &[content(" <thi")]);
}

#[test]
fn hermes_calls_are_read() {
    let text = "Wait.\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": \"}é\\\"\"}}\n</tool_call>\n\
                <tool_call>\n{\"arguments\": {}, \"name\": \"b\"}\n</tool_call>";
    let [first, arguments] = call(0, "a", "{\"x\": \"}é\\\"\"}");
    let [second, none] = call(1, "b", "{}");
    let expected = [content("Wait."), first, arguments, second, none];
    check(Some(ToolForm::Hermes), false, text, &expected);
}

#[test]
fn thoughts_may_come_before_calls() {
    let text =
        "<think>\nx\n</think>\n\n<tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n</tool_call>";
    let [first, arguments] = call(0, "a", "{}");
    check(Some(ToolForm::Hermes), false, text, &[reasoning("x"), first, arguments]);
}

#[test]
fn llama_calls_are_read() {
    let [first, arguments] = call(0, "a", "{\"x\": [1, 2]}");
    let [second, none] = call(1, "b", "{}");
    let text = "{\"name\": \"a\", \"parameters\": {\"x\": [1, 2]}}";
    let form = Some(ToolForm::Llama);
    check(form, false, text, &[first.clone(), arguments.clone()]);
    check(form, false, &format!("<|python_tag|>{text}"), &[first.clone(), arguments.clone()]);
    let two = format!("{text}; {{\"name\": \"b\", \"parameters\": {{}}}}");
    check(form, false, &two, &[first, arguments, second, none]);
    check(form, false, "{\"x\": 1} is JSON.", &[content("{\"x\": 1} is JSON.")]);
    check(form, false, "Hello.", &[content("Hello.")]);
}

#[test]
fn mistral_calls_are_read() {
    let [first, arguments] = call(0, "a", "{\"x\": 1}");
    let [second, none] = call(1, "b", "{}");
    let expected = [content("So."), first, arguments, second, none];
    let older = "So. [TOOL_CALLS] [{\"name\": \"a\", \"arguments\": {\"x\": 1}}, \
                 {\"name\": \"b\", \"arguments\": {}, \"id\": \"123456789\"}]";
    check(Some(ToolForm::Mistral), false, older, &expected);
    let newer = "So.[TOOL_CALLS]a[ARGS]{\"x\": 1}[TOOL_CALLS]b[ARGS]{}";
    check(Some(ToolForm::MistralArgs), false, newer, &expected);
}

#[test]
fn what_is_no_call_is_text() {
    let form = Some(ToolForm::Hermes);
    for text in ["<tool_call>\nnot JSON", "<tool_call>{\"x\": 1}", "a <tool", "<tool_call>{\"name"]
    {
        let joined = parse(form, false, &[text]);
        let told: String = joined
            .iter()
            .map(|piece| match piece {
                Piece::Content(text) => text.as_str(),
                piece => panic!("{piece:?}"),
            })
            .collect();
        assert_eq!(told, text);
    }
}

#[test]
fn an_object_that_calls_no_tool_on_offer_is_text() {
    let cases = [
        (ToolForm::Llama, "{\"name\":\"Bob\",\"age\":3}"),
        (ToolForm::Llama, " \n{\"name\": \"c\", \"parameters\": {}} "),
        (ToolForm::Llama, "\u{a0}{\"parameters\": {}, \"name\": \"c\"}"),
        // Of a tool's name, and nothing that it could be called with.
        (ToolForm::Llama, "{\"name\": \"a\", \"age\": 3}"),
        (ToolForm::Llama, "<|python_tag|>{\"name\": \"c\", \"parameters\": {}}"),
        (
            ToolForm::Hermes,
            "So:\n <tool_call>\n{\"name\": \"c\", \"arguments\": {}}\n</tool_call> é",
        ),
        (ToolForm::Mistral, "So. [TOOL_CALLS] [{\"name\": \"c\", \"arguments\": {}}]"),
        (ToolForm::MistralArgs, "So. [TOOL_CALLS]c[ARGS]{}"),
    ];
    for (form, text) in cases {
        check(Some(form), false, text, &[content(text)]);
    }
    let after = "<think>x</think>\n{\"name\": \"c\", \"parameters\": {}}";
    let expected = [reasoning("x"), content("{\"name\": \"c\", \"parameters\": {}}")];
    check(Some(ToolForm::Llama), false, after, &expected);
}

#[test]
fn llama_calls_may_stand_after_blanks() {
    let text = "{\"name\": \"a\", \"parameters\": {}}";
    for before in ["\n\n", " ", "\u{a0}", "\n<|python_tag|>"] {
        check(Some(ToolForm::Llama), false, &format!("{before}{text}"), &call(0, "a", "{}"));
    }
}

#[test]
fn arguments_that_are_a_text_of_json_are_read() {
    let text = "<tool_call>{\"name\": \"a\", \"arguments\": \"{\\\"x\\\": 1}\"}</tool_call>";
    check(Some(ToolForm::Hermes), false, text, &call(0, "a", "{\"x\": 1}"));
}

#[test]
fn a_second_call_is_left_out_where_one_is_allowed() {
    let mut parser = AnswerParser::new(Some(rules(ToolForm::Hermes, true)), false);
    let mut pieces = Vec::new();
    let one = "<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>";
    parser.push(&format!("{one}\n{one}"), &mut pieces);
    parser.finish(&mut pieces);
    assert_eq!(parser.num_calls(), 1);
}
