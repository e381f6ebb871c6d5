//! Answers as models write them, also if their templates write calls in another way or not at all.

use crate::shared::own_templates;
use inferno_chat::{
    AnswerDelta, AnswerParser, ChatRequest, ChatTemplate, Reasoning, Tool, ToolChoice, Tools,
};
use serde_json::{Value, json};

fn tools() -> Tools {
    let parameters = json!({"type": "object", "properties": {
        "text": {"type": "string"}, "count": {"type": "integer"}, "place": {"type": "object"},
    }});
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: Some("Does something.".to_owned()),
        parameters: parameters.clone(),
        strict: false,
    };
    Tools { list: vec![tool("look"), tool("go")], choice: ToolChoice::Auto, single: false }
}

/// Reasoning, content and calls.
type Answer = (String, String, Vec<(String, Value)>);

fn parse(template: &ChatTemplate, cuts: [&str; 2]) -> Answer {
    let user = json!({"role": "user", "content": "Look."});
    let prompt = template.render_prompt(&ChatRequest::new([user])).unwrap();
    let is_reasoning = Reasoning::after(template, &prompt) == Reasoning::Open;
    let mut parser = AnswerParser::new(template.answer_form(), Some(&tools()), is_reasoning);
    let mut deltas = Vec::new();
    cuts.iter().for_each(|cut| parser.push(cut, &mut deltas));
    parser.finish(&mut deltas);
    let (mut reasoning, mut content) = (String::new(), String::new());
    let mut calls: Vec<(String, String)> = Vec::new();
    for delta in deltas {
        match delta {
            AnswerDelta::Reasoning(text) => reasoning += &text,
            AnswerDelta::Content(text) => content += &text,
            AnswerDelta::ToolCall { name, .. } => calls.push((name, String::new())),
            AnswerDelta::Arguments { index, text } => calls[index].1 += &text,
        }
    }
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    let calls = calls.into_iter().map(|(name, text)| (name, value(&text))).collect();
    (reasoning, content, calls)
}

/// Checks an answer, split at every position.
fn check(template: &ChatTemplate, text: &str, expected: [&str; 2], calls: &[(&str, Value)]) {
    let calls = calls.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let expected: Answer = (expected[0].to_owned(), expected[1].to_owned(), calls);
    for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
        let parsed = parse(template, [&text[..at], &text[at..]]);
        assert_eq!(parsed, expected, "{text:?} at {at}\n{:?}", template.answer_form());
    }
}

/// A template with messages like those of ChatML, which writes a text before them if there are tools.
fn without_calls(tools: &str) -> ChatTemplate {
    let source = format!(
        "{{% if tools %}}{tools}{{{{ tools | tojson }}}}\n{{% endif %}}\
         {{% for message in messages %}}<|im_start|>{{{{ message.role }}}}\n{{{{ message.content }}}}<|im_end|>\n{{% endfor %}}\
         {{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}"
    );
    ChatTemplate::new(&source).unwrap()
}

fn own(name: &str) -> ChatTemplate {
    own_templates().into_iter().find(|(own, _)| own == name).unwrap().1
}

#[test]
fn calls_that_templates_do_not_write_are_read() {
    let object = r#"{"name": "look", "arguments": {"text": "x"}}, {"name": "go", "arguments": {}}"#;
    let calls = [("look", json!({"text": "x"})), ("go", json!({}))];
    for (tools, open, close) in [
        ("Respond with <|tool_call|> and a list.", "<|tool_call|>", ""),
        ("<|tool|><|/tool|>", "<|tool_call|>", "<|/tool_call|>"),
    ] {
        let text = format!("So.{open}[{object}]{close}");
        check(&without_calls(tools), &text, ["", "So."], &calls);
    }
    let call = |text: &str| format!("<|tool_call_begin|>functions.{text}<|tool_call_end|>");
    let [first, second] = [
        call("look:0<|tool_call_argument_begin|>{\"text\": \"x\"}"),
        call("go:1<|tool_call_argument_begin|>{}"),
    ];
    let text = format!("<|tool_calls_section_begin|>{first}{second}<|tool_calls_section_end|>");
    let template = without_calls("{# <|tool_calls_section_begin|> #}");
    check(&template, &format!("So.{text}"), ["", "So."], &calls);
    check(&template, &format!("<think>Hm.{text}"), ["Hm.", ""], &calls);
    let text = r#"<|tool_call_start|>[look(text="x"), go()]<|tool_call_end|>"#;
    check(&without_calls("List of tools: ["), text, ["", ""], &calls);
}

