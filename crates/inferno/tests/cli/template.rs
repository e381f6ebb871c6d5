//! `inferno template`.

use std::fs;
use std::path::PathBuf;

use crate::support::{Run, model, oracle};
use serde_json::{Value, json};
use tempfile::TempDir;

const TEMPLATE: &str = "\
{{ bos_token }}{% for message in messages %}
<{{ message.role }}>{{ message.content }}
{% endfor %}
{% if add_generation_prompt %}
<assistant>
{%- endif %}";

/// A folder with the template in it.
struct Folder(TempDir);

impl Folder {
    fn with_template(template: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("chat.jinja"), template).unwrap();
        Self(folder)
    }

    fn template(&self) -> PathBuf {
        self.0.path().join("chat.jinja")
    }

    /// A run on this template, with the request on standard input.
    fn render(&self, request: &Value) -> Run {
        let run = Run::inferno().args(["template", "--input", "-", "--template-file"]);
        run.args([self.template()]).stdin(request.to_string())
    }
}

fn request() -> Value {
    json!({"messages": [{"role": "user", "content": "Hi \u{1f525} <b>"}], "add_generation_prompt": true})
}

#[test]
fn only_the_prompt_is_printed() {
    let outcome = Folder::with_template(TEMPLATE).render(&request()).success();
    assert_eq!(outcome.stdout, "<user>Hi \u{1f525} <b>\n<assistant>");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn the_request_is_read_from_a_file() {
    let folder = Folder::with_template(TEMPLATE);
    let file = folder.0.path().join("request.json");
    fs::write(&file, request().to_string()).unwrap();
    let run = Run::inferno().args(["template", "--template-file"]).args([folder.template()]);
    assert_eq!(
        run.args(["--input"]).args([file]).success().stdout,
        folder.render(&request()).success().stdout
    );
}

#[test]
fn the_prompt_of_a_reply_is_added_after_other_messages() {
    let folder = Folder::with_template(TEMPLATE);
    let user = json!({"role": "user", "content": "Hi"});
    let assistant = json!({"role": "assistant", "content": "Ho"});
    let rendered = |fields: Value| folder.render(&fields).success().stdout;
    assert_eq!(rendered(json!({"messages": [user]})), "<user>Hi\n<assistant>");
    let explicit = json!({"messages": [user], "add_generation_prompt": false});
    assert_eq!(rendered(explicit), "<user>Hi\n");
    let answered = json!({"messages": [user, assistant]});
    assert_eq!(rendered(answered), "<user>Hi\n<assistant>Ho\n");
}

#[test]
fn special_tokens_and_the_date_are_read_from_the_request() {
    let folder = Folder::with_template("{{ bos_token }}{{ pad_token }}{{ strftime_now('%Y') }}");
    let fields = json!({
        "messages": [], "special_tokens": {"bos_token": "<s>", "pad_token": null},
        "strftime_now": "26 Jul 2026",
    });
    assert_eq!(folder.render(&fields).success().stdout, "<s>26 Jul 2026");
}

#[test]
fn a_template_error_has_its_message_and_line() {
    let folder =
        Folder::with_template("{% if tools %}\n{{ raise_exception('No tools!') }}{% endif %}");
    let mut fields = request();
    assert_eq!(folder.render(&fields).success().stdout, "");
    fields["tools"] = json!([{"type": "function"}]);
    let refused = folder.render(&fields).failure(1);
    assert!(refused.stderr.contains("line 2: No tools!"), "{}", refused.stderr);

    let malformed = Folder::with_template("\n{% for %}").render(&request()).failure(1);
    assert!(malformed.stderr.contains("malformed chat template: line 2"), "{}", malformed.stderr);
}

#[test]
fn chatml_is_built_in() {
    let render = |name: &str| {
        let run = Run::inferno().args(["template", "--input", "-", "--chat-template", name]);
        run.stdin(request().to_string())
    };
    let expected = "<|im_start|>user\nHi \u{1f525} <b><|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(render("chatml").success().stdout, expected);
    let unknown = render("llama3").failure(1).stderr;
    assert!(unknown.contains("no chat template \"llama3\""), "{unknown}");
    assert!(unknown.contains("built-in template chatml"), "{unknown}");
}

#[test]
fn a_model_without_a_chat_template_is_rejected_with_a_hint() {
    let run = Run::inferno().args(["template", "--input", "-", "-m"]).args([model()]);
    let refused = run.stdin(request().to_string()).failure(1);
    assert!(refused.stderr.contains("pass one with --chat-template FILE"), "{}", refused.stderr);
}

#[test]
fn invalid_requests_are_rejected() {
    let folder = Folder::with_template(TEMPLATE);
    let list = folder.render(&json!([])).failure(1);
    assert!(list.stderr.contains("standard input is not a valid JSON object"), "{}", list.stderr);
    let tokens = folder.render(&json!({"messages": [], "special_tokens": {"bos_token": 1}}));
    let tokens = tokens.failure(1);
    assert!(
        tokens.stderr.contains("special_tokens.bos_token must be a string"),
        "{}",
        tokens.stderr
    );
    let run = Run::inferno().args(["template", "--template-file"]).args([folder.template()]);
    let missing = run.failure(2);
    assert!(
        missing.stderr.contains("no conversation specified; pass --input"),
        "{}",
        missing.stderr
    );
}

#[test]
fn real_templates_render_as_in_jinja() {
    let name = "Qwen-Qwen3-0.6B";
    let (Some(template), Some(answers)) =
        (oracle(&format!("templates/{name}.jinja")), oracle(&format!("templates/{name}.json")))
    else {
        return;
    };
    let answers: Value = serde_json::from_str(&fs::read_to_string(answers).unwrap()).unwrap();
    for (case, fields) in answers["inputs"].as_object().unwrap() {
        let mut fields = fields.clone();
        fields["special_tokens"] = answers["special"].clone();
        fields["strftime_now"] = answers["strftime_now"].clone();
        let fields_of_case = fields.as_object_mut().unwrap();
        fields_of_case.entry("add_generation_prompt").or_insert(false.into());
        let run = Run::inferno().args(["template", "--input", "-", "--template-file"]);
        let run = run.args([&template]).stdin(fields.to_string());
        match answers["expected"][case]["ok"].as_str() {
            Some(expected) => assert_eq!(run.success().stdout, expected, "{case}"),
            None => assert_ne!(run.failure(1).stderr, "", "{case}"),
        }
    }
}
