//! `inferno generate --chat`.

use std::fs;
use std::path::PathBuf;

use crate::support::{Run, model, oracle};
use serde_json::json;
use tempfile::TempDir;

const TEMPLATE: &str = "\
{% for message in messages %}
<|im_start|>{{ message.role }}: {{ message.content }}<|im_end|>
{% endfor %}
{% if add_generation_prompt %}<|im_start|>assistant:
{%- if enable_thinking is defined and not enable_thinking %} <think></think>{% endif %}
{%- if enable_thinking is defined and enable_thinking %} Hm.{% endif %}
{% endif %}";

fn greedy() -> Run {
    let flags = ["generate", "--greedy", "--max-tokens", "24", "--ignore-eos", "-m"];
    Run::inferno().args(flags).args([model()])
}

/// The reply to a rendered prompt.
fn answer_to(text: &str) -> String {
    greedy().args([text]).success().stdout
}

fn template() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.jinja");
    fs::write(&path, TEMPLATE).unwrap();
    (folder, path)
}

#[test]
fn the_prompt_becomes_a_message() {
    let (folder, template) = template();
    let chat = || greedy().args(["--chat", "--chat-template"]).args([&template]);
    let asked = "<|im_start|>user: Hi<|im_end|>\n<|im_start|>assistant:";
    assert_eq!(chat().args(["Hi"]).success().stdout, answer_to(asked));
    assert_eq!(chat().stdin("Hi").success().stdout, answer_to(asked));

    let system = format!("<|im_start|>system: Be brief.<|im_end|>\n{asked}");
    assert_eq!(chat().args(["--system", "Be brief.", "Hi"]).success().stdout, answer_to(&system));

    let no_think = format!("{asked} <think></think>");
    assert_eq!(chat().args(["--no-think", "Hi"]).success().stdout, answer_to(&no_think));
    let thinks = format!("{asked} Hm.");
    assert_eq!(chat().args(["--think", "Hi"]).success().stdout, answer_to(&thinks));
    // The command line overrides the environment, which overrides the file.
    fs::write(folder.path().join("inferno.toml"), "think = true").unwrap();
    let configured = || chat().current_dir(folder.path());
    assert_eq!(configured().args(["Hi"]).success().stdout, answer_to(&thinks));
    let overridden = configured().args(["--no-think", "Hi"]).success();
    assert_eq!(overridden.stdout, answer_to(&no_think));
    let environment = configured().env("INFERNO_NO_THINK", "1");
    assert_eq!(environment.args(["Hi"]).success().stdout, answer_to(&no_think));
    let environment = chat().env("INFERNO_NO_THINK", "1").args(["--think", "Hi"]).success();
    assert_eq!(environment.stdout, answer_to(&thinks));
}

#[test]
fn a_conversation_is_read_from_a_file() {
    let (folder, template) = template();
    let request = json!({
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Ho"},
            {"role": "user", "content": "Ha"},
        ],
        "enable_thinking": false,
    });
    let file = folder.path().join("request.json");
    fs::write(&file, request.to_string()).unwrap();
    let chat = || greedy().args(["--chat", "--chat-template"]).args([&template]).args(["--input"]);
    let text = "<|im_start|>user: Hi<|im_end|>\n<|im_start|>assistant: Ho<|im_end|>\n\
                <|im_start|>user: Ha<|im_end|>\n<|im_start|>assistant: <think></think>";
    assert_eq!(chat().args([file]).success().stdout, answer_to(text));
    assert_eq!(chat().args(["-"]).stdin(request.to_string()).success().stdout, answer_to(text));
    let messages = chat().args(["-", "--no-think"]).stdin(request["messages"].to_string());
    assert_eq!(messages.success().stdout, answer_to(text));
    let variables = json!({
        "messages": request["messages"],
        "chat_template_kwargs": {"enable_thinking": false},
    });
    assert_eq!(chat().args(["-"]).stdin(variables.to_string()).success().stdout, answer_to(text));
}

