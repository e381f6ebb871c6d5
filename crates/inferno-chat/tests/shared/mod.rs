//! Templates for tests: those of real models, and some of families that are not among them.

#![allow(dead_code, reason = "no test uses all of them")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use inferno_chat::ChatTemplate;
use serde_json::Value;

/// Tags with which templates end turns.
pub const TAG_ENDS: [&str; 16] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "</s>",
    "<|end_of_text|>",
    "<|call|>",
    "<|return|>",
    "<|END_OF_TURN_TOKEN|>",
    "[e~[",
    "<seed:eos>",
    "<SPECIAL_12>",
    "<｜end▁of▁sentence｜>",
    "<|end|>",
    "<|tool_response>",
    "<turn|>",
    "<end_of_turn>",
];

/// The paths of the templates of real models; empty without `INFERNO_ORACLE`.
pub fn template_paths() -> Vec<PathBuf> {
    let Some(oracle) = std::env::var_os("INFERNO_ORACLE") else {
        let _ = writeln!(std::io::stderr(), "skipped: INFERNO_ORACLE is not set");
        return Vec::new();
    };
    let folder = Path::new(&oracle).join("templates");
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jinja"))
        .collect();
    assert!(!files.is_empty(), "no template in {}", folder.display());
    files
}

/// A template of a real model, and the cases that are known of it.
pub fn real_template(path: &Path) -> (ChatTemplate, Value) {
    let answers = fs::read_to_string(path.with_extension("json")).unwrap();
    let answers: Value = serde_json::from_str(&answers).unwrap();
    let special = answers["special"].as_object().unwrap();
    let template = ChatTemplate::new(&fs::read_to_string(path).unwrap())
        .unwrap()
        .with_special_tokens(
            special.iter().map(|(name, text)| (name.as_str(), text.as_str().unwrap())),
        )
        .with_fixed_time(answers["strftime_now"].as_str().unwrap());
    (template, answers)
}

/// The templates of real models, with their names.
pub fn real_templates() -> Vec<(String, ChatTemplate)> {
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    template_paths().iter().map(|path| (name(path), real_template(path).0)).collect()
}

/// How further families write the calls of a message. `name` and `arguments` are those of one call.
const CALLS: [(&str, [&str; 4]); 11] = [
    (
        "elements",
        [
            "",
            "<tool_call>\n<function={{ name }}>\n{% for key, value in arguments | items %}<parameter={{ key }}>\n\
             {{ value if value is string else value | tojson }}\n</parameter>\n{% endfor %}</function>\n</tool_call>",
            "\n",
            "",
        ],
    ),
    (
        "keys",
        [
            "",
            "<tool_call>{{ name }}{% for key, value in arguments | items %}{{ '\n' }}<arg_key>{{ key }}</arg_key>\n\
             <arg_value>{{ value if value is string else value | tojson }}</arg_value>{% endfor %}{{ '\n' }}</tool_call>",
            "\n",
            "",
        ],
    ),
    (
        "phi-4",
        [
            "<|tool_call|>[",
            r#"{"type": "function", "function": {"name": "{{ name }}", "arguments": {{ arguments | tojson }}}}"#,
            ", ",
            "]<|/tool_call|>",
        ],
    ),
    (
        "granite-3",
        [
            "<|tool_call|>[",
            r#"{"arguments": {{ arguments | tojson }}, "name": "{{ name }}"}"#,
            ", ",
            "]",
        ],
    ),
    (
        "pythonic",
        [
            "[",
            "{{ name }}({% for key, value in arguments | items %}{{ key }}={{ value | tojson }}{{ '' if loop.last else ', ' }}{% endfor %})",
            ", ",
            "]",
        ],
    ),
    (
        "olmo-3",
        [
            "<function_calls>",
            "{{ name }}({% for key, value in arguments | items %}{{ key }}={{ value | tojson }}{{ '' if loop.last else ', ' }}{% endfor %})",
            "\n",
            "</function_calls>",
        ],
    ),
    (
        "mistral-v11",
        ["", "[TOOL_CALLS]{{ name }}[CALL_ID]{{ id }}[ARGS]{{ arguments | tojson }}", "", ""],
    ),
    (
        "internlm",
        [
            "",
            r#"<|action_start|><|plugin|>{"name": "{{ name }}", "parameters": {{ arguments | tojson }}}<|action_end|>"#,
            "\n",
            "",
        ],
    ),
    (
        "firefunction",
        [
            " functools[",
            r#"{"name": "{{ name }}", "arguments": {{ arguments | tojson }}}"#,
            ", ",
            "]",
        ],
    ),
    (
        "deepseek-v3",
        [
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ name }}\n```json\n{{ arguments | tojson }}\n```<｜tool▁call▁end｜>",
            "\n",
            "<｜tool▁calls▁end｜>",
        ],
    ),
    (
        "hunyuan",
        [
            "<tool_calls>\n",
            "<tool_call>{{ name }}\n```json\n{{ arguments | tojson }}\n```</tool_call>",
            "\n",
            "\n</tool_calls>",
        ],
    ),
];

/// Templates written for these tests in the forms of further families.
pub fn own_templates() -> Vec<(String, ChatTemplate)> {
    let template = |(name, [open, call, separator, close]): &(&str, [&str; 4])| {
        let set = "{% set name = it.function.name %}{% set arguments = it.function.arguments %}\
                   {% set id = it.id %}";
        let text = |text: &str| format!("{{{{ {} }}}}", Value::from(text));
        let separator = format!("{{% if not loop.last %}}{}{{% endif %}}", text(separator));
        let calls = format!(
            "{{% if message.tool_calls %}}{}{{% for it in message.tool_calls %}}{set}{call}{separator}\
             {{% endfor %}}{}{{% endif %}}",
            text(open),
            text(close)
        );
        let source = format!(
            "{{% if tools %}}<|im_start|>system\n{{{{ tools | tojson }}}}<|im_end|>\n{{% endif %}}\
             {{% for message in messages %}}<|im_start|>{{{{ message.role }}}}\n\
             {{{{ message.content or '' }}}}{calls}<|im_end|>\n{{% endfor %}}\
             {{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}"
        );
        (format!("own {name}"), ChatTemplate::new(&source).unwrap())
    };
    CALLS.iter().map(template).collect()
}