#[test]
fn enclosed_values_may_contain_the_text_after_values() {
    let value = "def f():\n    return '</param></function>' < 1 ]]";
    let text = format!(
        "<function name=\"look\"><param name=\"text\"><![CDATA[{value}]]></param>\
         <param name=\"count\">3</param></function>"
    );
    let calls = [("look", json!({"text": value, "count": 3}))];
    check(&own("own minicpm5"), &text, ["", ""], &calls);
    let text = text.replace("]]></param>", "]]>\n</param>").replace("<![CDATA[", " <![CDATA[");
    check(&own("own minicpm5"), &text, ["", ""], &calls);
    let text = "<function name=\"look\"><param name=\"text\"><![CD</param></function>";
    check(&own("own minicpm5"), text, ["", ""], &[("look", json!({"text": "<![CD"}))]);
}

#[test]
fn tags_that_enclose_no_content_may_be_omitted_before_a_call() {
    let template = own("own llama-4 frame");
    let call = "{\"name\": \"look\", \"parameters\": {\"count\": 1}}";
    let calls = [("look", json!({"count": 1}))];
    check(&template, call, ["", ""], &calls);
    check(&template, &format!("\n<|python_start|><|python_end|>{call}"), ["", ""], &calls);
    check(&template, &format!("<|python_start|>So.<|python_end|>{call}"), ["", "So."], &calls);
    check(&template, "{\"name\": \"other\"} So.", ["", "{\"name\": \"other\"} So."], &[]);
    check(&template, "So. {\"name\": 1}", ["", "So. {\"name\": 1}"], &[]);
}

#[test]
fn calls_are_explained_unless_the_template_explains_them() {
    let template = without_calls(
        "{% if messages[0].role != 'system' %}Respond with <|tool_call|> and a list.{% endif %}",
    );
    let system = json!({"role": "system", "content": "Be brief."});
    let user = json!({"role": "user", "content": "Look."});
    let prompt = |messages: &[Value]| {
        let mut request = ChatRequest::new(messages.iter().cloned());
        request.tools = Some(tools().list.iter().map(Tool::for_template).collect());
        template.render_prompt(&request).unwrap()
    };
    assert_eq!(prompt(std::slice::from_ref(&user)).matches("<|tool_call|>").count(), 1);
    let explained = prompt(&[system, user]);
    assert!(explained.contains("<|tool_call|>[{\"name\": \"function_name\""), "{explained}");
}

#[test]
fn what_a_template_writes_after_the_calls_of_a_message_is_not_expected() {
    let source = "{% for message in messages %}{% if message.tool_calls %}<|call|>{% for it in message.tool_calls %}\
                  <|one|>{{ it.function.name }}<|sep|>{{ it.function.arguments | tojson }}{% endfor %}<|done|><|eos|>{% endif %}\
                  {% if message.role == 'user' %}<|user|>{{ message.content }}{% elif message.content is not none %}\
                  <|assistant|>{{ message.content }}<|eos|>{% endif %}{% endfor %}\
                  {% if add_generation_prompt %}<|assistant|>{% endif %}";
    let template = ChatTemplate::new(source).unwrap();
    let text = "<|call|><|one|>look<|sep|>{\"count\": 1}<|done|>";
    check(&template, text, ["", ""], &[("look", json!({"count": 1}))]);
}

#[test]
fn reasoning_may_begin_with_words_or_end_like_an_answer() {
    let source = "{% for message in messages %}<|begin_{{ message.role }}|>\n{% if message.reasoning_content %}\
                  {{ message.reasoning_content }}\n[BEGIN FINAL RESPONSE]\n{% endif %}{{ message.content }}\n<|end|>\n\
                  {% endfor %}{% if add_generation_prompt %}<|begin_assistant|>\nMy steps:\n{% endif %}";
    let text = "Hm.\n[BEGIN FINAL RESPONSE]\nSo.";
    check(&ChatTemplate::new(source).unwrap(), text, ["Hm.", "So."], &[]);

    let source = "{% for message in messages %}{% if message.reasoning %}<|begin|>assistant<|think|>{{ message.reasoning }}<|end|>\
                  {% endif %}<|begin|>{{ message.role }}<|content|>{{ message.content }}<|end|>{% endfor %}\
                  {% if add_generation_prompt %}<|begin|>assistant{% endif %}";
    let template = ChatTemplate::new(source).unwrap();
    let text = "<|think|>Hm.<|end|><|begin|>assistant<|content|>So.<|end|>";
    check(&template, text, ["Hm.", "So."], &[]);
    check(&template, "<|content|>So.", ["", "So."], &[]);
}
