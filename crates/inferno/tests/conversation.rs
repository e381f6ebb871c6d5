//! `inferno chat`, with lines from a pipe.

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use support::{Outcome, Run, model};
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

    /// A chat in which these lines are typed.
    fn chat(&self, lines: &[&str]) -> Run {
        self.run("chat").current_dir(self.folder.path()).stdin(lines.join("\n"))
    }

    /// The answer to messages of the user and the assistant in turn, computed from nothing.
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
fn each_line_is_answered_with_all_that_was_said_before() {
    let setup = Setup::new();
    let first = setup.answer(None, &["Hi"]);
    let second = setup.answer(None, &["Hi", &first, "Ho"]);
    let outcome = setup.chat(&["Hi", "", "Ho"]).success();
    assert_eq!(lines(&outcome), [first, second]);
    assert_eq!(outcome.stderr, "");
}

#[test]
fn only_what_is_new_is_computed() {
    let setup = Setup::new();
    let outcome = setup.chat(&["Hi", "/stats", "Ho", "/stats"]).success();
    let computed: Vec<&str> =
        outcome.stderr.lines().filter(|line| line.starts_with("prompt ")).collect();
    // A token each: the marks, and all bytes. The answer is held already.
    let turn = |text: &str| 1 + "user\n".len() + text.len() + 1 + 1 + 1 + "assistant\n".len();
    let (first, second) = (turn("Hi"), 1 + 1 + turn("Ho"));
    assert!(computed[0].starts_with(&format!("prompt       {first} tokens")), "{computed:?}");
    assert!(computed[1].starts_with(&format!("prompt       {second} tokens")), "{computed:?}");
}

#[test]
fn the_system_message_may_change_and_may_go() {
    let setup = Setup::new();
    let first = setup.answer(Some("Be brief."), &["Hi"]);
    let second = setup.answer(Some("Be long."), &["Hi", &first, "Ho"]);
    let third = setup.answer(None, &["Hi", &first, "Ho", &second, "Ha"]);
    let script = ["Hi", "/system Be long.", "Ho", "/system", "Ha"];
    let outcome = setup.chat(&script).args(["--system", "Be brief."]).success();
    assert_eq!(lines(&outcome), [first, second, third]);
}

#[test]
fn an_answer_may_be_had_again_and_all_may_be_forgotten() {
    let setup = Setup::new();
    let first = setup.answer(None, &["Hi"]);
    let second = setup.answer(None, &["Hi", &first, "Ho"]);
    let outcome = setup.chat(&["Hi", "/retry", "Ho", "/reset", "Hi"]).success();
    assert_eq!(lines(&outcome), [&first, &first, &second, &first]);
}

#[test]
fn a_model_may_be_told_not_to_think() {
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
fn a_conversation_is_saved_and_gone_on_with() {
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
fn a_conversation_is_saved_over_nothing_else() {
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
fn the_oldest_exchanges_are_left_out_where_they_do_not_fit_and_this_is_said() {
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
fn a_message_that_cannot_fit_is_refused_and_the_chat_goes_on() {
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
fn a_line_that_cannot_be_obeyed_is_refused_and_the_chat_goes_on() {
    let setup = Setup::new();
    let script =
        ["/quit", "/retry", "/stats", "/think maybe", "/load nothing.json", "Hi", "/exit", "Ho"];
    let outcome = setup.chat(&script).outcome();
    assert_eq!(lines(&outcome), [setup.answer(None, &["Hi"])]);
    assert_eq!(outcome.code, Some(1));
    for message in [
        "error: unknown command /quit",
        "error: there is no reply yet",
        "error: invalid argument, usage: /think on|off",
        "error: nothing.json: ",
    ] {
        assert!(outcome.stderr.contains(message), "{message}: {}", outcome.stderr);
    }
}

#[test]
fn a_template_that_refuses_a_message_says_so_and_the_chat_goes_on() {
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
fn a_model_without_a_template_is_refused_before_it_is_loaded() {
    let refused = Run::inferno().args(["chat", "-m"]).args([model()]).failure(1);
    assert!(refused.stderr.contains("pass one with --chat-template FILE"), "{}", refused.stderr);
}

#[test]
fn each_answer_has_a_seed_of_its_own() {
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
