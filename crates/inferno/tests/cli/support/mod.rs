//! Runs the programs, for several tests.
#![cfg_attr(
    not(feature = "embedded-model"),
    allow(dead_code, reason = "some tests need this model")
)]

pub mod hub_server;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A run of one of the programs, isolated from the environment and configuration of the user.
pub struct Run {
    command: Command,
    stdin: Vec<u8>,
}

/// The output and exit code of a program.
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Run {
    /// The `inferno` command.
    pub fn inferno() -> Self {
        Self::program(env!("CARGO_BIN_EXE_inferno"))
    }

    /// One of the programs, by its path.
    pub fn program(path: &str) -> Self {
        let mut command = Command::new(path);
        let ours = |name: &str| {
            ["INFERNO_", "HF_", "XDG_"].iter().any(|prefix| name.starts_with(prefix))
                || name.contains("proxy")
        };
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(ours) {
                command.env_remove(name);
            }
        }
        command.env("HOME", env!("CARGO_TARGET_TMPDIR"));
        Self { command, stdin: Vec::new() }
    }

    pub fn args<A: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn current_dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Starts the program in the background, with a pipe for standard error.
    pub fn start(mut self) -> Child {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        self.command.spawn().expect("the program starts")
    }

    /// Starts the program in the background, with pipes for its output.
    pub fn start_piped(mut self) -> Child {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().expect("the program starts")
    }

    /// Starts the program at a terminal.
    #[cfg(unix)]
    pub fn start_at(mut self, terminal: &std::os::fd::OwnedFd) -> Child {
        let end = || Stdio::from(terminal.try_clone().expect("the terminal can be shared"));
        self.command.stdin(end()).stdout(end()).stderr(end());
        self.command.spawn().expect("the program starts")
    }

    pub fn outcome(mut self) -> Outcome {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("it was piped");
        let bytes = std::mem::take(&mut self.stdin);
        let feeder = std::thread::spawn(move || {
            // A program that does not read its input closes the pipe.
            let _ = stdin.write_all(&bytes);
        });
        let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
        feeder.join().expect("the feeder ends");
        Outcome {
            stdout: String::from_utf8(stdout).expect("the output is text"),
            stderr: String::from_utf8(stderr).expect("the messages are text"),
            code: status.code(),
        }
    }

    /// Returns the outcome of a run that must succeed.
    pub fn success(self) -> Outcome {
        let outcome = self.outcome();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome
    }

    /// Returns the outcome of a run that must exit with `code` and without a result.
    pub fn failure(self, code: i32) -> Outcome {
        let outcome = self.outcome();
        assert_eq!(outcome.code, Some(code), "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.stdout, "");
        assert!(outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
        outcome
    }
}

/// Returns the path of a fixture.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Returns the path of a file of the oracle; `None`, with a note, if `INFERNO_ORACLE` is not set.
pub fn oracle(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("INFERNO_ORACLE") else {
        let skipped = "skipped: INFERNO_ORACLE is not set, which contains";
        let _ = writeln!(std::io::stderr(), "{skipped} {name}");
        return None;
    };
    let path = Path::new(&folder).join(name);
    assert!(path.is_file(), "INFERNO_ORACLE is set, but {} is missing", path.display());
    Some(path)
}

/// Returns the path of the tiny model that `make_fixtures.py` writes.
pub fn model() -> PathBuf {
    fixture("qwen3.gguf")
}

/// Returns the reference outputs of Hugging Face transformers for it.
pub fn expected() -> serde_json::Value {
    let text = std::fs::read_to_string(fixture("qwen3.json")).expect("the fixture is there");
    serde_json::from_str(&text).expect("the fixture is JSON")
}
