//! `inferno chat` with piped input.

use std::fs;
use std::path::PathBuf;

use crate::support::{Outcome, Run, model};
use serde_json::{Value, json};
use tempfile::TempDir;

const TEMPLATE: &str = "\
{% for message in messages %}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think></think>
{% endif %}
{% endif %}";

const GREEDY: [&str; 5] = ["--greedy", "--kv-dtype", "f32", "--max-tokens", "12"];

/// A folder with the template.
struct Setup {
    folder: TempDir,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("chat.jinja"), TEMPLATE).unwrap();
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, command: &str) -> Run {
        let run = Run::inferno().args([command]).args(GREEDY).args(["-m"]).args([model()]);
        run.args(["--chat-template"]).args([self.file("chat.jinja")])
    }

    /// Runs a chat with these input lines.
    fn chat(&self, lines: &[&str]) -> Run {
        self.run("chat").current_dir(self.folder.path()).stdin(lines.join("\n"))
    }

    /// Returns the reply to alternating messages, computed by a separate process.
    fn answer(&self, system: Option<&str>, messages: &[&str]) -> String {
        let system = system.map(|text| json!({"role": "system", "content": text}));
        let roles = ["user", "assistant"].into_iter().cycle();
        let turns = roles.zip(messages).map(|(role, text)| json!({"role": role, "content": text}));
        let messages: Vec<Value> = system.into_iter().chain(turns).collect();
        let input = self.file("request.json");
        fs::write(&input, json!({ "messages": messages }).to_string()).unwrap();
        let run = self.run("generate").args(["--chat", "--input"]).args([input]);
        let mut text = run.success().stdout;
        assert_eq!(text.pop(), Some('\n'));
        text
    }
}

fn lines(outcome: &Outcome) -> Vec<&str> {
    outcome.stdout.lines().collect()
}

#[test]
fn every_reply_depends_on_the_whole_conversation() {
    let setup = Setup::new();
    let first = setup.answer(None, &["Hi"]);
    let second = setup.answer(None, &["Hi", &first, "Ho"]);
    let outcome = setup.chat(&["Hi", "", "Ho"]).success();
    assert_eq!(lines(&outcome), [first, second]);
    assert_eq!(outcome.stderr, "");
}

#[test]
fn triple_quotes_enclose_a_message_of_several_lines() {
    let setup = Setup::new();
    let reply = setup.answer(None, &["Hi\n/exit\n\nHo"]);
    let outcome = setup.chat(&["\"\"\"", "Hi", "/exit", "", "Ho", "\"\"\""]).success();
    assert_eq!(outcome.stdout, reply + "\n");
}

#[test]
fn only_new_tokens_are_computed() {
    let setup = Setup::new();
    let outcome = setup.chat(&["Hi", "/stats", "Ho", "/stats"]).success();
    let computed: Vec<&str> =
        outcome.stderr.lines().filter(|line| line.starts_with("prompt ")).collect();
    // A token each: the marks, and all bytes. The answer is held already, except its last token.
    let turn = |text: &str| 1 + "user\n".len() + text.len() + 1 + 1 + 1 + "assistant\n".len();
    let (first, added) = (turn("Hi"), 1 + 1 + turn("Ho"));
    let start = format!("prompt       {first} tokens, {first} computed");
    assert!(computed[0].starts_with(&start), "{computed:?}");
    let [total, new]: [usize; 2] = {
        let numbers = computed[1].split_whitespace().filter_map(|word| word.parse().ok());
        numbers.collect::<Vec<_>>()[..2].try_into().unwrap()
    };
    assert!(total > first + added, "{computed:?}");
    assert!((added..=added + 1).contains(&new), "{computed:?}");
}

