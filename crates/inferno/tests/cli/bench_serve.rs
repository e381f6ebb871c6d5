//! `inferno bench serve` against `inferno serve`, both with the built-in model.
#![cfg(feature = "embedded-model")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Child;
use std::time::Duration;

use crate::support::Run;
use serde_json::Value;

/// A server that is killed when dropped.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(flags: &[&str]) -> Self {
        let mut process = Run::inferno().args(["serve", "--port", "0"]).args(flags).start();
        let mut lines = BufReader::new(process.stderr.take().expect("it was piped")).lines();
        let url = lines.by_ref().find_map(|line| {
            let line = line.expect("the notes are text");
            line.split_once("listening on ").map(|(_, url)| url.trim().to_owned())
        });
        // Keep reading, so that the server never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let url = url.expect("the server says where it listens");
        while ureq::get(format!("{url}/health")).call().is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { process, url }
    }

    fn bench(&self, flags: &[&str]) -> Run {
        Run::inferno().args(["bench", "serve", "--url", &self.url]).args(flags)
    }

    fn measured(&self, flags: &[&str]) -> Value {
        let outcome = self.bench(flags).args(["-o", "json"]).success();
        serde_json::from_str(&outcome.stdout).expect("one object")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_ordered(times: &Value) -> bool {
    let at = |name: &str| times[name].as_f64().expect("a time");
    0.0 < at("p50") && at("p50") <= at("p90") && at("p90") <= at("p99") && at("p99") <= at("max")
}

#[test]
fn every_request_is_counted_with_its_tokens_and_times() {
    let server = Server::start(&[]);
    let report =
        server.measured(&["--concurrency", "1,3", "--requests", "6", "--max-tokens", "12"]);
    assert_eq!(report["rounds"].as_array().map(Vec::len), Some(2));
    for (round, clients) in report["rounds"].as_array().expect("rounds").iter().zip([1, 3]) {
        assert_eq!(round["concurrency"], clients);
        assert_eq!((&round["requests"], &round["failed"]), (&6.into(), &0.into()), "{round}");
        assert_eq!(round["completion_tokens"], 6 * 12);
        let prompt_tokens = round["prompt_tokens"].as_u64().expect("a number");
        assert!((6 * 50..=6 * 70).contains(&prompt_tokens), "{prompt_tokens} are not 6 times 60");
        assert_eq!(round["cached_tokens"], 0, "prompts are all different");
        let times = &round["times_seconds"];
        for name in ["time_to_first_token", "time_between_tokens", "total_time"] {
            assert!(is_ordered(&times[name]), "{name}: {times}");
        }
    }
    let table = server.bench(&["--concurrency", "2", "--endpoint", "chat"]).success().stdout;
    assert!(table.contains("| 2 clients | time to first token |"), "{table}");
}

#[test]
fn a_shared_prefix_is_found_in_the_cache() {
    let server = Server::start(&[]);
    let flags = ["--concurrency", "1", "--requests", "4", "--max-tokens", "2"];
    let report = server
        .measured(&[&flags[..], &["--prompt-tokens", "260", "--shared-prefix", "200"]].concat());
    let round = &report["rounds"][0];
    // The first of the four requests computes it.
    let cached = round["cached_tokens"].as_u64().expect("a number");
    assert!((3 * 150..=3 * 220).contains(&cached), "{cached}");
    assert!(is_ordered(&round["times_seconds"]["time_to_first_token_cached_prompt"]));
}

#[test]
fn requests_arrive_at_a_rate() {
    let server = Server::start(&["--api-key", "secret"]);
    let report = server.measured(&[
        "--rate",
        "20",
        "--requests",
        "10",
        "--max-tokens",
        "2",
        "--api-key",
        "secret",
    ]);
    assert_eq!(report["rounds"][0]["requests"], 10);
    assert_eq!(report["rounds"][0]["rate"], 20.0);

    let refused = server.bench(&[]).failure(1).stderr;
    assert!(refused.contains("401"), "{refused}");
}

#[test]
fn options_of_other_load_generators_are_accepted() {
    let server = Server::start(&[]);
    let run = Run::inferno().args(["bench", "serve", "--base-url", &server.url]);
    let run =
        run.args(["--backend", "vllm", "--dataset-name", "random", "--random-input-len", "20"]);
    let run = run.args(["--random-output-len=3", "--num-prompts", "2", "--max-concurrency", "2"]);
    let outcome = run.args(["--ignore-eos", "--model", "ember", "-o", "json"]).success();
    let report: Value = serde_json::from_str(&outcome.stdout).expect("one object");
    let round = &report["rounds"][0];
    assert_eq!((&round["concurrency"], &round["requests"]), (&2.into(), &2.into()), "{round}");
    assert_eq!(round["completion_tokens"], 2 * 3);
    assert!(
        outcome.stderr.contains("--ignore-eos has no effect: it is the default"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn an_unreachable_server_is_named_in_the_error() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let url = format!("http://{}", free.expect("a free port"));
    let refused = Run::inferno().args(["bench", "serve", "--url", &url]).failure(1).stderr;
    assert!(refused.contains(&url), "{refused}");
}

#[test]
fn out_of_range_numbers_are_rejected() {
    let year = "to 31536000";
    for (command, flag, expected) in [
        (&["serve"][..], "--max-connections", "from 1 to 1048576"),
        (&["serve"], "--max-num-seqs", "from 1 to 65536"),
        (&["serve"], "--read-timeout", year),
        (&["serve"], "--write-timeout", year),
        (&["serve"], "--request-timeout", year),
        (&["serve"], "--drain-timeout", year),
        (&["bench", "serve"], "--requests", "from 1 to 1000000"),
        (&["bench", "serve"], "--timeout", year),
    ] {
        let most = u64::MAX.to_string();
        let refused = Run::inferno().args(command).args([flag, &most]).failure(2).stderr;
        assert!(refused.contains(expected), "{flag}: {refused}");
    }
}
