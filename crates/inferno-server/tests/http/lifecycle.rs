//! Disconnecting clients and server shutdown.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use inferno_engine::EngineOptions;
use inferno_server::{Limits, ServerOptions};
use serde_json::{Value, json};

use crate::client::{connect, get, metric, post, read, request, wait_until_idle};
use crate::fragile_runner::DEADLY;
use crate::server::{
    EMBER, start, start_fragile, start_held, start_with_model, start_with_one_sequence,
};

const CHAT: &str = "/v1/chat/completions";

fn story(max_tokens: usize) -> Value {
    json!({
        "messages": [{"role": "user", "content": "Tell me a story."}],
        "temperature": 0, "max_tokens": max_tokens, "ignore_eos": true, "stream": true,
    })
}

fn bytes(body: &Value) -> String {
    request("POST", CHAT, &[("content-type", "application/json")], &body.to_string())
}

#[test]
fn disconnecting_clients_cancel_their_requests() {
    let server = start(ServerOptions::default());
    for place in 0..40 {
        let mut stream = connect(server.address);
        let mut body = story(900);
        body["stream"] = json!(place % 2 == 0);
        stream.write_all(bytes(&body).as_bytes()).unwrap();
        if place % 4 == 0 {
            // After the first bytes of the answer; the other clients before.
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            assert!(line.contains("200"), "{line}");
        }
    }
    let started = Instant::now();
    post(
        server.address,
        CHAT,
        &json!({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 4}),
    )
    .ok();
    // Forty complete answers would take far longer.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    wait_until_idle(server.address);
    server.stop();
    server.join();
}

#[test]
fn shutdown_waits_for_running_requests() {
    let drain_timeout = crate::client::PATIENCE;
    let server = start(ServerOptions { drain_timeout, ..ServerOptions::default() });
    let mut stream = connect(server.address);
    stream.write_all(bytes(&story(900)).as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    // The first line arrives once the request is running.
    reader.fill_buf().unwrap();
    server.stop();
    let started = Instant::now();
    while get(server.address, "/health").status != 503 {
        assert!(started.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(get(server.address, "/health").json()["status"], "draining");
    assert_eq!(post(server.address, CHAT, &story(1)).error(503)["code"], "shutting_down");
    let chunks = read(&mut reader).chunks();
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "length");
    server.join();
}

#[test]
fn shutdown_waits_for_all_inputs_of_a_running_request() {
    let server = start_with_one_sequence(EngineOptions::default());
    let address = server.address;
    let input = |seed: u32| (0..300).map(move |at| 300 + (at * 7 + seed * 13) % 500);
    let inputs: Vec<Vec<u32>> = (0..40).map(|seed| input(seed).collect()).collect();
    let asked =
        std::thread::spawn(move || post(address, "/v1/embeddings", &json!({"input": inputs})).ok());
    while !asked.is_finished() {
        let num_in_flight = metric(address, "inferno_http_requests_in_flight");
        assert!(num_in_flight <= 1.0, "one request counts {num_in_flight} times");
        if num_in_flight == 1.0 {
            break;
        }
    }
    server.stop();
    let answer = asked.join().expect("a complete answer");
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(40));
    server.join();
}

#[test]
fn a_request_with_several_prompts_counts_once() {
    let server = start(ServerOptions::default());
    let mut body = story(900);
    body["prompt"] = json!(["Once", "There", "Then"]);
    body.as_object_mut().unwrap().remove("messages");
    let mut stream = connect(server.address);
    let head = [("content-type", "application/json")];
    let asked = request("POST", "/v1/completions", &head, &body.to_string());
    stream.write_all(asked.as_bytes()).unwrap();
    BufReader::new(&stream).fill_buf().unwrap();
    assert_eq!(metric(server.address, "inferno_http_requests_in_flight"), 1.0);
    drop(stream);
    wait_until_idle(server.address);
    server.stop();
    server.join();
}

#[test]
fn the_drain_timeout_ends_streams_with_an_error_event() {
    let drain_timeout = Duration::from_millis(50);
    let server = start(ServerOptions { drain_timeout, ..ServerOptions::default() });
    let mut streams: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = connect(server.address);
            stream.write_all(bytes(&story(900)).as_bytes()).unwrap();
            let mut reader = BufReader::new(stream);
            reader.fill_buf().unwrap();
            reader
        })
        .collect();
    server.stop();
    server.join();
    let ends: Vec<_> = streams.iter_mut().map(|reader| read(reader).chunks()).collect();
    let cut = ends.iter().filter(|chunks| chunks.last().unwrap()["error"].is_object()).count();
    assert!(cut > 0, "four answers of 900 tokens do not end in 50 ms");
}

#[test]
fn requests_get_503_while_the_model_is_loading() {
    let (server, hold) = start_held();
    let health = get(server.address, "/health");
    assert_eq!((health.status, &health.json()["status"]), (503, &json!("loading")));
    let hello = json!({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 1});
    let refused = post(server.address, CHAT, &hello);
    assert_eq!(refused.error(503)["code"], "loading");
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(hold);
    server.wait_until_ready();
    post(server.address, CHAT, &hello).ok();
    server.stop();
    server.join();
}

