//! `inferno chat` at a terminal.
// `setsid`, which gives a program its own terminal, exists on Linux only.
#![cfg(all(target_os = "linux", feature = "embedded-model"))]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::support::{Run, model};
use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};

const PATIENCE: Duration = Duration::from_secs(60);
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const LEFT: &str = "\x1b[D";
const UP: &str = "\x1b[A";
/// Disables bracketed paste: line editing has ended.
const LINE_HAS_ENDED: &str = "\x1b[?2004l";
/// Nearly uniform sampling, with a seed that samples the end-of-turn token late. Scalar code leaves time to type.
const ENDLESS: [&str; 10] =
    ["--temperature", "100", "--top-p", "1", "--seed", "3", "--isa", "scalar", "--threads", "1"];
const GREEDY: [&str; 1] = ["--greedy"];

/// A user who chats at a terminal.
struct User {
    chat: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// Output that was not matched yet.
    unseen: String,
    terminal: OwnedFd,
    original: Termios,
}

impl User {
    /// Starts a chat whose history is stored in `home`, and waits for the prompt.
    fn start(home: &Path, flags: &[&str]) -> Self {
        let pair = openpty(None, None).expect("a terminal can be opened");
        let original = tcgetattr(&pair.slave).expect("a terminal has settings");
        let chat = Run::program("setsid")
            .args(["--ctty", env!("CARGO_BIN_EXE_inferno"), "chat", "--no-think"])
            .args(flags)
            .env("HOME", home)
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .start_at(&pair.slave);
        let keyboard = File::from(pair.master);
        let mut output = keyboard.try_clone().expect("the terminal can be shared");
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..len].to_vec()).is_err() {
                    break;
                }
            }
        });
        let unseen = String::new();
        let mut user = Self { chat, keyboard, screen, unseen, terminal: pair.slave, original };
        user.sees("Ctrl-D exits");
        user.sees_prompt();
        user
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this text is on the screen, and returns the output before it.
    fn sees(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.unseen.find(text) {
                let rest = self.unseen.split_off(at + text.len());
                let mut seen = std::mem::replace(&mut self.unseen, rest);
                seen.truncate(at);
                return seen;
            }
            match self.screen.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(bytes) => self.unseen += &String::from_utf8_lossy(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{text:?} is missing: {:?}", self.unseen)
                }
            }
        }
    }

    /// Waits for the prompt, and returns the output before it.
    fn sees_prompt(&mut self) -> String {
        self.sees("> ")
    }

    /// Sends a message, and waits until the reply has started. Until then, keys would still belong to the line.
    fn asks(&mut self, message: &str) {
        self.types(message);
        self.types("\r");
        self.sees(LINE_HAS_ENDED);
        self.sees(" ");
    }

    /// Returns whether the terminal has its original settings.
    fn has_original_settings(&self) -> bool {
        tcgetattr(&self.terminal).expect("a terminal has settings") == self.original
    }

    fn exits(mut self) {
        self.types(CTRL_D);
        self.has_exited();
    }

    fn has_exited(mut self) {
        assert_eq!(self.chat.wait().expect("the chat ends").code(), Some(0));
        assert!(self.has_original_settings());
    }
}

#[test]
fn ctrl_c_stops_the_reply_but_not_the_chat() {
    let home = tempfile::tempdir().unwrap();
    let mut user = User::start(home.path(), &ENDLESS);
    for _ in 0..2 {
        user.asks("Tell me a story.");
        user.types(CTRL_C);
        user.sees("stopped; ");
        let summary = user.sees_prompt();
        assert!(summary.contains("of 1024 tokens"), "{summary}");
    }
    user.exits();
}

#[test]
fn ctrl_c_twice_on_an_empty_line_exits() {
    let home = tempfile::tempdir().unwrap();
    let mut user = User::start(home.path(), &GREEDY);
    user.types(CTRL_C);
    user.sees("press Ctrl-C again");
    user.sees_prompt();
    user.asks("What is the capital of France?");
    user.sees("Paris.");
    user.sees_prompt();
    user.types(CTRL_C);
    user.sees("press Ctrl-C again");
    user.sees_prompt();
    user.types(CTRL_C);
    user.has_exited();
}

