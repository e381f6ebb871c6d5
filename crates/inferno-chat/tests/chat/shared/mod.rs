//! Templates for tests: those of real models, and some of families that are not among them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use inferno_chat::{ChatRequest, ChatTemplate, Tool, Tools};
use serde_json::{Value, json};

/// Tags with which templates end turns.
const TAG_ENDS: [&str; 17] = [
    "<|eot|>",
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

/// Templates whose calls have no tag, so that no content can come before them, or that write content as a turn of its own.
pub const CALLS_ALONE: [&str; 4] =
    ["own pythonic", "own toolace", "own xlam", "NVIDIA-Nemotron-Nano-v2"];

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
const CALLS: &[(&str, [&str; 4])] = &[
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
    (
        "deepseek-v3.2",
        [
            "<｜DSML｜function_calls>\n",
            "<｜DSML｜invoke name=\"{{ name }}\">\n{% for key, value in arguments | items %}<｜DSML｜parameter name=\"{{ key }}\" string=\"\
             {{ 'true' if value is string else 'false' }}\">{{ value if value is string else value | tojson }}</｜DSML｜parameter>\n\
             {% endfor %}</｜DSML｜invoke>",
            "\n",
            "\n</｜DSML｜function_calls>",
        ],
    ),
    (
        "llama-4 python",
        [
            "<|python_start|>[",
            "{{ name }}({% for key, value in arguments | items %}{{ key }}={{ value | tojson }}{{ '' if loop.last else ', ' }}{% endfor %})",
            ", ",
            "]<|python_end|>",
        ],
    ),
    (
        "llama-4",
        [
            "<|python_start|><|python_end|>",
            r#"{"name": "{{ name }}", "parameters": {{ arguments | tojson }}}"#,
            "",
            "",
        ],
    ),
    (
        "apriel",
        [
            "<tool_calls>[",
            r#"{"name": "{{ name }}", "arguments": {{ arguments | tojson }}, "id": "{{ id }}"}"#,
            ", ",
            "]</tool_calls>",
        ],
    ),
    (
        "jamba",
        [
            "<tool_calls>[\n",
            r#"{"name": "{{ name }}", "arguments": {{ arguments | tojson }}}"#,
            ",\n",
            "\n]</tool_calls>",
        ],
    ),
    ("xlam", ["[", r#"{"name": "{{ name }}", "arguments": {{ arguments | tojson }}}"#, ", ", "]"]),
    (
        "exaone",
        [
            "",
            r#"<tool_call>{"name": "{{ name }}", "arguments": {{ arguments | tojson }}}</tool_call>"#,
            "\n",
            "",
        ],
    ),
    (
        "phi-4-mini",
        [
            "<|tool_call|>[",
            r#"{"name": "{{ name }}", "arguments": {{ arguments | tojson }}}"#,
            ", ",
            "]<|/tool_call|>",
        ],
    ),
    (
        "step-3",
        [
            "<｜tool_calls_begin｜>\n",
            "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"{{ name }}\">\n{% for key, value in arguments | items %}\
             <steptml:parameter name=\"{{ key }}\">{{ value if value is string else value | tojson }}</steptml:parameter>\n\
             {% endfor %}</steptml:invoke><｜tool_call_end｜>",
            "\n",
            "\n<｜tool_calls_end｜>",
        ],
    ),
    (
        "longcat",
        [
            "",
            "<longcat_tool_call>{{ name }}\n{% for key, value in arguments | items %}<longcat_arg_key>{{ key }}</longcat_arg_key>\n\
             <longcat_arg_value>{{ value if value is string else value | tojson }}</longcat_arg_value>\n{% endfor %}</longcat_tool_call>",
            "\n",
            "",
        ],
    ),
    (
        "solar",
        [
            "<|tool_calls|>",
            "<|tool_call:begin|>{{ id }}<|tool_call:name|>{{ name }}<|tool_call:args|>{{ arguments | tojson }}<|tool_call:end|>",
            "",
            "",
        ],
    ),
    (
        "mcp",
        [
            "",
            "<use_mcp_tool>\n<server_name>default</server_name>\n<tool_name>{{ name }}</tool_name>\n<arguments>\n\
             {{ arguments | tojson }}\n</arguments>\n</use_mcp_tool>",
            "\n",
            "",
        ],
    ),
    (
        "toolace",
        [
            "[",
            "{{ name }}({% for key, value in arguments | items %}{{ key }}=\
             {{ \"'\" ~ (value | replace('\\\\', '\\\\\\\\') | replace(\"'\", \"\\\\'\")) ~ \"'\" if value is string else value | tojson }}\
             {{ '' if loop.last else ', ' }}{% endfor %})",
            ", ",
            "]",
        ],
    ),
    (
        "command-r-plus",
        [
            "Action: ```json\n[\n",
            "    {\n        \"tool_name\": \"{{ name }}\",\n        \"parameters\": {{ arguments | tojson }}\n    }",
            ",\n",
            "\n]```",
        ],
    ),
    ("functionary-v3.2", ["", ">>>{{ name }}\n{{ arguments | tojson }}", "", ""]),
    (
        "gigachat",
        [
            "<|message_sep|>\n\n",
            "function call<|role_sep|>\n{\"name\": \"{{ name }}\", \"arguments\": {{ arguments | tojson }}}",
            "<|message_sep|>\n\n",
            "",
        ],
    ),
    (
        "elements by name",
        [
            "<tools>\n",
            "<invoke name=\"{{ name }}\">{% for key, value in arguments | items %}<{{ key }}>\
             {{ value if value is string else value | tojson }}</{{ key }}>{% endfor %}</invoke>",
            "\n",
            "\n</tools>",
        ],
    ),
    (
        "minicpm5",
        [
            "",
            "<function name=\"{{ name }}\">{% for key, value in arguments | items %}<param name=\"{{ key }}\">\
             {% if value is string and ('<' in value or '\n' in value) %}<![CDATA[{{ value }}]]>\
             {% else %}{{ value if value is string else value | tojson }}{% endif %}</param>{% endfor %}</function>",
            "\n",
            "",
        ],
    ),
    (
        "minimax-m3",
        [
            "]<]minimax[>[<tool_call>\n",
            "]<]minimax[>[<invoke name=\"{{ name }}\">{% for key, value in arguments | items %}]<]minimax[>[<{{ key }}>\
             {{ value if value is string else value | tojson }}]<]minimax[>[</{{ key }}>{% endfor %}]<]minimax[>[</invoke>",
            "\n",
            "\n]<]minimax[>[</tool_call>",
        ],
    ),
];

/// Templates of families whose messages have a frame of their own.
const FRAMES: &[(&str, &str)] = &[
    (
        "functionary-v3.2 frame",
        "{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n{% if message.role == 'assistant' %}\
         {% if message.content %}>>>all\n{{ message.content }}{% endif %}{% for it in message.tool_calls or [] %}\
         >>>{{ it.function.name }}\n{{ it.function.arguments | tojson }}{% endfor %}{% else %}{{ message.content }}{% endif %}\
         <|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n>>>{% endif %}",
    ),
    (
        "functiongemma frame",
        "{% macro literal(value, key_quote) %}{% if value is string %}<escape>{{ value }}<escape>{% elif value is mapping %}\
         {{ '{' }}{% for key, item in value | items %}{{ key_quote ~ key ~ key_quote }}:{{ literal(item, '<escape>') }}\
         {{ '' if loop.last else ',' }}{% endfor %}}{% elif value is iterable %}[{% for item in value %}\
         {{ literal(item, '<escape>') }}{{ '' if loop.last else ',' }}{% endfor %}]{% else %}{{ value | tojson }}{% endif %}{% endmacro %}\
         {% for message in messages %}<start_of_turn>{{ message.role }}\n{{ message.content or '' }}\
         {% for it in message.tool_calls or [] %}<start_function_call>call:{{ it.function.name }}\
         {{ literal(it.function.arguments, '') }}<end_function_call>{% endfor %}<end_of_turn>\n{% endfor %}\
         {% if add_generation_prompt %}<start_of_turn>assistant\n{% endif %}",
    ),
    (
        "glm-4 frame",
        "{% for message in messages %}{% if message.role != 'assistant' or message.content %}<|{{ message.role }}|>\n\
         {{ message.content }}{% endif %}{% for it in message.tool_calls or [] %}<|assistant|>{{ it.function.name }}\n\
         {{ it.function.arguments | tojson }}{% endfor %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    ),
    (
        "llama-4 frame",
        "{% for message in messages %}<|header_start|>{{ message.role }}<|header_end|>\n\n{% if message.tool_calls %}<|python_start|>\
         {{ message.content or '' }}<|python_end|>{% for it in message.tool_calls %}{\"name\": \"{{ it.function.name }}\", \
         \"parameters\": {{ it.function.arguments | tojson }}}{% endfor %}{% else %}{{ message.content }}{% endif %}<|eot|>{% endfor %}\
         {% if add_generation_prompt %}<|header_start|>assistant<|header_end|>\n\n{% endif %}",
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
    let frame = |(name, source): &(&str, &str)| {
        let tools = "{% if tools %}{{ tools | tojson }}{% endif %}";
        (format!("own {name}"), ChatTemplate::new(&format!("{tools}{source}")).unwrap())
    };
    CALLS.iter().map(template).chain(FRAMES.iter().map(frame)).collect()
}

const USER: &str = "What now?";

fn request(tools: &Tools, messages: &[Value], add_generation_prompt: bool) -> ChatRequest {
    let mut request = ChatRequest::new(messages.iter().cloned());
    request.tools = Some(tools.list.iter().map(Tool::for_template).collect());
    request.add_generation_prompt = add_generation_prompt;
    request.set("enable_thinking", true);
    request
}

/// What a template writes for an answer: the text after the prompt, without the end of the turn; and whether it begins inside of
/// reasoning. `None` if the template rejects the answer.
pub fn written(template: &ChatTemplate, tools: &Tools, answer: &Value) -> Option<(String, bool)> {
    let user = json!({"role": "user", "content": USER});
    let full =
        template.render_prompt(&request(tools, &[user.clone(), answer.clone()], false)).ok()?;
    let prompt = template.render_prompt(&request(tools, &[user], true)).ok()?;
    let pairs = full.char_indices().zip(prompt.chars());
    let mut start =
        pairs.take_while(|((_, a), b)| a == b).last().map_or(0, |((at, c), _)| at + c.len_utf8());
    // Not in the middle of a tag.
    if let Some(open) = full[..start].rfind('<')
        && !full[open..start].contains('>')
    {
        start = open;
    }
    let mut text = full[start..].to_owned();
    // Some templates always write the beginning of the next answer.
    if let Some(rest) = prompt.split_once(USER).and_then(|(_, header)| text.strip_suffix(header)) {
        text = rest.to_owned();
    }
    // One template writes the start of the next answer.
    text.truncate(text.find("<｜end▁of▁sentence｜>").unwrap_or(text.len()));
    while let Some(rest) = TAG_ENDS.iter().find_map(|end| text.trim_end().strip_suffix(end)) {
        text = rest.to_owned();
    }
    let is_reasoning = ["<think>", "[THINK]", "<|START_THINKING|>"]
        .iter()
        .any(|tag| full[..start].trim_end().ends_with(tag));
    Some((text, is_reasoning))
}

/// An assistant message with these calls.
pub fn calling(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<_> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            let function = json!({"name": name, "arguments": arguments});
            json!({"id": format!("call{index:05}"), "type": "function", "function": function})
        })
        .collect();
    json!({"role": "assistant", "content": "", "tool_calls": calls})
}

/// The tokens of single bytes in byte-level vocabularies, which write bytes that are not printable as other characters.
pub fn byte_tokens() -> Vec<String> {
    let mut others = 256..;
    let letter = |byte: u32| match byte {
        33..=126 | 161..=172 | 174..=255 => char::from_u32(byte),
        _ => others.next().and_then(char::from_u32),
    };
    (0..256).filter_map(letter).map(String::from).collect()
}
