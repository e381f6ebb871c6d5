//! `inferno serve` as a process: its log, and its end.
#![cfg(all(unix, feature = "embedded-model"))]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use support::Run;

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

#[test]
fn an_unread_standard_error_stops_neither_requests_nor_sigterm() {
    let mut server = Run::inferno().args(["serve", "--port", "0", "--threads", "1"]).start();
    let mut log = BufReader::new(server.stderr.take().expect("it was piped"));
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
    // The pipe is not read from here on. It holds some hundred lines, the queue a thousand.
    for _ in 0..3000 {
        assert!(get(address, "/nothing").starts_with("HTTP/1.1 404"));
    }
    let metrics = get(address, "/metrics");
    let dropped = metrics.lines().find(|line| line.starts_with("inferno_log_lines_dropped_total"));
    let dropped = dropped.and_then(|line| line.rsplit(' ').next()).expect("it is counted");
    assert_ne!(dropped, "0");

    let terminated = Command::new("kill").args(["-TERM", &server.id().to_string()]).status();
    assert!(terminated.expect("kill runs").success());
    assert!(wait(&mut server), "it does not end in order");
    drop(log);
}
