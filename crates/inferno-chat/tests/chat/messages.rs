//! Messages in the form that a template reads.

use crate::shared::{calling, own_templates, real_templates};
use inferno_chat::{ChatRequest, ChatTemplate, Tool};
use serde_json::{Value, json};

fn message(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

fn rendered(template: &ChatTemplate, messages: impl IntoIterator<Item = Value>) -> String {
    template.render_prompt(&ChatRequest::new(messages)).unwrap()
}

fn tool() -> Tool {
    Tool::function("search".to_owned(), None, None, None)
}

/// A template that writes these expressions for a message with its `role`, `content` and the index `loop.index0`.
fn template(body: &str) -> ChatTemplate {
    let source =
        format!("{{% for message in messages %}}[{{{{ message.role }}}}]{body}{{% endfor %}}");
    ChatTemplate::new(&source).unwrap()
}

/// A question, the answer that calls a tool after reasoning, and its result.
fn exchange(field: &str, content: &str) -> [Value; 3] {
    let mut answer = calling(&[("search", json!({"text": "x"}))]);
    answer["content"] = json!(content);
    answer[field] = json!("I must look.");
    let id = answer["tool_calls"][0]["id"].clone();
    [
        message("user", "Where?"),
        answer,
        json!({"role": "tool", "tool_call_id": id, "name": "search", "content": "Here"}),
    ]
}

#[test]
fn reasoning_of_earlier_answers_is_where_the_template_reads_it() {
    let fields = ["reasoning_content", "reasoning", "thinking"];
    for read in fields {
        let template = template(&format!(
            "{{% if message.{read} %}}<think>{{{{ message.{read} }}}}</think>{{% endif %}}{{{{ message.content }}}}"
        ));
        for sent in fields {
            let mut answer = message("assistant", "There.");
            answer[sent] = json!("I must look.");
            let text = rendered(&template, [message("user", "Where?"), answer]);
            assert_eq!(text, "[user]Where?[assistant]<think>I must look.</think>There.");
        }
    }
}

#[test]
fn reasoning_is_a_part_or_a_block_if_the_template_reads_only_that() {
    let parts = template(
        "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}\
         {% if part.type == 'thinking' %}<think>{{ part.thinking }}</think>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}",
    );
    // It fails if some contents are strings and others have blocks.
    let blocks = ChatTemplate::new(
        "{% set ns = namespace(form=none) %}{% for message in messages %}[{{ message.role }}]\
         {% if message.role == 'assistant' %}{% set form = 'text' if message.content is string else 'blocks' %}\
         {% if ns.form not in [none, form] %}{{ raise_exception('expected ' ~ ns.form) }}{% endif %}{% set ns.form = form %}{% endif %}\
         {% if message.content is string %}{{ message.content }}{% else %}{% for block in message.content.blocks %}\
         {% if block.type == 'thoughts' %}<think>{{ block.text }}</think>{% else %}{{ block.text }}{% endif %}{% endfor %}{% endif %}\
         {% endfor %}",
    )
    .unwrap();
    for template in [parts, blocks] {
        let mut answer = message("assistant", "There.");
        answer["reasoning_content"] = json!("I must look.");
        let [first, question] = [message("assistant", "Hello."), message("user", "Where?")];
        let text = rendered(&template, [question, first, message("user", "Yes"), answer]);
        let expected =
            "[user]Where?[assistant]Hello.[user]Yes[assistant]<think>I must look.</think>There.";
        assert_eq!(text, expected);
    }
}

#[test]
fn templates_of_real_models_write_reasoning_next_to_calls() {
    let cases = [
        ("openai-gpt-oss-120b", "<|channel|>analysis<|message|>I must look.<|end|>"),
        ("mistralai-Ministral-3-14B-Reasoning-2512", "[THINK]I must look.[/THINK][TOOL_CALLS]"),
        ("Apertus-8B-Instruct", "<|inner_prefix|>I must look."),
    ];
    for (name, template) in real_templates() {
        let Some((_, expected)) = cases.iter().find(|(case, _)| *case == name) else {
            continue;
        };
        for field in ["reasoning_content", "reasoning", "thinking"] {
            let mut request = ChatRequest::new(exchange(field, ""));
            request.tools = Some(vec![tool().for_template()]);
            let text = template.render_prompt(&request).unwrap();
            assert_eq!(text.matches(expected).count(), 1, "{name}: {text}");
        }
    }
}

#[test]
fn content_and_reasoning_are_joined_if_the_template_accepts_one_of_them() {
    let template = ChatTemplate::new(
        "{{ tools | tojson if tools }}{% for message in messages %}[{{ message.role }}]{% if message.tool_calls %}\
         {% if message.content and message.thinking %}{{ raise_exception('Cannot pass both') }}{% endif %}\
         <think>{{ message.content or message.thinking }}</think>{% set it = message.tool_calls[0].function %}\
         <call>{\"name\": \"{{ it.name }}\", \"arguments\": {{ it.arguments | tojson }}}</call>\
         {% else %}{% if message.thinking %}<think>{{ message.thinking }}</think>{% endif %}{{ message.content }}{% endif %}{% endfor %}",
    )
    .unwrap();
    let mut messages = exchange("reasoning_content", "I look it up.");
    let second = calling(&[("a", json!({})), ("search", json!({"text": "y"}))]);
    let second = second["tool_calls"][1].clone();
    messages[1]["tool_calls"].as_array_mut().unwrap().push(second);
    let mut request = ChatRequest::new(messages);
    request.tools = Some(vec![tool().for_template()]);
    let text = template.render_prompt(&request).unwrap();
    // The second of the calls is in a message of its own.
    assert_eq!(text.matches("I must look.").count(), 1, "{text}");
    assert!(
        text.contains("[assistant]<think>I must look.\n\nI look it up.</think><call>"),
        "{text}"
    );
    assert!(text.contains("[assistant]<think></think><call>"), "{text}");
}

#[test]
fn system_messages_come_before_the_user_message_if_the_template_has_none() {
    let rejecting = "{% if message.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{{ message.content }}";
    let omitting = ChatTemplate::new(
        "{% for message in messages if message.role != 'system' %}[{{ message.role }}]{{ message.content }}{% endfor %}",
    );
    for template in [template(rejecting), omitting.unwrap()] {
        let conversation = |systems: &[&str]| {
            let systems: Vec<_> = systems.iter().map(|text| message("system", text)).collect();
            let others =
                [message("user", "Hi"), message("assistant", "Hello."), message("user", "Why?")];
            rendered(&template, systems.into_iter().chain(others))
        };
        assert_eq!(conversation(&[]), "[user]Hi[assistant]Hello.[user]Why?");
        assert_eq!(
            conversation(&["Be terse."]),
            "[user]Be terse.\n\nHi[assistant]Hello.[user]Why?"
        );
        assert_eq!(conversation(&["A", "B"]), "[user]A\n\nB\n\nHi[assistant]Hello.[user]Why?");
        let greeting =
            [message("system", "A"), message("assistant", "Hello."), message("system", "B")];
        assert_eq!(rendered(&template, greeting), "[user]A[assistant]Hello.[user]B");
        // Explained tools are part of the system message.
        let mut request = ChatRequest::new([message("system", "A"), message("user", "Hi")]);
        request.tools = Some(vec![tool().for_template()]);
        let text = template.render_prompt(&request).unwrap();
        assert!(
            text.starts_with("[user]A\n\n# Tools") && text.ends_with("next message.\n\nHi"),
            "{text}"
        );
    }
    let writing = template("{{ message.content }}");
    let messages = [message("system", "A"), message("user", "Hi")];
    assert_eq!(rendered(&writing, messages), "[system]A[user]Hi");
}

#[test]
fn later_system_messages_come_before_the_user_message_if_the_template_writes_the_first() {
    let first =
        template("{% if message.role != 'system' or loop.first %}{{ message.content }}{% endif %}");
    let messages = || {
        [
            ("system", "A"),
            ("system", "B"),
            ("user", "Hi"),
            ("assistant", "Hello."),
            ("system", "C"),
            ("user", "Why?"),
        ]
        .map(|(role, content)| message(role, content))
    };
    let expected = "[system]A\n\nB[user]Hi[assistant]Hello.[user]C\n\nWhy?";
    assert_eq!(rendered(&first, messages()), expected);
    let after_question = [message("user", "Hi"), message("system", "C")];
    assert_eq!(rendered(&first, after_question), "[user]Hi[user]C");
    let all = template("{{ message.content }}");
    let expected = "[system]A[system]B[user]Hi[assistant]Hello.[system]C[user]Why?";
    assert_eq!(rendered(&all, messages()), expected);
}

#[test]
fn contents_are_parts_if_the_template_writes_only_those() {
    let parts = "{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}";
    let strings = "{{ message.content }}";
    for body in [parts, strings] {
        let messages =
            [message("system", "A"), message("user", "Hi"), message("assistant", "Hello.")];
        assert_eq!(rendered(&template(body), messages), "[system]A[user]Hi[assistant]Hello.");
    }
    let continued = template(parts).render_continuation(ChatRequest::new([
        message("user", "Hi"),
        message("assistant", "Hel"),
    ]));
    assert_eq!(continued.unwrap(), "[user]Hi[assistant]Hel");
}

#[test]
fn tools_need_no_description() {
    let own = ChatTemplate::new(
        "{% for tool in tools or [] %}{{ tool.function.name ~ ': ' + tool.function.description }}{{ tool.function.parameters }}\n\
         {% endfor %}{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}",
    );
    let mut request = ChatRequest::new([message("user", "Hi")]);
    request.tools = Some(vec![tool().for_template()]);
    let text = own.unwrap().render_prompt(&request).unwrap();
    assert!(text.contains("search: {'type'") && text.ends_with("[user]Hi"), "{text}");
    for (name, template) in real_templates().into_iter().chain(own_templates()) {
        let text =
            template.render_prompt(&request).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(text.contains("search"), "{name}: {text}");
        if let Ok(exact) = template.render(&request) {
            let is_empty = |text: &str| text.contains("\"description\": \"\"");
            assert_eq!(is_empty(&text), is_empty(&exact), "{name}: {text}");
        }
    }
}

#[test]
fn ids_of_calls_name_the_tools_if_the_template_writes_nothing_else() {
    let template = ChatTemplate::new(
        "{{ tools | tojson if tools }}{% for message in messages %}<|{{ message.role }}|>{% if message.role == 'tool' %}\
         {{ message.tool_call_id ~ ' returned ' }}{% endif %}{{ message.content }}{% if message.tool_calls %}<|calls|>\
         {% for it in message.tool_calls %}<|call|>{{ it.id }}<|arguments|>{{ it.function.arguments | tojson }}<|call_end|>{% endfor %}\
         <|calls_end|>{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    )
    .unwrap();
    let [question, answer, result] = exchange("reasoning_content", "");
    let (mut answer_without_id, mut result_without_id) = (answer.clone(), result.clone());
    answer_without_id["tool_calls"][0].as_object_mut().unwrap().remove("id");
    result_without_id.as_object_mut().unwrap().remove("tool_call_id");
    let messages = [question, answer, result, answer_without_id, result_without_id];
    let mut request = ChatRequest::new(messages);
    request.tools = Some(vec![tool().for_template()]);
    let text = template.render_prompt(&request).unwrap();
    for index in 0..2 {
        let call =
            format!("<|call|>functions.search:{index}<|arguments|>{{\"text\": \"x\"}}<|call_end|>");
        let result = format!("<|tool|>functions.search:{index} returned Here<|end|>");
        assert!(text.contains(&call) && text.contains(&result), "{text}");
    }
    let form = format!("{:?}", template.answer_form());
    assert!(form.contains("<|call|>functions."), "{form}");
}