#[test]
fn fields_for_servers_are_ignored_with_a_note() {
    let (_folder, template) = template();
    let mut request = json!({"messages": [{"role": "user", "content": "Hi"}]});
    let chat = |request: &serde_json::Value| {
        let run = greedy().args(["--chat", "--input", "-", "--chat-template"]).args([&template]);
        run.stdin(request.to_string()).success()
    };
    let plain = chat(&request);
    assert_eq!(plain.stderr, "");
    request["max_tokens"] = 2.into();
    request["stop"] = json!(["H"]);
    request["seed"] = serde_json::Value::Null;
    let noted = chat(&request);
    assert_eq!(noted.stdout, plain.stdout);
    let note = "note: ignoring fields of the input that options set: max_tokens, stop; use --max-tokens, --stop\n";
    assert_eq!(noted.stderr, note);
}

#[test]
fn conversations_that_no_model_knows_are_rejected() {
    let (_folder, template) = template();
    for (messages, expected) in [
        (json!([]), "messages is empty; it must contain at least one message"),
        (json!([{"role": "bob", "content": "Hi"}]), "messages[0].role must be system, developer,"),
    ] {
        let chat = greedy().args(["--chat", "--input", "-", "--chat-template"]).args([&template]);
        let refused = chat.stdin(json!({"messages": messages}).to_string()).failure(1);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

#[test]
fn bos_in_the_template_is_not_added_twice() {
    let (Some(model), Some(story)) =
        (oracle("models/stories260K.gguf"), oracle("models/stories260K.greedy-200.txt"))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("chat.jinja");
    fs::write(&template, "{{ bos_token }}{{ messages[0].content }}").unwrap();
    let run = Run::inferno().args(["generate", "--chat", "--greedy", "-n", "200", "-m"]);
    let run = run.args([model]).args(["--chat-template"]).args([template]);
    let expected = fs::read_to_string(story).unwrap();
    assert_eq!(run.args([""]).success().stdout.trim(), expected.trim());
}

#[test]
fn a_model_without_a_chat_template_is_rejected_with_a_hint() {
    let refused = greedy().args(["--chat", "Hi"]).failure(1);
    assert!(refused.stderr.contains("pass one with --chat-template FILE"), "{}", refused.stderr);
}

#[test]
fn a_failing_template_is_reported_before_generation() {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("chat.jinja");
    fs::write(&template, "{{ raise_exception('Not like this.') }}").unwrap();
    let chat = greedy().args(["--chat", "--chat-template"]).args([template]).args(["Hi"]);
    let refused = chat.failure(1);
    assert!(refused.stderr.contains("line 1: Not like this."), "{}", refused.stderr);
}

#[test]
fn conflicting_options_are_rejected() {
    for flags in [
        &["--chat", "--no-special", "Hi"][..],
        &["--chat", "--input", "request.json", "Hi"],
        &["--chat", "--input", "request.json", "--prompt-file", "prompt.txt"],
        &["--chat", "--input", "request.json", "--system", "Be brief."],
    ] {
        let refused = greedy().args(flags).failure(2);
        assert!(refused.stderr.contains("cannot be used with"), "{flags:?}: {}", refused.stderr);
    }
    let session = greedy().args(["--chat", "--load-session", "session.bin", "Hi"]).failure(2);
    assert!(session.stderr.contains("/load in inferno chat"), "{}", session.stderr);
    for flags in [
        &["--system", "Be brief.", "Hi"][..],
        &["--input", "request.json"],
        &["--no-think", "Hi"],
        &["--think", "Hi"],
        &["--chat-template", "chat.jinja", "Hi"],
    ] {
        let refused = greedy().args(flags).failure(2);
        let message = format!("{} requires --chat", flags[0]);
        assert!(refused.stderr.contains(&message), "{flags:?}: {}", refused.stderr);
    }
}
