//! More concurrent requests than the cache holds, and clients that do not read.

use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Barrier};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use inferno_engine::EngineOptions;
use inferno_server::{Limits, ServerOptions};
use serde_json::{Value, json};

use crate::client::{PATIENCE, connect, get, metric, post, read, request, wait_until_idle};
use crate::server::{shared, start, start_with_cache};

const CHAT: &str = "/v1/chat/completions";

/// Stories of different lengths with few different openings, so that prefixes are shared.
fn story(seed: usize) -> Value {
    json!({
        "messages": [{"role": "user", "content": format!("Tell me story {}.", seed % 5)}],
        "temperature": 1, "seed": seed, "max_tokens": 100 + seed % 7 * 20, "ignore_eos": true,
        "stream": true, "stream_options": {"include_usage": true},
    })
}

/// The text, finish reason and number of tokens of a stream.
fn told(address: SocketAddr, seed: usize) -> (String, Value, u64) {
    let chunks = post(address, CHAT, &story(seed)).chunks();
    let (usage, chunks) = chunks.split_last().expect("there are chunks");
    let mut text = String::new();
    for delta in chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]) {
        let piece = delta["content"].as_str().filter(|piece| !piece.is_empty());
        text.push_str(piece.or(delta["reasoning_content"].as_str()).unwrap_or_default());
    }
    let end = chunks.last().expect("there is an end")["choices"][0]["finish_reason"].clone();
    (text, end, usage["usage"]["completion_tokens"].as_u64().expect("it is told"))
}

fn together(address: SocketAddr, seeds: std::ops::Range<usize>) -> Vec<(String, Value, u64)> {
    let at_once = Arc::new(Barrier::new(seeds.len()));
    let one = |seed| {
        let at_once = Arc::clone(&at_once);
        spawn(move || {
            at_once.wait();
            told(address, seed)
        })
    };
    let threads: Vec<JoinHandle<_>> = seeds.map(one).collect();
    threads.into_iter().map(|thread| thread.join().expect("it is answered")).collect()
}

/// Requests many streams at once, of which only a few fit into the cache.
fn check_streams(num_streams: usize, cache_tokens: usize, num_speculative_tokens: usize) {
    let alone: Vec<_> = (0..num_streams).map(|seed| told(shared(), seed)).collect();
    let options = EngineOptions { num_speculative_tokens, ..EngineOptions::default() };
    let server = start_with_cache(ServerOptions::default(), options, cache_tokens);
    server.wait_until_ready();
    assert_eq!(together(server.address, 0..num_streams), alone);
    assert!(metric(server.address, "vllm:num_preemptions_total") > 0.0, "the cache is too large");

    wait_until_idle(server.address);
    let blocks = |name| metric(server.address, name);
    let [all, free, cached] =
        ["inferno_kv_blocks{", "inferno_kv_blocks_free", "inferno_kv_blocks_cached"].map(blocks);
    assert_eq!(free + cached, all, "a block was lost");
    assert_eq!(metric(server.address, "vllm:kv_cache_usage_perc"), 0.0);
    let drafted = metric(server.address, "vllm:spec_decode_num_draft_tokens_total");
    assert_eq!(drafted > 0.0, num_speculative_tokens > 0);
    server.stop();
    server.join();
}

#[test]
fn streams_with_a_very_small_cache_match_solo_answers() {
    // Exactly one answer of the context's length fits.
    check_streams(32, 1024, 0);
}

#[test]
fn streams_with_a_very_small_cache_and_drafts_match_solo_answers() {
    check_streams(6, 512, 8);
}

/// Requests eight stories of 500 tokens in one stream with log-probabilities, more than socket buffers hold.
pub fn more_than_sockets_hold() -> String {
    let body = json!({
        "messages": [{"role": "user", "content": "Tell me a story."}], "temperature": 0,
        "max_tokens": 500, "ignore_eos": true, "stream": true, "n": 8, "logprobs": true,
        "top_logprobs": 20,
    });
    request("POST", CHAT, &[("content-type", "application/json")], &body.to_string())
}

/// A server for one client with a write timeout.
pub fn one_place() -> ServerOptions {
    let limits = Limits {
        max_num_connections: 1,
        write_timeout: Duration::from_secs(1),
        ..Limits::default()
    };
    ServerOptions { limits, drain_timeout: PATIENCE, ..ServerOptions::default() }
}

#[test]
fn a_client_that_does_not_read_does_not_block_others() {
    let server = start(ServerOptions::default());
    let mut stream = connect(server.address);
    stream.write_all(more_than_sockets_hold().as_bytes()).unwrap();
    let hello = json!({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 4});
    for _ in 0..4 {
        let started = Instant::now();
        post(server.address, CHAT, &hello).ok();
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        sleep(Duration::from_millis(50));
    }
    // It still receives the whole answer.
    let chunks = read(&mut BufReader::new(stream)).chunks();
    let ended = chunks.iter().filter(|it| it["choices"][0]["finish_reason"] == "length").count();
    let tokens = chunks.iter().filter(|it| it["choices"][0]["logprobs"].is_object()).count();
    assert_eq!((ended, tokens), (8, 8 * 500));
    server.stop();
    server.join();
}

#[test]
fn a_client_that_never_reads_is_disconnected() {
    let server = start(one_place());
    // A previous client may still occupy the only connection.
    let mut silent = loop {
        let mut stream = connect(server.address);
        stream.write_all(more_than_sockets_hold().as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        if &status == b"HTTP/1.1 200" {
            break stream;
        }
    };
    let started = Instant::now();
    while get(server.address, "/health").status != 200 {
        assert!(started.elapsed() < Duration::from_secs(60), "its place is still held");
        sleep(Duration::from_millis(100));
    }
    let mut rest = Vec::new();
    let _ = silent.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"\r\n0\r\n\r\n"), "sockets held all {} bytes", rest.len());
    server.stop();
    server.join();
}

#[test]
fn idle_connections_are_closed() {
    let limits = Limits {
        max_num_connections: 64,
        read_timeout: Duration::from_millis(500),
        ..Limits::default()
    };
    let server = start(ServerOptions { limits, ..ServerOptions::default() });
    let idle: Vec<_> = (0..200).map(|_| connect(server.address)).collect();
    let started = Instant::now();
    while get(server.address, "/health").status != 200 {
        assert!(started.elapsed() < Duration::from_secs(20), "the idle ones are still held");
        sleep(Duration::from_millis(100));
    }
    drop(idle);
    server.stop();
    server.join();
}
