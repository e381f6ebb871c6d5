//! `inferno chat` at a terminal.
// What `setsid` does, giving a program a terminal of its own, has another name elsewhere.
#![cfg(all(target_os = "linux", feature = "embedded-model"))]

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};
use support::Run;

const PATIENCE: Duration = Duration::from_secs(60);
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const LEFT: &str = "\x1b[D";
const UP: &str = "\x1b[A";
/// Pasted text is no longer marked: nothing is edited any more.
const LINE_HAS_ENDED: &str = "\x1b[?2004l";
/// Almost any token is as likely as the one that ends an answer, and the seed is one that finds it late; without vectors there is
/// time to type.
const ENDLESS: [&str; 10] =
    ["--temperature", "100", "--top-p", "1", "--seed", "3", "--isa", "scalar", "--threads", "1"];
const GREEDY: [&str; 1] = ["--greedy"];

/// Somebody at a terminal, who chats.
struct Person {
    chat: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// What came on the screen and was not asked for yet.
    unseen: String,
    terminal: OwnedFd,
    found: Termios,
}

impl Person {
    /// Begins a chat whose history is kept in `home`, and waits until it asks for a line.
    fn begins(home: &Path, flags: &[&str]) -> Self {
        let pair = openpty(None, None).expect("there are terminals");
        let found = tcgetattr(&pair.slave).expect("a terminal has settings");
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
        let mut person = Self { chat, keyboard, screen, unseen, terminal: pair.slave, found };
        person.sees("Ctrl-D exits");
        person.sees_prompt();
        person
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this is on the screen, and gives what came before it.
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
                    panic!("{text:?} does not come: {:?}", self.unseen)
                }
            }
        }
    }

    /// Waits until a line may be typed, and gives what came before.
    fn sees_prompt(&mut self) -> String {
        self.sees("> ")
    }

    /// Sends a message, and waits until the answer has begun. Before that, keys would still be a part of the line.
    fn asks(&mut self, message: &str) {
        self.types(message);
        self.types("\r");
        self.sees(LINE_HAS_ENDED);
        self.sees(" ");
    }

    /// Whether the terminal is as it was found.
    fn has_terminal_back(&self) -> bool {
        tcgetattr(&self.terminal).expect("a terminal has settings") == self.found
    }

    fn leaves(mut self) {
        self.types(CTRL_D);
        self.has_left();
    }

    fn has_left(mut self) {
        assert_eq!(self.chat.wait().expect("the chat ends").code(), Some(0));
        assert!(self.has_terminal_back());
    }
}

#[test]
fn an_answer_comes_bit_by_bit_and_ctrl_c_stops_it_and_not_the_chat() {
    let home = tempfile::tempdir().unwrap();
    let mut person = Person::begins(home.path(), &ENDLESS);
    for _ in 0..2 {
        person.asks("Tell me a story.");
        person.types(CTRL_C);
        person.sees("stopped; ");
        let summary = person.sees_prompt();
        assert!(summary.contains("of 1024 tokens"), "{summary}");
    }
    person.leaves();
}

#[test]
fn ctrl_c_on_an_empty_line_leaves_when_it_comes_twice() {
    let home = tempfile::tempdir().unwrap();
    let mut person = Person::begins(home.path(), &GREEDY);
    person.types(CTRL_C);
    person.sees("press Ctrl-C again");
    person.sees_prompt();
    person.asks("What is the capital of France?");
    person.sees("Paris.");
    person.sees_prompt();
    person.types(CTRL_C);
    person.sees("press Ctrl-C again");
    person.sees_prompt();
    person.types(CTRL_C);
    person.has_left();
}

#[test]
fn what_is_typed_during_an_answer_is_the_next_line_and_not_in_the_answer() {
    let home = tempfile::tempdir().unwrap();
    let mut person = Person::begins(home.path(), &[&ENDLESS[..], &["-n", "40"]].concat());
    person.asks("Tell me a story.");
    person.types("/stats");
    let answer = person.sees("stopped by --max-tokens");
    assert!(!answer.contains("/stats"), "{answer}");
    person.sees_prompt();
    person.sees("/stats");
    person.types("\r");
    person.sees("generated    40 tokens");
    person.sees_prompt();

    person.asks("Tell me another story.");
    person.types(CTRL_C);
    let answer = person.sees("stopped; ");
    assert!(!answer.contains("^C"), "{answer}");
    person.sees_prompt();
    person.leaves();
}

#[test]
fn a_line_can_be_edited_and_is_remembered_in_the_next_chat() {
    let home = tempfile::tempdir().unwrap();
    let question = "What is the capital of France?";
    let mut person = Person::begins(home.path(), &GREEDY);
    person.types("Where");
    person.types(CTRL_C);
    person.types("What is the capital of Frnce?");
    person.types(&LEFT.repeat("nce?".len()));
    person.types("a\r");
    person.sees("Paris.");
    person.sees_prompt();
    person.leaves();

    let mut person = Person::begins(home.path(), &GREEDY);
    person.types(UP);
    person.sees(question);
    person.types("\r");
    person.sees("Paris.");
    person.sees_prompt();
    person.leaves();
}

#[test]
fn pasted_lines_are_one_message() {
    let home = tempfile::tempdir().unwrap();
    let mut person = Person::begins(home.path(), &GREEDY);
    person.types("\x1b[200~Hello!\nWhat is the capital of France?\x1b[201~\r");
    person.sees("Paris.");
    person.sees_prompt();
    let file = home.path().join("chat.json");
    person.types(&format!("/save {}\r", file.display()));
    person.sees("Conversation saved to");
    person.sees_prompt();
    let saved: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(saved["messages"][0]["content"], "Hello!\nWhat is the capital of France?");
    person.leaves();
}

#[test]
fn a_chat_that_is_told_to_end_gives_the_terminal_back() {
    let home = tempfile::tempdir().unwrap();
    let mut person = Person::begins(home.path(), &GREEDY);
    person.types("half a li");
    person.sees("half a li");
    let raw = tcgetattr(&person.terminal).unwrap().local_flags;
    assert!(!raw.contains(LocalFlags::ICANON), "keys come one by one while a line is edited");
    let id = person.chat.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(person.chat.wait().unwrap().code(), Some(130));
    assert!(person.has_terminal_back());
}
