//! `inferno serve` as a process: its log, and its end.
#![cfg(all(unix, feature = "embedded-model"))]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command};
use std::time::{Duration, Instant};

use crate::support::{Run, model};

const PATIENCE: Duration = Duration::from_secs(60);

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it can be sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer comes");
    answer
}

/// Sends a request, whose answer can be read from the stream.
fn post(address: SocketAddr, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close");
    let kind = "content-type: application/json";
    let request = format!("{head}\r\n{kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).expect("it can be sent");
    stream
}

fn wait(child: &mut Child) -> bool {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    false
}

/// A server with the built-in model, and its log.
struct Server {
    process: Child,
    log: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Server {
    /// Starts a server, and waits until its model is loaded.
    fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with further arguments.
    fn start_with(arguments: &[&str]) -> Self {
        let run = Run::inferno().args(["serve", "--port", "0", "--threads", "1"]).args(arguments);
        let mut process = run.start();
        let mut log = BufReader::new(process.stderr.take().expect("it was piped"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert_ne!(log.read_line(&mut line).expect("it is text"), 0, "the server ended");
            if let Some((_, address)) = line.trim_end().split_once("listening on http://") {
                break address.parse().expect("it is an address");
            }
        };
        let started = Instant::now();
        while !get(address, "/health").starts_with("HTTP/1.1 200") {
            assert!(started.elapsed() < PATIENCE, "the model is not loaded");
        }
        Self { process, log, address }
    }

    /// Returns the next line of the log that contains `text`.
    fn logged(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.log.read_line(&mut line).expect("it is text"), 0, "no {text:?}");
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends SIGTERM, and waits for an orderly end.
    fn stop(mut self) {
        let id = self.process.id().to_string();
        let terminated = Command::new("kill").args(["-TERM", &id]).status();
        assert!(terminated.expect("kill runs").success());
        assert!(wait(&mut self.process), "it does not end in order");
    }
}

#[test]
fn requests_are_logged_with_method_path_and_tokens() {
    let mut server = Server::start();
    let line = server.logged("in a browser to chat");
    assert!(line.contains(&format!("open http://{} in", server.address)), "{line}");
    let address = server.address;
    let post = |fields: &str| {
        let body = format!("{{\"prompt\": \"Once\", \"ignore_eos\": true, {fields}}}");
        post(address, "/v1/completions", &body)
    };
    let mut answer = String::new();
    post("\"max_tokens\": 3").read_to_string(&mut answer).expect("an answer comes");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    let mut stream = BufReader::new(post("\"max_tokens\": 900, \"stream\": true"));
    let events = stream.by_ref().lines().map_while(Result::ok);
    assert_eq!(events.filter(|line| line.starts_with("data: ")).take(5).count(), 5);
    drop(stream);

    let line = server.logged("request finished");
    for part in ["POST", "/v1/completions", "generated_tokens=3"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let line = server.logged("request finished");
    let generated = line.split("generated_tokens=").nth(1).and_then(|rest| rest.split(' ').next());
    let generated: usize = generated.expect("it is logged").parse().expect("it is a number");
    assert!(line.contains("outcome=\"abort\"") && (5..900).contains(&generated), "{line}");

    answer.clear();
    let schema =
        "\"max_tokens\": 1, \"structured_outputs\": {\"json\": {\"not\": {\"type\": \"null\"}}}";
    post(schema).read_to_string(&mut answer).expect("an answer comes");
    let line = server.logged("parts of a JSON schema cannot be enforced");
    assert!(line.contains("response schema: ") && line.contains("req_"), "{line}");
    server.stop();
}

#[test]
fn an_unread_standard_error_stops_neither_requests_nor_sigterm() {
    let server = Server::start();
    // The pipe is not read from here on. It holds some hundred lines, the queue a thousand.
    for _ in 0..3000 {
        assert!(get(server.address, "/nothing").starts_with("HTTP/1.1 404"));
    }
    let metrics = get(server.address, "/metrics");
    let dropped = metrics.lines().find(|line| line.starts_with("inferno_log_lines_dropped_total"));
    let dropped = dropped.and_then(|line| line.rsplit(' ').next()).expect("it is counted");
    assert_ne!(dropped, "0");
    server.stop();
}

#[test]
fn a_server_whose_model_file_is_overwritten_reports_it_and_exits_with_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("model.gguf");
    std::fs::copy(model(), &path).expect("the fixture can be copied");
    let mut server = Server::start_with(&["--model", path.to_str().expect("it is text")]);
    std::fs::write(&path, "GGUF").expect("the file can be overwritten");
    let health = get(server.address, "/health");
    assert!(
        health.starts_with("HTTP/1.1 503") && health.contains("model_file_changed"),
        "{health}"
    );
    let line = server.logged("the server exits in");
    assert!(line.contains("model.gguf"), "{line}");
    assert!(get(server.address, "/health").starts_with("HTTP/1.1 503"));
    assert!(!wait(&mut server.process), "it ends as if nothing had failed");
    assert_eq!(server.process.wait().expect("it has ended").code(), Some(1));
}

#[test]
fn an_endless_certificate_is_rejected() {
    let run = Run::inferno().args(["serve", "--port", "0", "-m"]).args([model()]);
    let refused = run.args(["--tls-cert", "/dev/zero", "--tls-key", "/dev/zero"]).failure(1);
    assert!(refused.stderr.contains("too large to be a certificate"), "{}", refused.stderr);
}

#[test]
fn files_are_checked_before_the_server_listens() {
    for (option, path, message) in [
        ("--chat-template", "nosuch.jinja", "nosuch.jinja"),
        (
            "--prefix-cache-file",
            "nosuch/prefixes.bin",
            "cannot write nosuch/prefixes.bin: the directory nosuch does not exist; create it first",
        ),
    ] {
        let run = Run::inferno().args(["serve", "--port", "0", option, path]);
        let failed = run.current_dir(Path::new(env!("CARGO_TARGET_TMPDIR"))).outcome();
        assert_eq!(failed.code, Some(1), "{}", failed.stderr);
        assert!(failed.stderr.contains(message), "{}", failed.stderr);
        assert!(!failed.stderr.contains("listening"), "{}", failed.stderr);
    }
}

#[test]
fn hosts_and_origins_that_match_nothing_are_errors() {
    for (option, value, message) in [
        ("--cors-origin", "foo.com", "expected an origin with its scheme: https://foo.com"),
        ("--allowed-host", "http://x.com", "expected a host name or address without a scheme"),
    ] {
        let failed = Run::inferno().args(["serve", option, value]).failure(2);
        assert!(failed.stderr.contains(message), "{}", failed.stderr);
    }
}

#[test]
fn the_models_of_a_folder_are_loaded_when_requests_name_them() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(model(), folder.path().join("small.gguf")).expect("a link");
    std::fs::write(folder.path().join("broken.gguf"), "GGUF").expect("a file");
    let folder = folder.path().to_str().expect("it is text");
    let mut server = Server::start_with(&["--models-dir", folder, "--unload-after", "1"]);
    let listed = get(server.address, "/v1/models");
    assert!(listed.contains("\"id\":\"small\"") && !listed.contains("broken"), "{listed}");
    let mut answer = String::new();
    let body = "{\"model\": \"small\", \"prompt\": \"Once\", \"max_tokens\": 3}";
    let mut stream = post(server.address, "/v1/completions", body);
    stream.read_to_string(&mut answer).expect("an answer comes");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("\"model\":\"small\""),
        "{answer}"
    );
    for event in ["loaded", "unloaded"] {
        assert!(server.logged(event).contains("small"), "{event}");
    }
    server.stop();
}

#[test]
fn options_of_one_model_exclude_models_on_demand() {
    let run = Run::inferno().args(["serve", "--on-demand", "-m", "model.gguf"]);
    let error = run.failure(2).stderr;
    assert!(error.contains("--model serves one model"), "{error}");
    let missing = ["serve", "--models-dir", "no such folder", "--port", "0"];
    let error = Run::inferno().args(missing).failure(1).stderr;
    assert!(error.contains("no such folder"), "{error}");
    let run = Run::inferno().args(["serve", "--unload-after", "9", "-m", "no such file.gguf"]);
    let error = run.outcome().stderr;
    assert!(error.contains("warning: --unload-after has no effect"), "{error}");
    // The variable is of lower rank than the command line.
    let run = Run::inferno().args(["serve", "--models-dir", "no such folder", "--port", "0"]);
    let error = run.env("INFERNO_MODEL", "model.gguf").failure(1).stderr;
    assert!(error.contains("no such folder"), "{error}");
}