#[test]
fn the_system_prompt_can_be_changed_and_cleared() {
    let setup = Setup::new();
    let first = setup.answer(Some("Be brief."), &["Hi"]);
    let second = setup.answer(Some("Be long."), &["Hi", &first, "Ho"]);
    let third = setup.answer(None, &["Hi", &first, "Ho", &second, "Ha"]);
    let script = ["Hi", "/system Be long.", "Ho", "/system", "Ha"];
    let outcome = setup.chat(&script).args(["--system", "Be brief."]).success();
    assert_eq!(lines(&outcome), [first, second, third]);
}

#[test]
fn a_reply_can_be_regenerated_and_the_conversation_cleared() {
    let setup = Setup::new();
    let first = setup.answer(None, &["Hi"]);
    let second = setup.answer(None, &["Hi", &first, "Ho"]);
    let outcome = setup.chat(&["Hi", "/retry", "Ho", "/reset", "Hi"]).success();
    assert_eq!(lines(&outcome), [&first, &first, &second, &first]);
}

#[test]
fn reasoning_can_be_disabled() {
    let setup = Setup::new();
    let no_think = setup.run("generate").args(["--chat", "--no-think", "Hi"]).success().stdout;
    let think = setup.run("generate").args(["--chat", "Hi"]).success().stdout;
    let outcome = setup.chat(&["Hi", "/think on", "/reset", "Hi"]).args(["--no-think"]).success();
    assert_eq!(outcome.stdout, no_think + &think);

    fs::write(setup.file("chat.jinja"), "{{ messages[-1].content }}").unwrap();
    let outcome = setup.chat(&["/think off"]).success();
    assert!(
        outcome.stderr.contains("has no reasoning switch (enable_thinking)"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_saved_conversation_can_be_continued() {
    let setup = Setup::new();
    let first = setup.answer(Some("Be brief."), &["Hi"]);
    let second = setup.answer(Some("Be brief."), &["Hi", &first, "Ho"]);
    let chat = setup.chat(&["Hi", "/save saved chat.json"]).args(["--system", "Be brief."]);
    chat.success();
    let saved = fs::read_to_string(setup.file("saved chat.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": first},
    ]);
    assert_eq!((&saved["model"], &saved["messages"]), (&"tiny random qwen3".into(), &messages));

    let outcome = setup.chat(&["/load saved chat.json", "Ho", "/save saved chat.json"]).success();
    assert_eq!(lines(&outcome), [second]);
}

#[test]
fn a_conversation_of_the_chat_page_can_be_continued() {
    let setup = Setup::new();
    let file = |messages: Value| {
        let text = json!({ "model": "ember", "messages": messages }).to_string();
        fs::write(setup.file("exported.json"), text).unwrap();
    };
    let message = |role: &str, content: &str| json!({ "role": role, "content": content });
    file(json!([message("user", "Hi"), message("user", "Ho")]));
    let first = setup.answer(None, &["Hi\n\nHo"]);
    let second = setup.answer(None, &["Hi\n\nHo", &first, "Ha"]);
    let outcome = setup.chat(&["/load exported.json", "Ha"]).success();
    assert_eq!(lines(&outcome), [first, second], "the unanswered message is answered");

    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let calls = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    let result = json!({"role": "tool", "content": "4", "tool_call_id": "a"});
    file(json!([message("user", "Hi"), calls, result]));
    let refused = setup.chat(&["/load exported.json"]).outcome();
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    let expected = "error: exported.json: messages[1] has a tool call or the result of one, which a chat cannot continue; use \
                    inferno generate --chat --input exported.json\n";
    assert_eq!(refused.stderr, expected);
    let input = setup.file("exported.json");
    setup.run("generate").args(["--chat", "--input"]).args([input]).success();
}

#[test]
fn saving_overwrites_only_saved_conversations() {
    let setup = Setup::new();
    let own = setup.file("own.gguf");
    fs::copy(model(), &own).unwrap();
    let refused = setup.chat(&["/save own.gguf", "/save chat.jinja", "/save ."]).outcome();
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    for name in ["own.gguf", "chat.jinja"] {
        let message = format!("error: {name} exists and is not a conversation");
        assert!(refused.stderr.contains(&message), "{}", refused.stderr);
    }
    assert!(refused.stderr.contains("error: . is not a regular file"), "{}", refused.stderr);
    assert_eq!(fs::read(own).unwrap(), fs::read(model()).unwrap());
    assert_eq!(fs::read_to_string(setup.file("chat.jinja")).unwrap(), TEMPLATE);
}

#[test]
fn the_oldest_exchanges_are_dropped_with_a_note() {
    let setup = Setup::new();
    let system = Some("Be brief.");
    let first = setup.answer(system, &["One"]);
    let second = setup.answer(system, &["One", &first, "Two"]);
    let third = setup.answer(system, &["Two", &second, "Three"]);
    let chat = setup.chat(&["One", "Two", "Three", "/save all.json"]);
    let outcome = chat.args(["--system", "Be brief.", "--context", "112"]).success();
    assert_eq!(lines(&outcome), [&first, &second, &third]);
    let note = "note: the conversation exceeds the context of 112 tokens; \
                the oldest exchange was dropped from the prompt\n";
    assert_eq!(outcome.stderr, note);
    let saved = fs::read_to_string(setup.file("all.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(saved["messages"].as_array().map(Vec::len), Some(7));
}

#[test]
fn the_chat_continues_after_a_message_that_does_not_fit() {
    let setup = Setup::new();
    let first = setup.answer(None, &["Hi"]);
    let second = setup.answer(None, &["Hi", &first, "Ho"]);
    let long = "x".repeat(150);
    let outcome = setup.chat(&["Hi", &long, "Ho"]).args(["--context", "128"]).outcome();
    assert_eq!(lines(&outcome), [first, second]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("but the context holds 128"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("dropped"), "{}", outcome.stderr);
}

#[test]
fn the_chat_continues_after_an_invalid_line() {
    let setup = Setup::new();
    let script =
        ["/quits", "/retry", "/stats", "/think maybe", "/load nothing.json", "Hi", "/exit", "Ho"];
    let outcome = setup.chat(&script).outcome();
    assert_eq!(lines(&outcome), [setup.answer(None, &["Hi"])]);
    assert_eq!(outcome.code, Some(1));
    for message in [
        "error: unknown command /quits",
        "error: there is no reply yet",
        "error: invalid argument, usage: /think on|off",
        "error: nothing.json: ",
    ] {
        assert!(outcome.stderr.contains(message), "{message}: {}", outcome.stderr);
    }
}

#[test]
fn the_chat_continues_after_a_template_error() {
    let setup = Setup::new();
    let template =
        "{% if messages[-1].content == 'No' %}{{ raise_exception('Not that.') }}{% endif %}";
    fs::write(setup.file("chat.jinja"), template.to_owned() + TEMPLATE).unwrap();
    let first = setup.answer(None, &["Hi"]);
    let outcome = setup.chat(&["No", "Hi"]).outcome();
    assert_eq!((lines(&outcome), outcome.code), (vec![first.as_str()], Some(1)));
    assert!(outcome.stderr.contains("Not that."), "{}", outcome.stderr);
}

#[test]
fn a_model_without_a_template_is_rejected_before_loading() {
    let refused = Run::inferno().args(["chat", "-m"]).args([model()]).failure(1);
    assert!(refused.stderr.contains("pass one with --chat-template FILE"), "{}", refused.stderr);
}

#[test]
fn every_reply_has_its_own_seed() {
    let setup = Setup::new();
    let chat = || {
        let run = Run::inferno().args(["chat", "--seed", "7", "-n", "12", "-m"]).args([model()]);
        let run = run.args(["--chat-template"]).args([setup.file("chat.jinja")]);
        run.stdin("Hi\n/retry\n").success()
    };
    let outcome = chat();
    let [first, again] = lines(&outcome)[..] else { panic!("{}", outcome.stdout) };
    assert_ne!(first, again);
    assert_eq!(chat().stdout, outcome.stdout);
}