#[test]
fn a_model_file_that_changes_fails_requests() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.gguf");
    std::fs::copy(EMBER, &model).unwrap();
    let server = start_with_model(ServerOptions::default(), model.clone());
    let ask = json!({"prompt": "Once", "max_tokens": 2});
    post(server.address, "/v1/completions", &ask).ok();
    // Another file with its name is no change.
    let copy = folder.path().join("copy.gguf");
    std::fs::copy(&model, &copy).unwrap();
    let mut mapped = std::fs::OpenOptions::new().write(true).open(&model).unwrap();
    std::fs::rename(&copy, &model).unwrap();
    post(server.address, "/v1/completions", &ask).ok();
    mapped.write_all(b"GGUF").unwrap();
    let failed = post(server.address, "/v1/completions", &ask).error(503);
    assert_eq!(failed["code"], "model_file_changed");
    assert!(failed["message"].as_str().unwrap().contains("model.gguf"), "{failed}");
    let health = get(server.address, "/health");
    assert_eq!((health.status, &health.json()["status"]), (503, &json!("model_file_changed")));
    mapped.set_len(64).unwrap();
    let failed = post(server.address, "/v1/embeddings", &json!({"input": "Once"})).error(503);
    assert_eq!(failed["code"], "model_file_changed");
}

#[test]
fn a_dead_engine_fails_running_and_new_requests() {
    let server = start_fragile();
    let ask = |prompt: Value| json!({"prompt": prompt, "max_tokens": 1000, "ignore_eos": true});
    let streams: Vec<_> = (0..3)
        .map(|_| {
            let mut asked = ask(json!("Once"));
            asked["stream"] = json!(true);
            let mut stream = connect(server.address);
            let head = [("content-type", "application/json")];
            let asked = request("POST", "/v1/completions", &head, &asked.to_string());
            stream.write_all(asked.as_bytes()).unwrap();
            let mut reader = BufReader::new(stream);
            assert!(reader.fill_buf().unwrap().starts_with(b"HTTP/1.1 200"));
            reader
        })
        .collect();
    let killed = post(server.address, "/v1/completions", &ask(json!([DEADLY]))).error(503);
    assert_eq!(killed["code"], "engine_stopped");
    for mut reader in streams {
        let last = read(&mut reader).chunks().pop().unwrap();
        // A fast one may already have finished.
        assert!(last["error"]["code"] == "engine_stopped" || last["choices"].is_array(), "{last}");
    }
    let health = get(server.address, "/health");
    assert_eq!((health.status, &health.json()["status"]), (503, &json!("dead")));
    post(server.address, "/v1/completions", &ask(json!("Once"))).error(503);
    assert_eq!(get(server.address, "/metrics").status, 200);
    server.stop();
    server.join();
}

#[test]
fn comments_are_sent_during_a_long_prefill() {
    let limits = Limits { keep_alive: Duration::from_millis(1), ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() });
    let prompt: Vec<u32> = (0..1000).map(|at| 300 + at % 700).collect();
    let asked = json!({"prompt": prompt, "max_tokens": 4, "ignore_eos": true, "stream": true});
    let reply = post(server.address, "/v1/completions", &asked);
    let (before, _) = reply.body.split_once("data:").expect("there are events");
    assert!(before.starts_with(": keep-alive\n\n"), "{}", reply.body);
    assert!(!reply.chunks().is_empty());
    server.stop();
    server.join();
}

#[test]
fn a_request_with_many_prompts_is_limited_by_the_queue() {
    let server =
        start_with_one_sequence(EngineOptions { max_num_waiting: 2, ..EngineOptions::default() });
    let texts: Vec<_> = (0..9).map(|number| format!("text {number}")).collect();
    let vectors = post(server.address, "/v1/embeddings", &json!({"input": texts})).ok();
    assert_eq!(vectors["data"].as_array().map(Vec::len), Some(9));
    // At most as many concurrent prompts as the queue holds: retrying would not help.
    let asked = json!({"prompt": texts, "max_tokens": 1});
    let refused = post(server.address, "/v1/completions", &asked).error(400);
    assert_eq!(refused["param"], "prompt");
    server.stop();
    server.join();
}

#[test]
fn a_full_queue_returns_retry_after() {
    let server =
        start_with_one_sequence(EngineOptions { max_num_waiting: 1, ..EngineOptions::default() });
    let mut streams = Vec::new();
    let mut refused = None;
    for _ in 0..12 {
        let mut stream = connect(server.address);
        stream.write_all(bytes(&story(900)).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        // Wait for the head, so that requests arrive in order.
        let head = reader.fill_buf().unwrap();
        if head.starts_with(b"HTTP/1.1 429") {
            refused = Some(read(&mut reader));
            break;
        }
        streams.push(reader);
    }
    let refused = refused.expect("the queue is full at last");
    assert_eq!(refused.error(429)["code"], "queue_full");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // It was not an answer cancelled by its client.
    let metrics = get(server.address, "/metrics").body;
    let aborted = metrics.lines().filter(|line| line.contains("finished_reason=\"abort\""));
    assert!(aborted.clone().all(|line| line.ends_with(" 0")), "{:?}", aborted.collect::<Vec<_>>());
    drop(streams);
    server.stop();
    server.join();
}