#[test]
fn text_typed_during_a_reply_belongs_to_the_next_line() {
    let home = tempfile::tempdir().unwrap();
    let mut user = User::start(home.path(), &[&ENDLESS[..], &["-n", "40"]].concat());
    user.asks("Tell me a story.");
    user.types("/stats");
    let answer = user.sees("stopped by --max-tokens");
    assert!(!answer.contains("/stats"), "{answer}");
    user.sees_prompt();
    user.sees("/stats");
    user.types("\r");
    user.sees("generated    40 tokens");
    user.sees_prompt();

    user.asks("Tell me another story.");
    user.types(CTRL_C);
    let answer = user.sees("stopped; ");
    assert!(!answer.contains("^C"), "{answer}");
    user.sees_prompt();
    user.exits();
}

#[test]
fn lines_are_edited_and_stored_in_the_history() {
    let home = tempfile::tempdir().unwrap();
    let question = "What is the capital of France?";
    let mut user = User::start(home.path(), &GREEDY);
    user.types("Where");
    user.types(CTRL_C);
    user.types("What is the capital of Frnce?");
    user.types(&LEFT.repeat("nce?".len()));
    user.types("a\r");
    user.sees("Paris.");
    user.sees_prompt();
    user.exits();

    let mut user = User::start(home.path(), &GREEDY);
    user.types(UP);
    user.sees(question);
    user.types("\r");
    user.sees("Paris.");
    user.sees_prompt();
    user.exits();
}

#[test]
fn pasted_lines_are_one_message() {
    let home = tempfile::tempdir().unwrap();
    let mut user = User::start(home.path(), &GREEDY);
    user.types("\x1b[200~Hello!\nWhat is the capital of France?\x1b[201~\r");
    user.sees("Paris.");
    user.sees_prompt();
    let file = home.path().join("chat.json");
    user.types(&format!("/save {}\r", file.display()));
    user.sees("Conversation saved to");
    user.sees_prompt();
    let saved: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(saved["messages"][0]["content"], "Hello!\nWhat is the capital of France?");
    user.exits();
}

#[test]
fn commands_are_completed() {
    let home = tempfile::tempdir().unwrap();
    let mut user = User::start(home.path(), &GREEDY);
    user.types("/ret\t\r");
    user.sees("there is no reply yet");
    user.sees_prompt();
    user.exits();
}

#[test]
fn control_characters_of_the_model_are_escaped() {
    let pair = openpty(None, None).expect("a terminal can be opened");
    // The vocabulary consists of bytes; 27 is the escape character.
    let run = Run::inferno().args(["generate", "--greedy", "--logit-bias", "27=100", "-n", "3"]);
    let run = run.args(["-m"]).args([model()]).args(["x"]);
    let mut child = run.start_at(&pair.slave);
    drop(pair.slave);
    let mut screen = Vec::new();
    // Reading fails when the other end is closed.
    let _ = File::from(pair.master).read_to_end(&mut screen);
    assert!(child.wait().expect("the program ends").success());
    let screen = String::from_utf8_lossy(&screen);
    assert!(screen.contains("\\u{1b}\\u{1b}\\u{1b}"), "{screen:?}");
    assert!(!screen.contains("\x1b\x1b"), "{screen:?}");
}

#[test]
fn sigterm_restores_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let mut user = User::start(home.path(), &GREEDY);
    user.types("half a li");
    user.sees("half a li");
    let raw = tcgetattr(&user.terminal).unwrap().local_flags;
    assert!(!raw.contains(LocalFlags::ICANON), "line editing reads single keys");
    let id = user.chat.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(user.chat.wait().unwrap().code(), Some(130));
    assert!(user.has_original_settings());
}
